//! Archives that want more than to be unpacked.

use std::fs;

use super::service::Service;

const BLOCK: usize = 512;

/// The head of an entry, as large as it says or not.
fn header(name: &str, kind: u8, size: u64, link: &str) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, &name.as_bytes()[..name.len().min(100)]);
    put(100, b"0000644\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(156, &[kind]);
    put(157, link.as_bytes());
    put(257, b"ustar\x0000");
    put(148, b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

fn file(name: &str, content: &[u8]) -> Vec<u8> {
    let padding = content.len().next_multiple_of(BLOCK) - content.len();
    [header(name, b'0', content.len() as u64, ""), content.to_vec(), vec![0; padding]].concat()
}

/// A name that is in an entry of its own, as POSIX has it.
fn extended(record: &str, rest: &[u8]) -> Vec<u8> {
    let length = (1..100_000_usize).find(|length| format!("{length} {record}\n").len() == *length).unwrap();
    let content = format!("{length} {record}\n").into_bytes();
    let padding = content.len().next_multiple_of(BLOCK) - content.len();
    [header("pax", b'x', content.len() as u64, ""), content, vec![0; padding], rest.to_vec()].concat()
}

fn end() -> Vec<u8> {
    vec![0; 2 * BLOCK]
}

#[test]
fn an_archive_of_endless_entries_ends_at_the_limit() {
    let service = Service::with(&["--max-archive-entries", "100"]);
    let many: Vec<u8> = (0..50_000).flat_map(|number| file(&format!("f{number}"), b"")).collect();
    assert_eq!(service.put("/v1/archive/many", &many).status, 413);
    assert_eq!(fs::read_dir(service.root().join("many")).unwrap().count(), 100);
    // Entries that only say something about others count too.
    let talk: Vec<u8> = (0..50_000).flat_map(|_| extended("comment=x", b"")).collect();
    assert_eq!(service.put("/v1/archive/talk", &talk).status, 413);
}

#[test]
fn sizes_that_are_not_true_write_nothing() {
    let service = Service::start();
    for (what, archive) in [
        ("more than there is", [header("a", b'0', 1 << 30, ""), b"short".to_vec()].concat()),
        ("all there can be", header("a", b'0', 0o77_777_777_777, "")),
        ("beyond 8 GiB", extended("size=99999999999999", &file("a", b"x"))),
        ("a hole", extended("GNU.sparse.realsize=99999999999", &file("a", b"x"))),
        ("an old hole", [header("a", b'S', 0, ""), end()].concat()),
        ("a long name", [header("././@LongLink", b'L', 1 << 30, ""), vec![b'a'; 4096]].concat()),
        ("a longer path", extended(&format!("path={}", "a/".repeat(20_000)), &file("a", b"x"))),
        ("a deep path", extended(&format!("path={}", "d/".repeat(1000)), &file("a", b"x"))),
        ("no number", [&header("a", b'0', 0, "")[..124], &[b'x'; 388][..]].concat()),
    ] {
        let status = service.put("/v1/archive/", &archive).status;
        assert_eq!(status, 400, "{what}");
        assert!(!service.root().join("a").exists(), "{what}");
    }
    assert_eq!(service.get("/v1/health").status, 200);
}

#[test]
fn nothing_but_files_directories_and_links_inside_is_made() {
    let service = Service::start();
    let secret = fs::canonicalize(service.home.path()).unwrap().join("secret").display().to_string();
    for (what, archive) in [
        ("a device", header("a", b'3', 0, "")),
        ("a disk", header("a", b'4', 0, "")),
        ("a pipe", header("a", b'6', 0, "")),
        ("a hard link out", header("a", b'1', 0, "../secret")),
        ("a hard link to the outside", header("a", b'1', 0, &secret)),
        ("a file above", file("../a", b"x")),
        ("through a link", [header("l", b'2', 0, ".."), file("l/a", b"x")].concat()),
        ("through a link of links", {
            [header("l", b'2', 0, "."), header("l/m", b'2', 0, ".."), file("m/a", b"x")].concat()
        }),
        ("over a link", [header("m", b'2', 0, "../secret"), file("m", b"x")].concat()),
        ("a hard link to a link", {
            [header("n", b'2', 0, "../secret"), header("o", b'1', 0, "n"), file("o", b"x")].concat()
        }),
    ] {
        let reply = service.put("/v1/archive/", &[archive, end()].concat());
        assert!([400, 403, 404].contains(&reply.status), "{what}: {} {}", reply.status, reply.text());
        assert!(!service.root().join("a").exists(), "{what}");
        assert_eq!(fs::read_to_string(service.home.path().join("secret")).unwrap(), "outside", "{what}");
        assert_eq!(fs::read_dir(service.home.path()).unwrap().count(), 2, "{what}");
    }
}

#[test]
fn nothing_is_decompressed() {
    let service = Service::start();
    // The heads of gzip, xz and zstd. What is inside could be a thousand times as large; nobody looks.
    for head in [&b"\x1f\x8b\x08\x00"[..], b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"] {
        let body = [head, &[0x55; 2000]].concat();
        let reply = service.request("PUT", "/v1/archive/", &[("Content-Encoding", "gzip")], &body);
        assert_eq!(reply.status, 400, "{}", reply.text());
    }
    assert_eq!(fs::read_dir(service.root()).unwrap().count(), 0);
}

#[test]
fn an_archive_costs_little_memory_however_large_it_is() {
    let service = Service::start();
    let before = service.memory();
    let large = [file("big", &vec![7; 64 * 1024 * 1024]), end()].concat();
    assert_eq!(service.put("/v1/archive/", &large).status, 204);
    assert!(service.memory() < before + 8 * 1024, "{} then {}", before, service.memory());
    assert_eq!(fs::metadata(service.root().join("big")).unwrap().len(), 64 * 1024 * 1024);
}
