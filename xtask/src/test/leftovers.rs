//! What a cluster would leave on the machine, looked for without the help of the code that removes it.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// What to look for once a cluster is gone, noted while it is there.
pub(super) struct Traces {
    name: String,
    directory: PathBuf,
    server: SocketAddr,
}

impl Traces {
    pub(super) fn of(name: &str, kubeconfig: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(kubeconfig).with_context(|| format!("reading {}", kubeconfig.display()))?;
        let server = text.split("https://").nth(1).and_then(|rest| rest.split(['"', '\n', ' ', ',']).next());
        let server = server
            .context("the kubeconfig names no server")?
            .parse()
            .context("reading the server's address")?;
        let directory =
            kubeconfig.parent().context("a kubeconfig lies in its cluster's directory")?.to_owned();
        Ok(Self { name: name.to_owned(), directory, server })
    }

    /// Fails with everything that is still there.
    pub(super) fn must_be_gone(&self) -> Result<()> {
        let left =
            [self.files(), self.processes()?, self.mounts()?, self.links()?, self.cgroups(), self.listener()]
                .concat();
        ensure!(left.is_empty(), "cluster {} left behind: {}", self.name, left.join(", "));
        Ok(())
    }

    /// The directory itself or something in it, not a neighbour whose name begins alike.
    fn is_named_in(&self, text: &str) -> bool {
        let folder = self.directory.display().to_string();
        let ends = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-');
        text.match_indices(&folder).any(|(start, _)| ends(&text[start + folder.len()..]))
    }

    fn files(&self) -> Vec<String> {
        if self.directory.exists() { vec![self.directory.display().to_string()] } else { vec![] }
    }

    /// Processes that name the directory in their arguments, their environment or their working directory.
    fn processes(&self) -> Result<Vec<String>> {
        let mentions = |path: PathBuf| {
            fs::read(path).is_ok_and(|bytes| self.is_named_in(&String::from_utf8_lossy(&bytes)))
        };
        let processes =
            fs::read_dir("/proc").context("listing processes")?.flatten().map(|entry| entry.path());
        let ours = processes.filter(|process| {
            let within =
                fs::read_link(process.join("cwd")).is_ok_and(|path| path.starts_with(&self.directory));
            within || mentions(process.join("cmdline")) || mentions(process.join("environ"))
        });
        Ok(ours.map(|process| process.display().to_string()).collect())
    }

    fn mounts(&self) -> Result<Vec<String>> {
        let table = fs::read_to_string("/proc/self/mountinfo").context("listing mounts")?;
        Ok(table.lines().filter(|line| self.is_named_in(line)).map(str::to_owned).collect())
    }

    /// Addresses on the cluster's subnet; a link goes with its address.
    fn links(&self) -> Result<Vec<String>> {
        if self.server.ip().is_loopback() {
            return Ok(vec![]);
        }
        let address = self.server.ip().to_string();
        let subnet = address.rsplit_once('.').context("an IPv4 address has dots")?.0.to_owned() + ".";
        let output = Command::new("ip").args(["-oneline", "-4", "address"]).output().context("running ip")?;
        let table = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(table.lines().filter(|line| line.contains(&subnet)).map(str::to_owned).collect())
    }

    /// Groups with the cluster's name, at any depth of any hierarchy.
    fn cgroups(&self) -> Vec<String> {
        let mut found = Vec::new();
        search(Path::new("/sys/fs/cgroup"), &format!("asb-kube-{}", self.name), &mut found);
        found
    }

    /// Only on the loopback: packets to a subnet that is gone would leave the machine.
    fn listener(&self) -> Vec<String> {
        let answers = self.server.ip().is_loopback()
            && TcpStream::connect_timeout(&self.server, Duration::from_millis(200)).is_ok();
        if answers { vec![format!("a server at {}", self.server)] } else { vec![] }
    }
}

fn search(folder: &Path, name: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if entry.file_name().to_string_lossy() == name {
            found.push(entry.path().display().to_string());
        }
        search(&entry.path(), name, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(directory: &Path, server: &str) -> Traces {
        let kubeconfig = directory.join("admin.kubeconfig");
        fs::write(&kubeconfig, format!("clusters:\n- cluster:\n    server: https://{server}\n")).unwrap();
        Traces::of("gone", &kubeconfig).unwrap()
    }

    #[test]
    fn a_directory_a_process_and_a_server_are_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let traces = traces(directory.path(), &listener.local_addr().unwrap().to_string());
        let mut process = Command::new("sleep").arg("60").current_dir(directory.path()).spawn().unwrap();
        let complaint = traces.must_be_gone().unwrap_err().to_string();
        process.kill().unwrap();
        process.wait().unwrap();
        for left in
            [&directory.path().display().to_string(), &format!("/proc/{}", process.id()), "a server at"]
        {
            assert!(complaint.contains(left), "{left} not in: {complaint}");
        }
    }

    #[test]
    fn a_neighbour_whose_name_begins_alike_is_another_cluster() {
        let traces = Traces {
            name: "a-1".to_owned(),
            directory: "/var/tmp/a-1".into(),
            server: "127.0.0.1:1".parse().unwrap(),
        };
        assert!(traces.is_named_in("X=/var/tmp/a-1\0") && traces.is_named_in("/var/tmp/a-1/etcd.sock"));
        assert!(!traces.is_named_in("X=/var/tmp/a-12\0"));
    }

    #[test]
    fn nothing_left_is_no_complaint() {
        let directory = tempfile::tempdir().unwrap();
        let traces = traces(directory.path(), "127.0.0.1:1");
        drop(directory);
        traces.must_be_gone().unwrap();
    }
}
