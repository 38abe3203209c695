//! A sandboxd of its own for each test.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_sandboxd");

pub(crate) struct Service {
    pub(crate) child: Child,
    pub(crate) port: u16,
    /// All three, if they are open.
    pub(crate) ports: Vec<u16>,
    pub(crate) home: TempDir,
}

impl Service {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// With more flags. The root is a directory of its own, with something beside it that nobody may reach.
    pub(crate) fn with(flags: &[&str]) -> Self {
        Self::on(vec![free_port()], flags)
    }

    /// With all three ports open.
    pub(crate) fn on_all_ports(flags: &[&str]) -> Self {
        // Held until all are known, so that none is given twice.
        let held = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports: Vec<u16> = held.iter().map(|one| one.local_addr().unwrap().port()).collect();
        drop(held);
        let [_, rest, grpc] = [0, 1, 2].map(|place: usize| ports[place].to_string());
        Self::on(ports, &[&["--rest-port", &rest, "--grpc-port", &grpc], flags].concat())
    }

    fn on(ports: Vec<u16>, flags: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("root")).unwrap();
        std::fs::write(home.path().join("secret"), "outside").unwrap();
        let port = ports[0];
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--listen-host", "127.0.0.1", "--rest-port", "0", "--grpc-port", "0"]);
        command.args(["--runtime-port", &port.to_string(), "--root-dir"]).arg(home.path().join("root"));
        command.args(flags).stdin(Stdio::null()).stderr(Stdio::piped());
        command.env("SANDBOX_ID", "demo").env("SANDBOX_API_KEY", "secret");
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        // It says so when it listens.
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("serving"), "{line}");
        Self { child, port, ports, home }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.home.path().join("root")
    }

    /// Resident memory, in KiB.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Asked to end, it takes what it started with it.
        if let (Ok(pid), Ok(None)) = (i32::try_from(self.child.id()), self.child.try_wait()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        let _ = self.child.wait();
    }
}

/// One that nobody listens on, as of now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Whether a process is there and not a zombie.
pub(crate) fn runs(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
