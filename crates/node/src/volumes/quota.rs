//! Whether the file system holds volumes to their size. Where it does not, sizes are measured and reported.

use std::fs;
use std::path::Path;

use rustix::fs::{major, minor, stat};

use crate::sys::quota;

/// Above what people give out by hand.
pub const FIRST_PROJECT: u32 = 0x6173_0000;

/// What becomes of a volume that would outgrow its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// Writes fail as on a full disk.
    Enforced,
    /// Nothing stops it; this is why.
    Reported { reason: String },
}

impl Enforcement {
    /// For people.
    pub fn describe(&self) -> String {
        match self {
            Self::Enforced => "sizes of volumes are enforced by the file system".to_owned(),
            Self::Reported { reason } => format!("sizes of volumes are measured and not enforced: {reason}"),
        }
    }
}

/// Whether directories at `path` can be limited: with project quotas, which a file system is mounted with or without.
pub fn detect(path: &Path) -> Enforcement {
    let reported = |reason: String| Enforcement::Reported { reason };
    let device = match stat(path) {
        Ok(stat) => format!("{}:{}", major(stat.st_dev), minor(stat.st_dev)),
        Err(error) => return reported(format!("{} cannot be looked at: {error}", path.display())),
    };
    match fs::read_to_string("/proc/self/mountinfo") {
        Ok(mounts) => judge(&mounts, &device),
        Err(error) => reported(format!("the list of mounts cannot be read: {error}")),
    }
}

/// Limits a volume, if it can be.
pub fn enforce(data: &Path, project: Option<u32>, bytes: u64) -> Enforcement {
    let Some(project) = project else { return detect(data) };
    match quota::set(data, project, bytes) {
        Ok(()) => Enforcement::Enforced,
        Err(error) => Enforcement::Reported { reason: format!("the file system refuses the limit: {error}") },
    }
}

fn judge(mounts: &str, device: &str) -> Enforcement {
    let reported = |reason: String| Enforcement::Reported { reason };
    let Some((kind, options)) = mounts.lines().find_map(|line| of_device(line, device)) else {
        return reported("the file system is none that is mounted from a disk".to_owned());
    };
    if !matches!(kind, "ext4" | "xfs" | "f2fs") {
        return reported(format!("{kind} has no project quotas"));
    }
    let is_on = options.split(',').any(|option| matches!(option, "prjquota" | "pquota"));
    if is_on {
        Enforcement::Enforced
    } else {
        reported(format!("{kind} is mounted without the option prjquota"))
    }
}

/// Type and options of the file system that a line is about, if it is the device's.
fn of_device<'a>(line: &'a str, device: &str) -> Option<(&'a str, &'a str)> {
    let (mount, system) = line.split_once(" - ")?;
    if mount.split(' ').nth(2)? != device {
        return None;
    }
    let mut words = system.split(' ');
    Some((words.next()?, words.nth(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
23 22 8:1 / /data rw - xfs /dev/sda1 rw,attr2,prjquota
24 22 0:30 / /tmp rw - tmpfs tmpfs rw,size=1k
";

    #[test]
    fn what_the_file_system_can_do_is_read_from_its_mount() {
        let all = ["8:1", "254:0", "0:30", "9:9"].map(|device| judge(MOUNTS, device).describe());
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn this_machines_answer_is_one_or_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let answer = detect(folder.path());
        assert_eq!(enforce(folder.path(), None, 1), answer);
        assert!(matches!(detect(Path::new("/nonexistent")), Enforcement::Reported { .. }));
    }
}
