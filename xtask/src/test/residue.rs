//! What Pods of our own node would leave on the machine, looked for without the help of the code that removes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Pods that were the last test's take a moment to end.
const PATIENCE: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(200);

pub(super) struct Residue {
    /// Where the node has what is its own.
    node: PathBuf,
    /// What its names begin with.
    links: String,
    cgroup: String,
}

impl Residue {
    /// What a server with this data directory leaves.
    pub(super) fn of(directory: &Path) -> Result<Self> {
        let node = directory.join("node");
        let text = fs::read(node.join("identity.json")).context("read who the node is")?;
        let identity: Value = serde_json::from_slice(&text).context("understand who the node is")?;
        let tag = identity["tag"].as_str().context("the node has no tag")?;
        Ok(Self { node, links: format!("a{tag}"), cgroup: format!("agent-sandbox-{tag}") })
    }

    /// Fails with everything that is still there after a while.
    pub(super) fn must_go(&self) -> Result<()> {
        let start = Instant::now();
        loop {
            let left = [self.files(), self.processes(), self.mounts(), self.links(), self.cgroups()].concat();
            if left.is_empty() {
                return Ok(());
            }
            ensure!(start.elapsed() < PATIENCE, "Pods left behind: {}", left.join(", "));
            sleep(LOOK);
        }
    }

    /// Images stay, with the server; what belongs to Pods and claims goes with them.
    fn files(&self) -> Vec<String> {
        ["pods", "logs", "volumes"].iter().flat_map(|folder| entries(&self.node.join(folder))).collect()
    }

    /// Shims have the directory of their Pod among their arguments.
    fn processes(&self) -> Vec<String> {
        let pods = self.node.join("pods").display().to_string();
        let is_shim = |process: &String| {
            fs::read(Path::new(process).join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&pods))
        };
        entries(Path::new("/proc")).into_iter().filter(is_shim).collect()
    }

    fn mounts(&self) -> Vec<String> {
        let pods = self.node.join("pods").display().to_string();
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        table.lines().filter(|line| line.contains(&pods)).map(str::to_owned).collect()
    }

    fn links(&self) -> Vec<String> {
        let is_ours = |link: &String| {
            Path::new(link)
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(self.links.as_str()))
        };
        entries(Path::new("/sys/class/net")).into_iter().filter(is_ours).collect()
    }

    /// Those of Pods; the node's own stays.
    fn cgroups(&self) -> Vec<String> {
        let top = Path::new("/sys/fs/cgroup");
        let hierarchies = entries(top).into_iter().map(PathBuf::from).chain([top.to_owned()]);
        let groups = hierarchies.flat_map(|hierarchy| entries(&hierarchy.join(&self.cgroup)));
        groups.filter(|path| Path::new(path).is_dir()).collect()
    }
}

fn entries(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path().display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_directory_of_a_pod_and_its_shim_are_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let pod = directory.path().join("node/pods/1");
        fs::create_dir_all(&pod).unwrap();
        fs::write(directory.path().join("node/identity.json"), r#"{"tag": "zzzz"}"#).unwrap();
        let residue = Residue::of(directory.path()).unwrap();
        let mut shim = std::process::Command::new("sh")
            .args(["-c", "echo; read line"])
            .arg(&pod)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The kernel shows the arguments of a process a little after it has been started.
        shim.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let noticed = [residue.files(), residue.processes()].concat();
        shim.kill().unwrap();
        shim.wait().unwrap();
        assert_eq!(noticed, [pod.display().to_string(), format!("/proc/{}", shim.id())]);
    }

    #[test]
    fn nothing_left_is_no_complaint() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("node/pods")).unwrap();
        fs::write(directory.path().join("node/identity.json"), r#"{"tag": "zzzz"}"#).unwrap();
        Residue::of(directory.path()).unwrap().must_go().unwrap();
    }
}
