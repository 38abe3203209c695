//! Which hierarchies of cgroups this machine has, and which of them we use.

use std::fs;
use std::path::PathBuf;

use super::Error;

/// Controllers of version 1 that we put containers under. Not `devices`: every mount of a container is `nodev` but for the
/// few nodes that are bound into its /dev, and a user namespace can make none.
const USED: &[&str] = &["cpu", "cpuacct", "freezer", "memory", "pids"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchies {
    pub(super) v1: Vec<(Vec<String>, PathBuf)>,
    pub(super) v2: Option<PathBuf>,
    pub(super) unified: bool,
}

impl Hierarchies {
    pub fn discover() -> Result<Self, Error> {
        let found = Self::parse(&fs::read_to_string("/proc/self/mountinfo").map_err(Error::Discover)?);
        for needed in ["cpu", "memory", "pids"] {
            if !found.unified
                && !found.v1.iter().any(|(controllers, _)| controllers.iter().any(|c| c == needed))
            {
                return Err(Error::NoController(needed));
            }
        }
        Ok(found)
    }

    /// As on a machine that has version 1 alone.
    #[must_use]
    pub fn without_version_2(self) -> Self {
        Self { v2: None, unified: false, ..self }
    }

    /// Version 2 has the controllers unless version 1 has taken them.
    fn parse(mountinfo: &str) -> Self {
        let mut v1 = Vec::new();
        let mut v2 = None;
        for line in mountinfo.lines() {
            match hierarchy(line) {
                Some(("cgroup2", place, _)) if v2.is_none() => v2 = Some(place),
                Some(("cgroup", place, options)) => {
                    let controllers: Vec<String> =
                        options.split(',').filter(|name| USED.contains(name)).map(str::to_owned).collect();
                    // The same hierarchy can be mounted in several places.
                    if !controllers.is_empty() && !v1.iter().any(|(known, _)| *known == controllers) {
                        v1.push((controllers, place));
                    }
                }
                _ => {}
            }
        }
        let unified = v1.is_empty() && v2.is_some();
        Self { v1, v2, unified }
    }
}

/// Type, place and options of the super block, if it is a hierarchy as a whole and not a part of one.
fn hierarchy(line: &str) -> Option<(&str, PathBuf, &str)> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(3);
    let (root, place) = (mount.next()?, mount.next()?);
    let mut file_system = file_system.split(' ');
    let (kind, options) = (file_system.next()?, file_system.nth(1)?);
    (root == "/").then(|| (kind, PathBuf::from(place), options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_with_both_versions_keeps_its_controllers_in_version_1() {
        let found = Hierarchies::parse(
            "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
             32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
             35 31 0:32 / /sys/fs/cgroup/memory rw shared:3 - cgroup cgroup rw,memory\n\
             36 31 0:33 / /sys/fs/cgroup/devices rw,relatime - cgroup cgroup rw,devices\n\
             40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
        );
        let names: Vec<_> = found.v1.iter().map(|(controllers, _)| controllers.join("+")).collect();
        assert_eq!(names, ["cpu+cpuacct", "memory"]);
        assert_eq!(found.v2, Some("/sys/fs/cgroup/unified".into()));
        assert!(!found.unified);
    }

    #[test]
    fn a_machine_with_version_2_alone_is_unified() {
        let found = Hierarchies::parse(
            "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
        );
        assert_eq!(found, Hierarchies { v1: vec![], v2: Some("/sys/fs/cgroup".into()), unified: true });
    }

    #[test]
    fn a_part_of_a_hierarchy_is_not_taken_for_one() {
        let found = Hierarchies::parse("35 31 0:32 /docker/1 /mnt rw - cgroup cgroup rw,memory\n");
        assert_eq!(found, Hierarchies { v1: vec![], v2: None, unified: false });
    }
}
