//! Readers see all of the old or all of the new, at whichever step a writer dies.

use super::*;
use crate::volumes::fixtures::at_every_step;

fn payload(files: &[(&str, &str)]) -> Payload {
    let file = |content: &str| File { content: content.into(), mode: 0o640, uid: 0, gid: 0 };
    files.iter().map(|(path, content)| ((*path).into(), file(content))).collect()
}

fn old() -> Payload {
    payload(&[("a", "1"), ("deep/b", "1"), ("gone", "1")])
}

fn new() -> Payload {
    payload(&[("a", "2"), ("deep/b", "2"), ("fresh/c", "2")])
}

fn put(volume: &Path, payload: &Payload) -> Outcome {
    write(volume, payload, None, Timestamp::UNIX_EPOCH).unwrap()
}

/// What a container sees: through the links, without our own names.
fn seen(volume: &Path) -> Payload {
    let names = fs::read_dir(volume).unwrap().map(|entry| entry.unwrap().file_name());
    let mut visible = Payload::new();
    for name in names.filter(|name| !name.as_encoded_bytes().starts_with(b"..")) {
        let path = volume.join(&name);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                visible.extend(
                    read_back(&path)
                        .unwrap()
                        .into_iter()
                        .map(|(below, file)| (Path::new(&name).join(below), file)),
                );
            }
            Ok(metadata) => {
                let (mode, uid, gid) = (metadata.mode() & 0o7777, metadata.uid(), metadata.gid());
                visible.insert(name.into(), File { content: fs::read(&path).unwrap(), mode, uid, gid });
            }
            // A name whose file is gone: its removal is next.
            Err(_) => {}
        }
    }
    visible
}

fn ours(volume: &Path) -> usize {
    let names = fs::read_dir(volume).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.as_encoded_bytes().starts_with(b"..")).count()
}

#[test]
fn files_are_shown_through_one_link_that_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let volume = folder.path().join("volumes/v");
    assert_eq!(put(&volume, &old()), Outcome::Written);
    assert_eq!(fs::read_link(volume.join("a")).unwrap(), PathBuf::from("..data/a"));
    let first = fs::read_link(volume.join("..data")).unwrap();
    assert_eq!(first, PathBuf::from("..1970_01_01_00_00_00.000000000"));
    assert_eq!(put(&volume, &old()), Outcome::Unchanged);
    assert_eq!(put(&volume, &new()), Outcome::Written);
    assert_ne!(fs::read_link(volume.join("..data")).unwrap(), first);
    assert_eq!((seen(&volume), ours(&volume)), (new(), 2));
    assert!(fs::symlink_metadata(volume.join("gone")).is_err());
}

#[test]
fn modes_owners_and_groups_are_as_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let volume = folder.path().join("v");
    let file = File { content: b"x".to_vec(), mode: 0o400, uid: 1000, gid: 70 };
    let payload = Payload::from([("d/f".into(), file)]);
    write(&volume, &payload, Some(70), Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(seen(&volume), payload);
    for directory in [volume.clone(), volume.join("d")] {
        let metadata = fs::metadata(directory).unwrap();
        assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (0, 70, 0o2755));
    }
    assert_eq!(write(&volume, &payload, Some(70), Timestamp::UNIX_EPOCH).unwrap(), Outcome::Unchanged);
}

#[test]
fn a_changed_mode_or_owner_alone_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let volume = folder.path().join("v");
    put(&volume, &old());
    let mut changed = old();
    for file in changed.values_mut() {
        file.mode = 0o600;
    }
    assert_eq!(put(&volume, &changed), Outcome::Written);
    for file in changed.values_mut() {
        file.uid = 5;
    }
    assert_eq!(put(&volume, &changed), Outcome::Written);
    assert_eq!(seen(&volume), changed);
}

#[test]
fn a_crash_at_any_step_shows_all_of_the_old_or_all_of_the_new() {
    let change = |folder: &Path, gate: Gate<'_>| {
        let volume = folder.join("volumes/v");
        put(&volume, &old());
        write_with(&volume, &new(), None, Timestamp::UNIX_EPOCH, gate).is_ok()
    };
    at_every_step(change, |folder| {
        let volume = folder.join("volumes/v");
        let content = |path: &str| fs::read(volume.join(path)).ok();
        let (a, b) = (content("a").unwrap(), content("deep/b").unwrap());
        assert_eq!(a, b);
        put(&volume, &new());
        assert_eq!((seen(&volume), ours(&volume)), (new(), 2));
        assert!(fs::symlink_metadata(volume.join("gone")).is_err());
    });
}

#[test]
fn a_crash_of_the_first_write_can_be_done_again() {
    let change = |folder: &Path, gate: Gate<'_>| {
        write_with(&folder.join("volumes/v"), &new(), Some(70), Timestamp::UNIX_EPOCH, gate).is_ok()
    };
    at_every_step(change, |folder| {
        let volume = folder.join("volumes/v");
        write(&volume, &new(), Some(70), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!((seen(&volume), ours(&volume)), (new(), 2));
    });
}

#[test]
fn nothing_to_show_is_an_empty_volume() {
    let folder = tempfile::tempdir().unwrap();
    let volume = folder.path().join("v");
    put(&volume, &old());
    put(&volume, &Payload::new());
    assert_eq!((seen(&volume), ours(&volume)), (Payload::new(), 2));
}
