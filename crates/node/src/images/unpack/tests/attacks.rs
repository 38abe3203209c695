//! One test for each way in which an archive may try to do harm. The ground checks that nothing outside was touched.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::super::super::fixture::{Tar, gzip};
use super::super::super::limits::Limits;
use super::Ground;

fn refused(tar: Tar) -> String {
    refused_within(&tar.finish(), &Limits::default())
}

fn refused_within(archive: &[u8], limits: &Limits) -> String {
    let error = Ground::new().unpack_within(archive, limits).unwrap_err();
    assert!(error.is_refusal(), "{error:?}");
    error.to_string()
}

#[test]
fn a_name_that_climbs_out() {
    assert_eq!(
        refused(Tar::new().file("a/../../outside/x", "")),
        "the layer's `a/../../outside/x` climbs out of the image by `..`"
    );
}

#[test]
fn an_absolute_name() {
    assert_eq!(
        refused(Tar::new().file("/etc/cron.d/x", "")),
        "the layer's `/etc/cron.d/x` has an absolute name"
    );
}

#[test]
fn a_long_name_that_climbs_out() {
    let tar = Tar::new().records(&[("path", b"../outside/x")]).file("harmless", "");
    assert!(refused(tar).contains("climbs out"));
    let tar = Tar::new().add(b'L', "././@LongLink", 0, "", b"../outside/x\0").file("harmless", "");
    assert!(refused(tar).contains("climbs out"));
}

#[test]
fn a_name_of_a_file_with_holes_that_climbs_out() {
    let records =
        [("GNU.sparse.size", &b"0"[..]), ("GNU.sparse.map", b""), ("GNU.sparse.name", b"../outside/x")];
    assert!(refused(Tar::new().records(&records).file("harmless", "")).contains("climbs out"));
}

#[test]
fn a_file_through_a_link_that_leads_out() {
    assert_eq!(
        refused(Tar::new().symlink("exit", "../outside").file("exit/x", "")),
        "the layer's `exit/x` leads out of the image through the link `exit`"
    );
}

#[test]
fn a_file_through_two_links_that_together_lead_out() {
    let tar = Tar::new().directory("a", 0o755).symlink("a/up", "..").symlink("out", "a/up/../outside");
    assert!(refused(tar.file("out/x", "")).contains("leads out of the image"));
}

#[test]
fn a_file_through_a_link_with_an_absolute_target_stays_in_the_image() {
    let ground = Ground::new();
    let outside = ground.layer().with_file_name("outside");
    let archive = Tar::new().symlink("exit", outside.to_str().unwrap()).file("exit/secret", "hit").finish();
    let error = ground.unpack(&archive).unwrap_err().to_string();
    assert!(error.contains("no directory"), "{error}");
}

#[test]
fn a_directory_entry_over_a_link_that_leads_out() {
    let ground = Ground::new();
    let mode = fs::metadata(ground.layer().with_file_name("outside")).unwrap().mode();
    let archive =
        Tar::new().symlink("exit", "../outside").directory("exit", 0o777).file("exit/secret", "").finish();
    ground.unpack(&archive).unwrap();
    assert!(fs::symlink_metadata(ground.layer().join("exit")).unwrap().is_dir());
    assert_eq!(fs::metadata(ground.layer().with_file_name("outside")).unwrap().mode(), mode);
}

#[test]
fn a_file_written_through_a_link_of_its_own_name() {
    let ground = Ground::new();
    let archive = Tar::new().symlink("x", "../outside/secret").file("x", "hit").finish();
    ground.unpack(&archive).unwrap();
    assert_eq!(fs::read_to_string(ground.layer().join("x")).unwrap(), "hit");
}

#[test]
fn a_hard_link_to_a_file_outside() {
    assert!(refused(Tar::new().link("x", "../outside/secret")).contains("climbs out"));
    let through = Tar::new().symlink("exit", "../outside").link("x", "exit/secret");
    assert!(refused(through).contains("leads out of the image through the link `exit`"));
}

#[test]
fn a_hard_link_to_a_file_of_this_machine() {
    assert_eq!(
        refused(Tar::new().link("x", "/etc/passwd")),
        "the layer's `x` is a hard link to `/etc/passwd`, which the layer does not have"
    );
}

#[test]
fn a_hard_link_to_a_link_that_leads_out_is_followed_by_nobody() {
    let ground = Ground::new();
    let archive = Tar::new().symlink("a", "../outside/secret").link("b", "a").file("b", "hit").finish();
    ground.unpack(&archive).unwrap();
    assert_eq!(fs::read_to_string(ground.layer().join("b")).unwrap(), "hit");
}

#[test]
fn a_hard_link_to_a_directory() {
    let tar = Tar::new().directory("d", 0o755).link("x", "d");
    assert_eq!(refused(tar), "the layer's `x` is a hard link to the directory `d`");
}

#[test]
fn a_mark_of_removal_for_something_outside() {
    assert!(refused(Tar::new().file("a/.wh...", "")).contains("marks no file as removed"));
    assert!(
        refused(Tar::new().symlink("exit", "../outside").file("exit/.wh.secret", "")).contains("leads out")
    );
    assert!(
        refused(Tar::new().symlink("exit", "../outside").file("exit/.wh..wh..opq", "")).contains("leads out")
    );
}

#[test]
fn links_in_a_circle() {
    let tar = Tar::new().symlink("a", "b").symlink("b", "a").file("a/x", "");
    assert_eq!(refused(tar), "the layer's `a/x` goes through links that lead in a circle");
}

#[test]
fn a_file_in_a_file() {
    assert!(refused(Tar::new().file("a", "").file("a/b", "")).contains("no directory"));
}

#[test]
fn a_root_that_is_a_link() {
    assert_eq!(
        refused(Tar::new().symlink("./", "/")),
        "the layer's `./` is the image's root and no directory"
    );
}

#[test]
fn forged_notes_to_overlayfs() {
    for name in ["trusted.overlay.redirect", "trusted.overlay.opaque", "user.overlay.whiteout"] {
        let complaint = refused(Tar::new().xattr(name, b"/etc").directory("d", 0o755));
        assert!(complaint.contains(name), "{complaint}");
    }
}

#[test]
fn a_forged_mark_of_removal() {
    let ground = Ground::new();
    // The device 0:0, by which overlayfs would know a removed file.
    ground.unpack(&Tar::new().kind(b'3', "etc").finish()).unwrap();
    assert!(fs::symlink_metadata(ground.layer().join("etc")).is_err());
}

#[test]
fn attributes_without_end() {
    let limits = Limits { header_bytes: 1 << 20, ..Limits::default() };
    let large = Tar::new().xattr("user.a", &vec![b'x'; (64 << 10) + 1]).file("f", "");
    assert!(refused_within(&large.finish(), &limits).contains("an extended attribute of 65537 bytes"));
    let names: Vec<String> = (0..65).map(|number| format!("SCHILY.xattr.user.{number}")).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"x"[..])).collect();
    assert!(refused(Tar::new().records(&many).file("f", "")).contains("more than 64 extended attributes"));
}

#[test]
fn headers_without_end() {
    for kind in [b'x', b'g', b'L', b'K'] {
        let mut tar = Tar::new();
        let header = tar.header(kind, "h", 0, "", 1 << 40);
        assert!(refused(tar.raw(&header, b"")).contains("a header of 1099511627776 bytes"));
    }
}

#[test]
fn more_entries_than_a_layer_may_have() {
    let limits = Limits { entries: 10, ..Limits::default() };
    let tar = (0..11).fold(Tar::new(), |tar, number| tar.file(&format!("{number}"), ""));
    assert_eq!(refused_within(&tar.finish(), &limits), "the layer has more than 10 entries");
    let hidden = (0..11).fold(Tar::new(), |tar, _| tar.records(&[("comment", b"x")]));
    assert_eq!(refused_within(&hidden.finish(), &limits), "the layer has more than 10 entries");
}

#[test]
fn a_layer_that_unpacks_to_too_much() {
    let limits = Limits { layer_bytes: 1 << 20, ..Limits::default() };
    let bomb = gzip(&Tar::new().file("zeros", vec![0; 2 << 20]).finish());
    assert_eq!(refused_within(&bomb, &limits), "the layer unpacks to more than 1048576 bytes");
    let after_the_end = gzip(&[Tar::new().finish(), vec![0; 2 << 20]].concat());
    assert_eq!(refused_within(&after_the_end, &limits), "the layer unpacks to more than 1048576 bytes");
}

#[test]
fn a_layer_that_unpacks_to_far_more_than_it_is() {
    let limits = Limits { ratio: 20, ratio_from: 1 << 20, ..Limits::default() };
    let bomb = Tar::new().file("zeros", vec![0; 4 << 20]).finish();
    let zstd = ruzstd::encoding::compress_to_vec(&bomb[..], ruzstd::encoding::CompressionLevel::Fastest);
    for packed in [gzip(&bomb), zstd] {
        assert_eq!(refused_within(&packed, &limits), "the layer unpacks to more than 20 times its size");
    }
    Ground::new().unpack_within(&bomb, &limits).unwrap();
}

#[test]
fn a_file_that_is_nothing_but_holes() {
    let records = [("GNU.sparse.size", &b"1125899906842624"[..]), ("GNU.sparse.map", b"")];
    assert!(refused(Tar::new().records(&records).file("f", "")).contains("unpacks to more than"));
}

#[test]
fn a_file_of_more_data_than_its_holes_leave() {
    let records = [("GNU.sparse.size", &b"10"[..]), ("GNU.sparse.map", b"0,4,2,4")];
    assert!(refused(Tar::new().records(&records).file("f", "12345678")).contains("holes that do not fit"));
}

#[test]
fn a_size_that_the_archive_does_not_have() {
    let mut tar = Tar::new();
    let header = tar.header(b'0', "f", 0o644, "", 1 << 30);
    assert!(refused(tar.raw(&header, b"short")).contains("it ends within a file"));
    let tar = Tar::new().records(&[("size", b"18446744073709551615")]).file("f", "");
    assert!(refused(tar).contains("unpacks to more than"));
}

#[test]
fn names_too_deep_and_too_long() {
    let deep = Tar::new().records(&[("path", "d/".repeat(300).as_bytes())]).file("f", "");
    assert!(refused(deep).contains("lies 300 directories deep"));
    let long = Tar::new().records(&[("path", "n".repeat(300).as_bytes())]).file("f", "");
    assert!(refused(long).contains("a name of 300 bytes"));
    let target = Tar::new().records(&[("linkpath", "t/".repeat(3000).as_bytes())]).symlink("f", "x");
    assert!(refused(target).contains("a name of 6000 bytes"));
}

#[test]
fn owners_that_are_no_ids() {
    let tar = Tar::new().records(&[("uid", b"4294967295")]).file("f", "");
    assert_eq!(refused(tar), "the layer's `f` is owned by 4294967295, which is no id");
}

#[test]
fn entries_of_unknown_type() {
    assert_eq!(refused(Tar::new().kind(b'V', "label")), "the layer's `label` is of the unknown type 'V'");
}

#[test]
fn headers_that_do_not_add_up() {
    let mut archive = Tar::new().file("a", "x").finish();
    archive[0] = b'b';
    assert!(refused_within(&archive, &Limits::default()).contains("does not add up"));
    let garbage = vec![b'x'; 4096];
    assert!(refused_within(&garbage, &Limits::default()).contains("is no tar archive"));
}

#[test]
fn entries_hidden_behind_an_empty_block() {
    let tar = Tar::new().file("a", "").bytes(&[0; 512]).file("b", "");
    assert!(refused(tar).contains("an empty block is within it"));
}
