//! A terminal for `asb`, and somebody who types into it and reads it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use asb_tests::{program, wait};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::process::{Child, Command};

use crate::stage::{PATIENCE, Stage, kubeconfig};

pub(crate) struct Terminal {
    keyboard: File,
    screen: Arc<Mutex<String>>,
    child: Child,
}

impl Terminal {
    /// `setsid` makes the terminal the program's own, as a login does.
    pub(crate) fn open(stage: &Stage, arguments: &[&str]) -> Result<Self> {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&near)?;
        unlockpt(&near)?;
        resize(&near, 100, 40)?;
        let name = std::ffi::OsString::from_vec(ptsname(&near, Vec::new())?.into_bytes());
        let far = OpenOptions::new().read(true).write(true).open(name)?;
        let child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(program()?)
            .args(stage.arguments(arguments))
            .env_remove("ASB_DATA_DIR")
            .env("KUBECONFIG", kubeconfig()?)
            .stdin(far.try_clone()?)
            .stdout(far.try_clone()?)
            .stderr(far)
            .kill_on_drop(true)
            .spawn()
            .context("start setsid")?;
        let keyboard = File::from(near);
        let screen = Arc::new(Mutex::new(String::new()));
        read(keyboard.try_clone()?, Arc::clone(&screen));
        Ok(Self { keyboard, screen, child })
    }

    pub(crate) fn enter(&mut self, text: &str) -> Result<()> {
        self.press(format!("{text}\r").as_bytes())
    }

    pub(crate) fn press(&mut self, keys: &[u8]) -> Result<()> {
        Ok(self.keyboard.write_all(keys)?)
    }

    pub(crate) fn resize(&self, width: u16, height: u16) -> Result<()> {
        resize(&self.keyboard, width, height)
    }

    /// Waits until something is on the screen.
    pub(crate) async fn shows(&self, text: &str) -> Result<()> {
        let shown = || async { self.screen().contains(text).then_some(()) };
        let seen = wait::until(PATIENCE, text, shown).await;
        seen.with_context(|| format!("on the screen: {:?}", self.screen()))
    }

    pub(crate) fn screen(&self) -> String {
        self.screen.lock().map(|screen| screen.clone()).unwrap_or_default()
    }

    pub(crate) async fn code(&mut self) -> Result<Option<i32>> {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        Ok(ended.with_context(|| format!("on the screen: {:?}", self.screen()))??.code())
    }
}

fn resize(terminal: impl std::os::fd::AsFd, width: u16, height: u16) -> Result<()> {
    let size = Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(terminal, size)?)
}

/// A terminal that nobody has open any more reads as an error.
fn read(mut terminal: File, screen: Arc<Mutex<String>>) {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = terminal.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
            screen.lock().expect("nobody panics with it").push_str(&text);
        }
    });
}
