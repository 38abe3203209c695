//! Unpacks archives built in memory: honest ones to the last attribute, and one of each kind of attack.

mod attacks;
mod properties;

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::TempDir;

use super::super::digest::Digest;
use super::super::fixture::{Tar, gzip};
use super::super::limits::Limits;
use super::*;

/// A directory to unpack into, with another beside it that nothing may reach.
pub(super) struct Ground {
    folder: TempDir,
}

impl Ground {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("layer")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/secret"), "untouched").unwrap();
        Self { folder }
    }

    pub(super) fn layer(&self) -> PathBuf {
        self.folder.path().join("layer")
    }

    pub(super) fn unpack(&self, archive: &[u8]) -> Result<Unpacked, UnpackError> {
        self.unpack_within(archive, &Limits::default())
    }

    pub(super) fn unpack_within(&self, archive: &[u8], limits: &Limits) -> Result<Unpacked, UnpackError> {
        let plain = plain(archive);
        let unpacked = unpack(archive, &Digest::of(&plain), &self.layer(), limits);
        self.outside_is_untouched();
        unpacked
    }

    fn outside_is_untouched(&self) {
        let names: Vec<_> =
            fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let outside = self.folder.path().join("outside");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "untouched");
        assert_eq!(fs::metadata(outside.join("secret")).unwrap().nlink(), 1);
    }
}

fn plain(archive: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    // Broken ones have no content to compare with.
    let _ = Decoder::new(archive).and_then(|mut decoder| decoder.read_to_end(&mut plain));
    plain
}

fn xattr(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = Vec::with_capacity(1024);
    rustix::fs::lgetxattr(path, name, rustix::buffer::spare_capacity(&mut value)).ok()?;
    Some(value)
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn files_keep_their_content_owner_mode_and_time() {
    let ground = Ground::new();
    let archive =
        Tar::new().owned_by(1000, 65_534).at(1_234_567_890).mode("a", 0o4751).file("b/c", "text").finish();
    let unpacked = ground.unpack(&archive).unwrap();
    let found = fs::symlink_metadata(ground.layer().join("a")).unwrap();
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (1000, 65_534, 0o4751));
    assert_eq!(found.mtime(), 1_234_567_890);
    assert_eq!(text(ground.layer().join("b/c")), "text");
    assert_eq!((unpacked.facts.bytes, unpacked.facts.entries), (4, 3));
}

#[test]
fn directories_keep_their_time_though_files_come_later() {
    let ground = Ground::new();
    ground
        .unpack(&Tar::new().at(7).directory("./", 0o700).directory("a", 0o1777).file("a/b", "").finish())
        .unwrap();
    let found = fs::metadata(ground.layer().join("a")).unwrap();
    assert_eq!((found.mtime(), found.mode() & 0o7777), (7, 0o1777));
    let root = fs::metadata(ground.layer()).unwrap();
    assert_eq!((root.mtime(), root.mode() & 0o7777), (7, 0o700));
}

#[test]
fn links_of_both_kinds_are_kept() {
    let ground = Ground::new();
    let archive =
        Tar::new().file("a", "x").link("b", "a").link("c", "./a").symlink("d", "../../../a").finish();
    ground.unpack(&archive).unwrap();
    let layer = ground.layer();
    let inode = |name: &str| fs::symlink_metadata(layer.join(name)).unwrap().ino();
    assert_eq!((inode("a"), inode("a")), (inode("b"), inode("c")));
    assert_eq!(fs::read_link(layer.join("d")).unwrap(), Path::new("../../../a"));
}

#[test]
fn pipes_are_made_and_devices_left_out() {
    let ground = Ground::new();
    let archive =
        Tar::new().kind(b'6', "pipe").kind(b'3', "null").kind(b'4', "disk").link("same", "null").finish();
    let unpacked = ground.unpack(&archive).unwrap();
    let pipe = fs::symlink_metadata(ground.layer().join("pipe")).unwrap();
    assert!(pipe.file_type().is_fifo());
    assert_eq!(pipe.mode() & 0o777, 0o640);
    for name in ["null", "disk", "same"] {
        assert!(fs::symlink_metadata(ground.layer().join(name)).is_err(), "{name}");
    }
    assert_eq!(unpacked.facts.devices_left_out, 3);
}

#[test]
fn attributes_that_mean_something_everywhere_are_kept() {
    let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let ground = Ground::new();
    let archive = Tar::new()
        .owned_by(5, 5)
        .records(&[
            ("SCHILY.xattr.security.capability", &capability),
            ("SCHILY.xattr.user.a", b"b"),
            ("SCHILY.xattr.security.selinux", b"label"),
        ])
        .file("ping", "")
        .finish();
    ground.unpack(&archive).unwrap();
    let ping = ground.layer().join("ping");
    assert_eq!(xattr(&ping, "security.capability").unwrap(), capability);
    assert_eq!(xattr(&ping, "user.a").unwrap(), b"b");
    assert_eq!(xattr(&ping, "security.selinux"), None);
}

#[test]
fn removed_files_and_directories_are_as_overlayfs_wants_them() {
    let ground = Ground::new();
    let archive = Tar::new()
        .file("a/.wh.gone", "")
        .file("b/.wh..wh..opq", "")
        .file("b/new", "")
        .file(".wh..wh.plnk", "")
        .finish();
    let unpacked = ground.unpack(&archive).unwrap();
    let gone = rustix::fs::lstat(ground.layer().join("a/gone")).unwrap();
    assert!(is_whiteout(&gone));
    assert_eq!(xattr(&ground.layer().join("b"), OPAQUE).unwrap(), b"y");
    assert_eq!(xattr(&ground.layer().join("a"), OPAQUE), None);
    assert!(!ground.layer().join(".wh..wh.plnk").exists() && !unpacked.facts.hides_all);
    assert_eq!(unpacked.implicit, [Path::new("a"), Path::new("b")]);
}

#[test]
fn what_a_layer_removes_and_makes_anew_hides_the_old() {
    for archive in [
        Tar::new().file(".wh.d", "").directory("d", 0o755).file("d/x", "").finish(),
        Tar::new().directory("d", 0o755).file("d/x", "").file(".wh.d", "").finish(),
    ] {
        let ground = Ground::new();
        ground.unpack(&archive).unwrap();
        assert!(ground.layer().join("d/x").is_file());
        assert_eq!(xattr(&ground.layer().join("d"), OPAQUE).unwrap(), b"y");
    }
}

#[test]
fn a_layer_may_hide_all_below_it() {
    assert!(Ground::new().unpack(&Tar::new().file(".wh..wh..opq", "").finish()).unwrap().facts.hides_all);
}

#[test]
fn directories_nobody_mentioned_are_told() {
    let ground = Ground::new();
    let archive = Tar::new().file("a/b/c", "").directory("a/b", 0o750).finish();
    assert_eq!(ground.unpack(&archive).unwrap().implicit, [Path::new("a")]);
    assert_eq!(fs::metadata(ground.layer().join("a/b")).unwrap().permissions().mode() & 0o777, 0o750);
}

#[test]
fn the_last_of_many_entries_of_one_name_holds() {
    let ground = Ground::new();
    let archive = Tar::new()
        .file("a", "old")
        .file("a", "new")
        .directory("b", 0o755)
        .file("b/deep/er", "")
        .file("b", "a file")
        .symlink("c", "a")
        .directory("c", 0o755)
        .directory("d", 0o700)
        .file("d/kept", "")
        .directory("d", 0o711)
        .finish();
    ground.unpack(&archive).unwrap();
    let layer = ground.layer();
    assert_eq!((text(layer.join("a")), text(layer.join("b"))), ("new".to_owned(), "a file".to_owned()));
    assert!(fs::symlink_metadata(layer.join("c")).unwrap().is_dir());
    assert!(layer.join("d/kept").is_file());
    assert_eq!(fs::metadata(layer.join("d")).unwrap().mode() & 0o777, 0o711);
}

#[test]
fn a_file_that_replaces_one_of_two_links_leaves_the_other() {
    let ground = Ground::new();
    ground
        .unpack(&Tar::new().file("a", "old").link("b", "a").file("a", "new").link("b", "b").finish())
        .unwrap();
    assert_eq!(text(ground.layer().join("b")), "old");
}

#[test]
fn long_names_are_read_in_either_dialect() {
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(120));
    let ground = Ground::new();
    let archive = Tar::new()
        .add(b'L', "././@LongLink", 0, "", format!("{long}1\0").as_bytes())
        .file("short", "gnu")
        .records(&[("path", format!("{long}2").as_bytes())])
        .file("short", "posix")
        .add(b'K', "././@LongLink", 0, "", format!("{long}3\0").as_bytes())
        .symlink("link", "short")
        .finish();
    ground.unpack(&archive).unwrap();
    assert_eq!(text(ground.layer().join(format!("{long}1"))), "gnu");
    assert_eq!(text(ground.layer().join(format!("{long}2"))), "posix");
    assert_eq!(fs::read_link(ground.layer().join("link")).unwrap(), Path::new(&format!("{long}3")));
}

#[test]
fn files_with_holes_are_read_in_every_dialect() {
    let mut tar = Tar::new();
    let mut header = tar.header(b'S', "old", 0o644, "", 3);
    let gnu = header.as_gnu_mut().unwrap();
    gnu.set_real_size(5000);
    gnu.sparse[0].set_offset(4096);
    gnu.sparse[0].set_length(3);
    header.set_cksum();
    let mut list = b"1\n4096\n3\n".to_vec();
    list.resize(512, 0);
    list.extend(b"abc");
    let archive = tar
        .raw(&header, b"abc")
        .records(&[
            ("GNU.sparse.size", b"5000"),
            ("GNU.sparse.map", b"4096,3"),
            ("GNU.sparse.name", b"middle"),
        ])
        .file("ignored", "abc")
        .records(&[
            ("GNU.sparse.major", b"1"),
            ("GNU.sparse.minor", b"0"),
            ("GNU.sparse.name", b"new"),
            ("GNU.sparse.realsize", b"5000"),
        ])
        .file("ignored", list)
        .finish();
    let ground = Ground::new();
    ground.unpack(&archive).unwrap();
    let expected = [vec![0; 4096], b"abc".to_vec(), vec![0; 5000 - 4099]].concat();
    for name in ["old", "middle", "new"] {
        assert_eq!(fs::read(ground.layer().join(name)).unwrap(), expected, "{name}");
    }
}

#[test]
fn links_within_the_layer_are_followed_on_the_way() {
    let ground = Ground::new();
    let archive = Tar::new()
        .directory("usr/lib", 0o755)
        .symlink("lib", "usr/lib")
        .file("lib/a", "a")
        .symlink("lib64", "/usr/lib")
        .file("lib64/b", "b")
        .finish();
    ground.unpack(&archive).unwrap();
    assert_eq!(text(ground.layer().join("usr/lib/a")), "a");
    assert_eq!(text(ground.layer().join("usr/lib/b")), "b");
}

#[test]
fn compressed_layers_are_known_by_their_plain_content() {
    let plain = Tar::new().file("a", "x".repeat(10_000)).finish();
    let ground = Ground::new();
    ground.unpack(&gzip(&plain)).unwrap();
    assert_eq!(text(ground.layer().join("a")).len(), 10_000);
}

#[test]
fn bytes_after_the_end_count_for_the_digest() {
    let archive = Tar::new().file("a", "x").finish();
    let longer = [archive.clone(), b"more".to_vec()].concat();
    assert!(Ground::new().unpack(&longer).is_ok());
    let ground = Ground::new();
    let error = unpack(&longer[..], &Digest::of(&archive), &ground.layer(), &Limits::default()).unwrap_err();
    assert!(matches!(error, UnpackError::Digest { .. }), "{error}");
}
