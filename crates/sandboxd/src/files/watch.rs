//! Follows what changes below a directory, by inotify. How many directories is bounded; whoever watches more is told that something
//! may be missing, as when the kernel's queue ran over.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use super::path::Inside;
use super::root::Root;
use super::upload::PREFIX;
use crate::wire::watch::{Change, Event};

/// Each level of a tree holds a descriptor while it is read.
const DEEPEST: usize = 128;

const WANTED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

pub(crate) struct Watch {
    root: Arc<Root>,
    inside: Inside,
    queue: OwnedFd,
    top: i32,
    /// Where each watched directory is, below the first.
    places: HashMap<i32, PathBuf>,
    recursive: bool,
    most: usize,
}

impl Watch {
    /// With the first lines to tell.
    pub(crate) fn begin(
        root: Arc<Root>,
        inside: Inside,
        recursive: bool,
        most: usize,
    ) -> Result<(Self, Vec<Change>), Errno> {
        let directory = root.get(&inside, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut watch = Self { root, inside, queue, top: -1, places: HashMap::new(), recursive, most };
        let mut changes = vec![change(Event::Start, Path::new(""), true)];
        // What is found on the way was there before.
        watch.top = watch.add(&directory, Path::new(""), &mut changes, &mut |_, _| (), 0)?;
        Ok((watch, changes))
    }

    /// Tells when there is something to read.
    pub(crate) fn queue(&self) -> std::io::Result<OwnedFd> {
        self.queue.try_clone()
    }

    /// What has happened since the last call; nothing more comes after [`Event::End`].
    pub(crate) fn read(&mut self) -> Result<Vec<Change>, Errno> {
        let raw = self.raw()?;
        let mut changes = Vec::new();
        for (descriptor, flags, name) in raw {
            self.tell(descriptor, flags, &name, &mut changes);
        }
        Ok(changes)
    }

    fn raw(&self) -> Result<Vec<(i32, ReadFlags, OsString)>, Errno> {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut reader = inotify::Reader::new(&self.queue, &mut buffer);
        let mut events = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map_or(&b""[..], |name| name.to_bytes());
                    events.push((event.wd(), event.events(), OsStr::from_bytes(name).to_owned()));
                }
                Err(Errno::AGAIN) if events.is_empty() => return Err(Errno::AGAIN),
                Err(Errno::AGAIN) => return Ok(events),
                Err(error) => return Err(error),
            }
            if reader.is_buffer_empty() {
                return Ok(events);
            }
        }
    }

    fn tell(&mut self, descriptor: i32, flags: ReadFlags, name: &OsStr, changes: &mut Vec<Change>) {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return changes.push(change(Event::Overflow, Path::new(""), true));
        }
        if flags.intersects(ReadFlags::IGNORED | ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF) {
            return self.gone(descriptor, flags, changes);
        }
        let Some(parent) = self.places.get(&descriptor) else { return };
        if is_ours(name) {
            return;
        }
        let path = parent.join(name);
        let is_directory = flags.contains(ReadFlags::ISDIR);
        let arrived = flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        changes.extend(event(flags).map(|event| change(event, &path, is_directory)));
        if is_directory && arrived && self.recursive {
            self.add_new(&path, changes);
        } else if is_directory && flags.contains(ReadFlags::MOVED_FROM) {
            self.forget_below(&path);
        }
    }

    fn gone(&mut self, descriptor: i32, flags: ReadFlags, changes: &mut Vec<Change>) {
        if descriptor == self.top && !flags.contains(ReadFlags::IGNORED) {
            changes.push(change(Event::End, Path::new(""), true));
        } else if flags.contains(ReadFlags::IGNORED) {
            self.places.remove(&descriptor);
        }
    }

    /// A directory that was moved away is no longer below ours; if it came to another of ours, that one tells.
    fn forget_below(&mut self, path: &Path) {
        let below = self.places.iter().filter(|(_, place)| place.starts_with(path));
        let below: Vec<i32> = below.map(|(number, _)| *number).collect();
        for descriptor in below {
            self.places.remove(&descriptor);
            let _ = inotify::remove_watch(&self.queue, descriptor);
        }
    }

    /// A directory that has just come. What is in it already came before we looked, and is told as if it came now.
    fn add_new(&mut self, path: &Path, changes: &mut Vec<Change>) {
        let inside = path.iter().fold(self.inside.clone(), |inside, name| inside.child(name));
        let Ok(directory) = self.root.get(&inside, OFlags::RDONLY | OFlags::DIRECTORY) else { return };
        let mut found = Vec::new();
        let mut tell = |path: &Path, is_directory| found.push(change(Event::Create, path, is_directory));
        // It may be gone again, and then that is what is told next.
        let _ = self.add(&directory, path, changes, &mut tell, 0);
        changes.extend(found);
    }

    fn add(
        &mut self,
        directory: &OwnedFd,
        path: &Path,
        changes: &mut Vec<Change>,
        tell: &mut dyn FnMut(&Path, bool),
        depth: usize,
    ) -> Result<i32, Errno> {
        if self.places.len() >= self.most || depth > DEEPEST {
            changes.push(change(Event::Overflow, path, true));
            return Err(Errno::NOSPC);
        }
        // By the descriptor, so that it is this directory, whatever has its name by now.
        let name = format!("/proc/self/fd/{}", directory.as_raw_fd());
        let descriptor = inotify::add_watch(&self.queue, name, WANTED)?;
        self.places.insert(descriptor, path.to_owned());
        let below = if self.recursive { entries(directory) } else { Vec::new() };
        for (name, is_directory) in below {
            let below = path.join(&name);
            tell(&below, is_directory);
            if let Some(directory) = is_directory.then(|| open(directory, &name).ok()).flatten() {
                let _ = self.add(&directory, &below, changes, tell, depth + 1);
            }
        }
        Ok(descriptor)
    }
}

fn open(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty())
}

/// Names, and whether each is a directory.
fn entries(directory: &OwnedFd) -> Vec<(OsString, bool)> {
    let Ok(entries) = Dir::read_from(directory) else { return Vec::new() };
    let names = entries.filter_map(Result::ok).map(|entry| {
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        (name, entry.file_type() == FileType::Directory)
    });
    names.filter(|(name, _)| name != "." && name != ".." && !is_ours(name)).collect()
}

/// A file that is being written, and will soon be another.
fn is_ours(name: &OsStr) -> bool {
    name.as_bytes().starts_with(PREFIX.as_bytes())
}

fn event(flags: ReadFlags) -> Option<Event> {
    let meanings = [
        (ReadFlags::CREATE, Event::Create),
        (ReadFlags::MODIFY, Event::Write),
        (ReadFlags::ATTRIB, Event::Attributes),
        (ReadFlags::DELETE, Event::Remove),
        (ReadFlags::MOVED_FROM, Event::MovedFrom),
        (ReadFlags::MOVED_TO, Event::MovedTo),
    ];
    meanings.iter().find(|(flag, _)| flags.contains(*flag)).map(|(_, event)| *event)
}

fn change(event: Event, path: &Path, directory: bool) -> Change {
    Change { event, path: path.to_string_lossy().into_owned(), directory }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn begun(directory: &Path, recursive: bool, most: usize) -> (Watch, Vec<Change>) {
        let root = Root::open(directory).unwrap();
        Watch::begin(Arc::new(root), Inside::root(), recursive, most).unwrap()
    }

    fn told(watch: &mut Watch) -> Vec<(Event, String)> {
        let mut changes = Vec::new();
        while let Ok(more) = watch.read() {
            changes.extend(more.into_iter().map(|change| (change.event, change.path)));
        }
        changes
    }

    fn pair(event: Event, path: &str) -> (Event, String) {
        (event, path.to_owned())
    }

    #[test]
    fn changes_below_are_told_also_in_directories_that_come() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("a/b")).unwrap();
        let (mut watch, first) = begun(home.path(), true, 99);
        assert_eq!(first, [change(Event::Start, Path::new(""), true)]);
        fs::write(home.path().join("a/b/file"), "x").unwrap();
        fs::create_dir_all(home.path().join("new/deep")).unwrap();
        let changes = told(&mut watch);
        for expected in
            [pair(Event::Create, "a/b/file"), pair(Event::Write, "a/b/file"), pair(Event::Create, "new/deep")]
        {
            assert!(changes.contains(&expected), "{expected:?} in {changes:?}");
        }
        fs::write(home.path().join("new/deep/file"), "x").unwrap();
        fs::rename(home.path().join("new"), home.path().join("old")).unwrap();
        fs::remove_file(home.path().join("old/deep/file")).unwrap();
        let changes = told(&mut watch);
        for expected in
            [pair(Event::Create, "new/deep/file"), pair(Event::MovedFrom, "new"), pair(Event::MovedTo, "old")]
        {
            assert!(changes.contains(&expected), "{expected:?} in {changes:?}");
        }
    }

    #[test]
    fn without_recursion_only_the_directory_itself_is_told_of() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("a")).unwrap();
        let (mut watch, _) = begun(home.path(), false, 99);
        fs::write(home.path().join("a/file"), "x").unwrap();
        fs::write(home.path().join("file"), "x").unwrap();
        let changes = told(&mut watch);
        assert!(changes.contains(&pair(Event::Create, "file")));
        assert!(!changes.iter().any(|(_, path)| path == "a/file"), "{changes:?}");
    }

    #[test]
    fn more_directories_than_allowed_are_an_overflow() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("a/b/c")).unwrap();
        let (_, first) = begun(home.path(), true, 2);
        assert_eq!(first.last().map(|change| change.event), Some(Event::Overflow));
    }

    #[test]
    fn the_end_of_the_directory_is_the_end() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("a")).unwrap();
        let root = Arc::new(Root::open(home.path()).unwrap());
        let (mut watch, _) = Watch::begin(root, Inside::parse(b"a").unwrap(), true, 9).unwrap();
        fs::remove_dir(home.path().join("a")).unwrap();
        assert!(told(&mut watch).contains(&pair(Event::End, "")));
    }
}
