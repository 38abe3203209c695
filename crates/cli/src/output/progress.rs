//! What a command waits for, while it waits: one line on standard error that is written over and wiped out at the end.
//! Without a terminal only what stands in the way is said, once each.

use std::io::{IsTerminal, Write, stderr};

use asb_client::{Obstacle, Outlook};

use super::tone::{Tone, on_error, painted};

/// Carriage return, and wipe the line.
const WIPE: &str = "\r\x1b[2K";

/// One line on a terminal, wiped with this value. Without a terminal there is none.
pub(crate) struct Line {
    live: bool,
    shown: bool,
}

impl Default for Line {
    fn default() -> Self {
        Self { live: stderr().is_terminal(), shown: false }
    }
}

impl Line {
    pub(crate) fn show(&mut self, text: &str) {
        if self.live {
            self.shown = true;
            write(&format!("{WIPE}{}", painted(text, Tone::Quiet, on_error())));
        }
    }

    pub(crate) fn wipe(&mut self) {
        if std::mem::take(&mut self.shown) {
            write(WIPE);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// The line about one Sandbox. It is wiped with this value.
pub(crate) struct Progress {
    name: String,
    line: Line,
    said: Vec<Obstacle>,
}

impl Progress {
    pub(crate) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), line: Line::default(), said: Vec::new() }
    }

    pub(crate) fn tell(&mut self, outlook: &Outlook) {
        let Outlook::Underway { step, obstacle } = outlook else { return self.line.wipe() };
        if let Some(obstacle) = obstacle.as_ref().filter(|obstacle| !self.said.contains(obstacle)) {
            self.line.wipe();
            let line = format!("{}: waiting: {obstacle}", self.name);
            write(&format!("{}\n", painted(&line, Tone::Uncertain, on_error())));
            self.said.push(obstacle.clone());
        }
        self.line.show(&format!("{}: {step} …", self.name));
    }
}

/// Nothing is left to do about a closed standard error.
fn write(text: &str) {
    let _ = stderr().write_all(text.as_bytes()).and_then(|()| stderr().flush());
}
