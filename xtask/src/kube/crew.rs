//! Keeps a cluster's components running. They die with this process; one that dies alone is noted and started again,
//! so a test may kill any of them.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::component::Component;

const LOOK: Duration = Duration::from_millis(50);
const REST: Duration = Duration::from_secs(1);

pub(crate) struct Crew {
    directory: PathBuf,
    members: Vec<Member>,
}

struct Member {
    component: Component,
    state: State,
}

enum State {
    Running(Child),
    Resting { until: Instant },
}

impl Crew {
    pub(crate) fn new(directory: PathBuf) -> Result<Self> {
        fs::create_dir_all(directory.join("logs")).context("create the logs' directory")?;
        Ok(Self { directory, members: Vec::new() })
    }

    pub(crate) fn start(&mut self, component: Component) -> Result<()> {
        let child = self.spawn(&component)?;
        self.members.push(Member { component, state: State::Running(child) });
        Ok(())
    }

    /// Looks after the crew until `condition` holds.
    pub(crate) fn until(&mut self, what: &str, condition: impl Fn() -> bool) -> Result<()> {
        let deadline = Instant::now() + Duration::from_mins(2);
        while !condition() {
            if Instant::now() > deadline {
                bail!("waited two minutes for {what}");
            }
            self.look_after()?;
            thread::sleep(LOOK);
        }
        Ok(())
    }

    pub(crate) fn forever(&mut self) -> Result<()> {
        loop {
            self.look_after()?;
            thread::sleep(LOOK);
        }
    }

    fn look_after(&mut self) -> Result<()> {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            match &mut member.state {
                State::Running(child) => {
                    if let Some(status) = child.try_wait()? {
                        member.state = State::Resting { until: Instant::now() + REST };
                        self.note_exit(index, status)?;
                    }
                }
                State::Resting { until } if Instant::now() >= *until => {
                    let child = self.spawn(&self.members[index].component)?;
                    self.members[index].state = State::Running(child);
                }
                State::Resting { .. } => {}
            }
        }
        Ok(())
    }

    /// The kernel kills the child when this thread ends, in whatever way it ends.
    fn spawn(&self, component: &Component) -> Result<Child> {
        let log = self.log(component.name)?;
        Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(&component.program)
            .args(&component.arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("start {} with setpriv (package util-linux)", component.name))
    }

    fn log(&self, name: &str) -> Result<File> {
        let path = self.directory.join(format!("logs/{name}.log"));
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .with_context(|| format!("open {}", path.display()))
    }

    /// `kube up` takes the first line in this file for a failed start.
    fn note_exit(&self, index: usize, status: ExitStatus) -> Result<()> {
        let mut exits = OpenOptions::new().create(true).append(true).open(self.directory.join("exits"))?;
        writeln!(exits, "{}: {status}", self.members[index].component.name)?;
        Ok(())
    }
}
