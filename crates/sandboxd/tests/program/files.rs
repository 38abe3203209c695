//! Files, health and metadata as upstream's sandboxd has them, and what we add.

use std::fs;
use std::io::BufReader;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use super::requests::{self, form, lines};
use super::service::Service;

fn code(reply: &requests::Reply) -> (u16, String) {
    (reply.status, reply.json()["code"].as_str().unwrap_or_default().to_owned())
}

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[test]
fn health_and_metadata_are_told() {
    let service = Service::start();
    assert_eq!(service.get("/v1/health").json()["status"], "ok");
    assert_eq!(service.get("/v1/metadata").json(), json!({"env": {"SANDBOX_ID": "demo"}}));
}

#[test]
fn a_file_is_written_with_its_mode_and_read_in_parts() {
    let service = Service::start();
    assert_eq!(service.put("/v1/files/a%2Fb/c.txt?mode=0600", b"0123456789").status, 204);
    let metadata = fs::metadata(service.root().join("a/b/c.txt")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let whole = service.get("/v1/files/a/b/c.txt");
    assert_eq!((whole.status, whole.text()), (200, "0123456789".to_owned()));
    assert_eq!(whole.header("content-type"), "application/octet-stream");
    assert_eq!(whole.header("accept-ranges"), "bytes");
    let part = service.request("GET", "/v1/files/a/b/c.txt", &[("Range", "bytes=2-4")], b"");
    assert_eq!(
        (part.status, part.text(), part.header("content-range")),
        (206, "234".to_owned(), "bytes 2-4/10")
    );
    let beyond = service.request("GET", "/v1/files/a/b/c.txt", &[("Range", "bytes=99-")], b"");
    assert_eq!((beyond.status, beyond.header("content-range")), (416, "bytes */10"));
    let head = service.request("HEAD", "/v1/files/a/b/c.txt", &[], b"");
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, "10", 0));
    let since = [("If-Modified-Since", whole.header("last-modified"))];
    assert_eq!(service.request("GET", "/v1/files/a/b/c.txt", &since, b"").status, 304);
}

#[test]
fn a_large_file_comes_back_whole() {
    let service = Service::start();
    let content: Vec<u8> = (0..3_000_000_u32).map(|number| u8::try_from(number % 251).unwrap()).collect();
    assert_eq!(service.put("/v1/files/big", &content).status, 204);
    assert!(service.get("/v1/files/big").body == content);
    assert_eq!(fs::read_dir(service.root()).unwrap().count(), 1);
}

#[test]
fn a_form_can_be_written_too() {
    let service = Service::start();
    let (body, headers) = form("ignored", b"text");
    assert_eq!(service.request("PUT", "/v1/files/x", &headers, &body).status, 204);
    assert_eq!(service.get("/v1/files/x").text(), "text");
}

#[test]
fn a_directory_is_listed() {
    let service = Service::start();
    service.put("/v1/files/dir/b?mode=0640", b"1234");
    fs::create_dir(service.root().join("dir/a")).unwrap();
    symlink("/etc", service.root().join("dir/out")).unwrap();
    let listed = service.get("/v1/files/dir").json();
    assert_eq!(listed["path"], "/dir");
    let shown: Vec<Value> = listed["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            json!([
                entry["name"],
                entry["size"].as_u64().filter(|_| entry["type"] == "file"),
                entry["type"],
                entry["mode"]
            ])
        })
        .collect();
    assert_eq!(shown, [json!(["a", null, "directory", "0755"]), json!(["b", 4, "file", "0640"])]);
    let modified = listed["entries"][1]["modified_at"].as_str().unwrap();
    assert!(modified.len() == 20 && modified.ends_with('Z'), "{modified}");
    for root in ["/v1/files", "/v1/files/", "/v1/files/.", "/v1/files/%2E"] {
        let reply = service.get(root);
        assert_eq!((reply.status, &reply.json()["path"]), (200, &json!("/")), "{root}");
    }
}

#[test]
fn the_facts_of_one_path_are_told() {
    let service = Service::start();
    service.put("/v1/files/dir/file?mode=0640", b"1234");
    fs::set_permissions(service.root().join("dir"), fs::Permissions::from_mode(0o1777)).unwrap();
    symlink("file", service.root().join("dir/link")).unwrap();
    symlink("/etc/passwd", service.root().join("out")).unwrap();
    let look = |path: &str| {
        let reply = service.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        let stat = reply.json();
        json!([stat["path"], stat["type"], stat["mode"], stat["target"]])
    };
    assert_eq!(look("/v1/stat/dir/file"), json!(["/dir/file", "file", "0640", null]));
    assert_eq!(look("/v1/stat/dir"), json!(["/dir", "directory", "01777", null]));
    assert_eq!(look("/v1/stat/dir/link"), json!(["/dir/link", "link", "0777", "file"]));
    assert_eq!(look("/v1/stat/dir/link?follow=true"), json!(["/dir/link", "file", "0640", null]));
    assert_eq!(look("/v1/stat/out"), json!(["/out", "link", "0777", "/etc/passwd"]));
    assert_eq!(look("/v1/stat/")[0], "/");
    assert_eq!(code(&service.get("/v1/stat/out?follow=true")), refused(403, "PERMISSION_DENIED"));
    assert_eq!(code(&service.get("/v1/stat/none")), refused(404, "NOT_FOUND"));
    assert_eq!(code(&service.get("/v1/stat/dir/file/x")), refused(404, "NOT_FOUND"));
    assert_eq!(service.request("HEAD", "/v1/stat/dir", &[], b"").status, 200);
    let stat = service.get("/v1/stat/dir/file").json();
    assert_eq!(stat["size"], 4);
    for time in ["modified_at", "accessed_at", "changed_at"] {
        let text = stat[time].as_str().unwrap();
        assert!(text.len() == 24 && text.starts_with("20") && text.ends_with('Z'), "{time}: {text}");
    }
}

#[test]
fn files_and_trees_are_deleted() {
    let service = Service::start();
    service.put("/v1/files/dir/file", b"x");
    assert_eq!(code(&service.delete("/v1/files/dir")), refused(409, "CONFLICT"));
    assert_eq!(service.delete("/v1/files/dir?recursive=true").status, 204);
    assert_eq!(code(&service.delete("/v1/files/dir")), refused(404, "NOT_FOUND"));
    service.put("/v1/files/other", b"x");
    assert_eq!(code(&service.delete("/v1/files/")), refused(409, "CONFLICT"));
    assert_eq!(service.delete("/v1/files/?recursive=true").status, 204);
    assert_eq!(fs::read_dir(service.root()).unwrap().count(), 0);
}

#[test]
fn refusals_have_codes() {
    let service = Service::start();
    symlink("../secret", service.root().join("link")).unwrap();
    assert_eq!(code(&service.get("/v1/files/none")), refused(404, "NOT_FOUND"));
    assert_eq!(service.request("HEAD", "/v1/files/none", &[], b"").status, 404);
    assert_eq!(code(&service.get("/v1/files/link")), refused(403, "PERMISSION_DENIED"));
    assert_eq!(code(&service.put("/v1/files/link", b"x")), refused(403, "PERMISSION_DENIED"));
    assert_eq!(code(&service.put("/v1/files/x?mode=999", b"x")), refused(400, "INVALID_ARGUMENT"));
    assert_eq!(code(&service.put("/v1/files/", b"x")), refused(400, "INVALID_ARGUMENT"));
    assert_eq!(code(&service.get("/v1/files/a%00b")), refused(400, "INVALID_ARGUMENT"));
    assert_eq!(code(&service.get("/v1/nothing")), refused(404, "NOT_FOUND"));
    assert_eq!(service.post("/v1/files/x", &json!({})).header("allow"), "GET, HEAD, PUT, DELETE");
    assert_eq!(fs::read_to_string(service.home.path().join("secret")).unwrap(), "outside");
}

#[test]
fn dots_stay_inside_and_absolute_paths_below_the_root_are_meant() {
    let service = Service::start();
    service.put("/v1/files/file", b"here");
    assert_eq!(service.get("/v1/files/..%2F..%2Ffile").text(), "here");
    let root = fs::canonicalize(service.root()).unwrap();
    assert_eq!(service.get(&format!("/v1/files/{}/file", root.display())).text(), "here");
}

#[test]
fn a_pipe_that_nobody_writes_to_keeps_nobody_waiting() {
    let service = Service::start();
    let made = std::process::Command::new("mkfifo").arg(service.root().join("pipe")).status().unwrap();
    assert!(made.success());
    assert_eq!(code(&service.get("/v1/files/pipe")), refused(400, "INVALID_ARGUMENT"));
}

#[test]
fn directories_are_made_and_things_moved_and_copied() {
    let service = Service::start();
    assert_eq!(service.post("/v1/directories/a/b?mode=0700", &json!({})).status, 201);
    assert_eq!(code(&service.post("/v1/directories/a/b", &json!({}))), refused(409, "CONFLICT"));
    service.put("/v1/files/a/b/file", b"text");
    assert_eq!(service.post("/v1/copy", &json!({"from": "a", "to": "c/d"})).status, 204);
    assert_eq!(service.post("/v1/move", &json!({"from": "a/b/file", "to": "moved"})).status, 204);
    assert_eq!(
        service.get("/v1/files/c/d/b/file").text() + &service.get("/v1/files/moved").text(),
        "texttext"
    );
    assert_eq!(
        code(&service.post("/v1/move", &json!({"from": "moved", "to": "c"}))),
        refused(409, "CONFLICT")
    );
    assert_eq!(
        code(&service.post("/v1/copy", &json!({"from": "none", "to": "x"}))),
        refused(404, "NOT_FOUND")
    );
    assert_eq!(code(&service.post("/v1/copy", &json!({"from": "a"}))), refused(400, "INVALID_ARGUMENT"));
}

#[test]
fn a_tree_travels_as_an_archive() {
    let service = Service::start();
    service.put("/v1/files/a/b/file?mode=0751", &vec![b'x'; 300_000]);
    let archive = service.get("/v1/archive/a");
    assert_eq!((archive.status, archive.header("content-type")), (200, "application/x-tar"));
    assert_eq!(service.put("/v1/archive/new", &archive.body).status, 204);
    let file = service.root().join("new/b/file");
    assert_eq!(fs::metadata(&file).unwrap().len(), 300_000);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o751);
    assert_eq!(code(&service.get("/v1/archive/none")), refused(404, "NOT_FOUND"));
    assert_eq!(code(&service.put("/v1/archive/bad", &vec![b'x'; 5000])), refused(400, "INVALID_ARGUMENT"));
}

#[test]
fn changes_are_told_as_they_happen() {
    let service = Service::start();
    let mut stream = BufReader::new(service.open("GET", "/v1/watch/?recursive=true", &[]));
    assert_eq!(requests::head(&mut stream).0, 200);
    let mut next = || lines(&String::from_utf8(requests::chunk(&mut stream).unwrap()).unwrap());
    assert_eq!(next(), [json!({"event": "start", "path": "", "directory": true})]);
    service.put("/v1/files/dir/file", b"x");
    let mut seen = Vec::new();
    while !seen.contains(&json!({"event": "movedto", "path": "dir/file", "directory": false})) {
        seen.extend(next());
    }
    assert!(seen.contains(&json!({"event": "create", "path": "dir", "directory": true})), "{seen:?}");
    assert!(!seen.iter().any(|change| change["path"].as_str().unwrap().contains("tmp")), "{seen:?}");
}
