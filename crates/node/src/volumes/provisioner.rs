//! Persistent volumes as directories: made, found again, removed.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::durable::{Gate, OPEN, closed, make_directory, publish, sync, unless_missing, write_file};
use super::error::{Error, failed};
use super::layout::Layout;
use super::names;
use super::quota::{self, Enforcement};
use super::removal::remove;
use crate::trash::Trash;

/// Anyone in a Pod may use it, as with other provisioners of directories; a group is given it by the Pod.
const MODE: u32 = 0o777;
const NEW: &str = ".new-";
const OLD: &str = ".old-";

/// Whose a volume is and how large it may grow. Beside the data, so that it can be told without the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    /// `namespace/name` of the claim.
    pub claim: String,
    pub claim_uid: String,
    pub bytes: u64,
    /// The number under which the file system counts what is in it.
    pub project: Option<u32>,
}

/// A volume that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provisioned {
    pub data: PathBuf,
    pub size: Enforcement,
}

/// Makes sure of a volume. One that is there keeps its content; it must be for the same claim.
pub fn provision(layout: &Layout, name: &str, record: &Record) -> Result<Provisioned, Error> {
    provision_with(layout, name, record, OPEN)
}

fn provision_with(
    layout: &Layout,
    name: &str,
    record: &Record,
    gate: Gate<'_>,
) -> Result<Provisioned, Error> {
    let data = layout.data(name)?;
    let folder = layout.persistent().join(name);
    if let Some(found) = read(&folder)? {
        if found.claim_uid != record.claim_uid {
            return Err(Error::Taken { name: name.to_owned(), owner: found.claim });
        }
        return Ok(Provisioned { size: quota::enforce(&data, found.project, found.bytes), data });
    }
    let record = Record { project: next_project(layout)?, ..record.clone() };
    make(layout, name, &record, gate)?;
    Ok(Provisioned { size: quota::enforce(&data, record.project, record.bytes), data })
}

/// It has its name once it is whole.
fn make(layout: &Layout, name: &str, record: &Record, gate: Gate<'_>) -> Result<(), Error> {
    let above = layout.persistent();
    let (new, folder) = (above.join(format!("{NEW}{name}")), above.join(name));
    let failing = failed("make", &folder);
    let step = || gate().map_err(&failing);
    step()?;
    closed(&above).map_err(&failing)?;
    remove(&new)?;
    step()?;
    make_directory(&new, 0o700).map_err(&failing)?;
    step()?;
    make_directory(&new.join("data"), MODE).map_err(&failing)?;
    step()?;
    let text = serde_json::to_vec(record).map_err(|error| failing(error.into()))?;
    let file = write_file(&new.join("record.json"), &text, 0o600).map_err(&failing)?;
    step()?;
    file.sync_all().and_then(|()| sync(&new)).map_err(&failing)?;
    publish(&new, &folder, gate).map_err(&failing)
}

/// What the volume's directory says of it.
fn read(folder: &Path) -> Result<Option<Record>, Error> {
    let path = folder.join("record.json");
    match fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        other => {
            let text = other.map_err(failed("read", &path))?;
            serde_json::from_slice(&text).map(Some).map_err(|error| failed("read", &path)(error.into()))
        }
    }
}

/// Lets a volume become larger. One that is as large already stays.
pub fn grow(layout: &Layout, name: &str, bytes: u64) -> Result<Enforcement, Error> {
    let (data, folder) = (layout.data(name)?, layout.persistent().join(name));
    let failing = failed("enlarge", &folder);
    let missing = || failing(std::io::ErrorKind::NotFound.into());
    let found = read(&folder)?.ok_or_else(missing)?;
    let record = Record { bytes: bytes.max(found.bytes), ..found };
    let (path, beside) = (folder.join("record.json"), folder.join("record.new"));
    let text = serde_json::to_vec(&record).map_err(|error| failing(error.into()))?;
    unless_missing(fs::remove_file(&beside)).map_err(&failing)?;
    let file = write_file(&beside, &text, 0o600).map_err(&failing)?;
    file.sync_all().and_then(|()| publish(&beside, &path, OPEN)).map_err(&failing)?;
    Ok(quota::enforce(&data, record.project, record.bytes))
}

/// Every volume that is there, by name.
pub fn list(layout: &Layout) -> Result<Vec<(String, Record)>, Error> {
    let mut found = Vec::new();
    for name in entries(layout)? {
        if names::persistent(&name).is_ok()
            && let Some(record) = read(&layout.persistent().join(&name))?
        {
            found.push((name, record));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

/// Removes a volume with all that is in it; one that is not there is removed already.
pub fn delete(layout: &Layout, name: &str) -> Result<(), Error> {
    delete_with(layout, name, OPEN)
}

/// The same for one that nobody has put anything into.
pub fn delete_if_empty(layout: &Layout, name: &str) -> Result<(), Error> {
    let data = layout.data(name)?;
    let is_empty = match fs::read_dir(&data) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if is_empty { delete(layout, name) } else { Ok(()) }
}

fn delete_with(layout: &Layout, name: &str, gate: Gate<'_>) -> Result<(), Error> {
    let folder = layout.persistent().join(names::persistent(name)?);
    let old = layout.persistent().join(format!("{OLD}{name}"));
    if fs::symlink_metadata(&folder).is_ok() {
        remove(&old)?;
        // From here on it is nobody's, however long the removal takes.
        publish(&folder, &old, gate).map_err(failed("remove", &folder))?;
    }
    gate().map_err(failed("remove", &old))?;
    remove(&old)
}

/// Puts aside what earlier processes left half made or half removed.
pub fn sweep(layout: &Layout, trash: &Trash) -> Result<(), Error> {
    let is_left = |name: &String| name.starts_with(NEW) || name.starts_with(OLD);
    entries(layout)?.into_iter().filter(is_left).try_for_each(|name| {
        let path = layout.persistent().join(name);
        trash.put(&path).map_err(failed("remove", &path))
    })
}

fn entries(layout: &Layout) -> Result<Vec<String>, Error> {
    let folder = layout.persistent();
    let listed = match fs::read_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed("list", &folder))?,
    };
    let name = |entry: std::io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    listed.map(name).collect::<std::io::Result<_>>().map_err(failed("list", &folder))
}

/// A number that no other volume has, where the file system counts by them.
fn next_project(layout: &Layout) -> Result<Option<u32>, Error> {
    let folder = layout.persistent();
    closed(&folder).map_err(failed("make", &folder))?;
    if quota::detect(&folder) != Enforcement::Enforced {
        return Ok(None);
    }
    let taken = list(layout)?.into_iter().filter_map(|(_, record)| record.project);
    Ok(Some(taken.max().map_or(quota::FIRST_PROJECT, |last| last + 1)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;
    use crate::volumes::fixtures::at_every_step;

    fn record(uid: &str) -> Record {
        Record { claim: "n/work".into(), claim_uid: uid.into(), bytes: 1 << 30, project: None }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_volume_is_made_once_and_keeps_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let made = provision(&layout, "pvc-u1", &record("u1")).unwrap();
        assert_eq!((mode(&made.data), mode(&layout.persistent())), (0o777, 0o700));
        fs::write(made.data.join("f"), "kept").unwrap();
        assert_eq!(provision(&layout, "pvc-u1", &record("u1")).unwrap(), made);
        assert_eq!(fs::read(made.data.join("f")).unwrap(), b"kept");
        let listed = list(&layout).unwrap();
        assert_eq!((listed[0].0.as_str(), listed[0].1.bytes, listed.len()), ("pvc-u1", 1 << 30, 1));
    }

    #[test]
    fn a_volume_grows_and_keeps_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let made = provision(&layout, "v", &record("u1")).unwrap();
        fs::write(made.data.join("f"), "kept").unwrap();
        for (asked, expected) in [(2 << 30, 2 << 30), (1, 2 << 30)] {
            assert_eq!(grow(&layout, "v", asked).unwrap(), made.size);
            assert_eq!(list(&layout).unwrap()[0].1.bytes, expected);
        }
        assert_eq!(fs::read(made.data.join("f")).unwrap(), b"kept");
        assert!(grow(&layout, "absent", 1).is_err());
    }

    #[test]
    fn a_volume_of_another_claim_is_not_handed_out() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        provision(&layout, "v", &record("u1")).unwrap();
        let error = provision(&layout, "v", &record("u2")).unwrap_err();
        assert_eq!(error.to_string(), "the volume v is there already, for n/work");
    }

    #[test]
    fn a_crash_at_any_step_of_the_making_can_be_done_again() {
        let change = |folder: &Path, gate: Gate<'_>| {
            provision_with(&Layout::new(folder), "v", &record("u1"), gate).is_ok()
        };
        at_every_step(change, |folder| {
            let layout = Layout::new(folder);
            let before = list(&layout).unwrap().len();
            assert!(before == 0 || layout.data("v").unwrap().is_dir());
            provision(&layout, "v", &record("u1")).unwrap();
            sweep(&layout, &Trash::of(folder)).unwrap();
            assert_eq!(entries(&layout).unwrap(), ["v"]);
        });
    }

    #[test]
    fn a_crash_at_any_step_of_the_removal_can_be_done_again() {
        for fatal in 0..3 {
            let folder = tempfile::tempdir().unwrap();
            let layout = Layout::new(folder.path());
            provision(&layout, "v", &record("u1")).unwrap();
            let left = std::cell::Cell::new(fatal);
            let gate = || match left.get() {
                0 => Err(std::io::Error::other("a planned failure")),
                more => {
                    left.set(more - 1);
                    Ok(())
                }
            };
            assert!(delete_with(&layout, "v", &gate).is_err());
            sweep(&layout, &Trash::of(folder.path())).unwrap();
            delete(&layout, "v").unwrap();
            assert_eq!(entries(&layout).unwrap(), [""; 0]);
        }
    }

    #[test]
    fn what_somebody_filled_is_not_cleared_away() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        for name in ["used", "unused"] {
            provision(&layout, name, &record(name)).unwrap();
        }
        fs::write(layout.data("used").unwrap().join("f"), "kept").unwrap();
        for name in ["used", "unused", "none"] {
            delete_if_empty(&layout, name).unwrap();
        }
        assert_eq!(entries(&layout).unwrap(), ["used"]);
    }

    #[test]
    fn links_in_a_volume_take_nothing_with_them() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let layout = Layout::new(folder.path());
        let made = provision(&layout, "v", &record("u1")).unwrap();
        fs::write(outside.path().join("f"), "").unwrap();
        symlink(outside.path(), made.data.join("link")).unwrap();
        delete(&layout, "v").unwrap();
        assert!(outside.path().join("f").exists());
        assert!(delete(&layout, "../outside").is_err());
    }
}
