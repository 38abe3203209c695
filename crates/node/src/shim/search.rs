//! Shims, found by their words: also those whose directories are gone, and with them all that could tell of them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

/// Processes that hold Pods whose directories are, or were, in `pods`; with the names of these. Blocks.
pub fn holding(pods: &Path) -> io::Result<BTreeMap<i32, String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // One that has ended meanwhile holds nothing.
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if let Some(uid) = held(&line, pods) {
            found.insert(pid, uid);
        }
    }
    Ok(found)
}

/// What it has begun ends with its cgroup.
pub fn end(pid: i32) -> io::Result<()> {
    match Pid::from_raw(pid.max(0)).map(|pid| kill_process(pid, Signal::KILL)) {
        None | Some(Ok(()) | Err(Errno::SRCH)) => Ok(()),
        Some(Err(error)) => Err(error.into()),
    }
}

fn held(line: &[u8], pods: &Path) -> Option<String> {
    let words: Vec<&str> = line.split(|byte| *byte == 0).map(|it| str::from_utf8(it).unwrap_or("")).collect();
    let [_, "shim", directory, ..] = words[..] else { return None };
    let uid = Path::new(directory).strip_prefix(pods).ok()?;
    Some(uid.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_holds_a_pod_of_this_node_is_known_by_its_words() {
        let holds = |line: &[u8]| held(line, Path::new("/data/node/pods"));
        assert_eq!(holds(b"asb\0shim\0/data/node/pods/u1\0"), Some("u1".to_owned()));
        assert_eq!(holds(b"asb\0shim\0/other/node/pods/u1\0"), None);
        assert_eq!(holds(b"cat\0/data/node/pods/u1\0"), None);
    }
}
