//! A data directory in which a daemon may be started in the background. Whatever runs there ends with this value.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Result, ensure};
use asb_tests::program;
use tempfile::TempDir;
use tokio::process::Command;

use crate::stage::{Said, said, with_program};

/// Who has no rights on this machine.
const NOBODY: u32 = 65534;

pub(crate) struct Home {
    pub(crate) directory: TempDir,
    /// Who types.
    user: Option<Nobody>,
}

/// Somebody without rights, who may not even go where the program lies: it is executed through a descriptor.
struct Nobody {
    program: File,
}

impl Home {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { directory: TempDir::new()?, user: None })
    }

    /// Of somebody who is not root, whoever runs the tests.
    pub(crate) fn of_nobody() -> Result<Self> {
        let mut home = Self::new()?;
        if is_root() {
            std::os::unix::fs::chown(home.directory.path(), Some(NOBODY), Some(NOBODY))?;
            home.user = Some(Nobody { program: File::open(program()?)? });
        }
        Ok(home)
    }

    pub(crate) fn command(&self, line: &str) -> Result<Command> {
        let mut command = match &self.user {
            None => with_program(&program()?, line)?,
            Some(nobody) => {
                let program = format!("/proc/self/fd/{}", nobody.program.as_raw_fd());
                let mut command = with_program(&PathBuf::from(program), line)?;
                command.uid(NOBODY).gid(NOBODY);
                command
            }
        };
        command.env("ASB_DATA_DIR", self.directory.path());
        Ok(command)
    }

    pub(crate) async fn asb(&self, line: &str) -> Result<Said> {
        said(self.command(line)?).await
    }

    /// What it answered; failing is a failure of the test.
    pub(crate) async fn answer(&self, line: &str) -> Result<String> {
        let said = self.asb(line).await?;
        ensure!(said.code == Some(0), "asb {line}: {said:?}");
        Ok(said.stdout)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let Ok(program) = program() else { return };
        let mut down = std::process::Command::new(program);
        down.args(["down", "--grace", "0s", "--data-dir"]).arg(self.directory.path());
        // What a test has stopped by itself is not there any more.
        let _ = down.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
