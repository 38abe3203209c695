//! Stops all processes of a cgroup where they are, and lets them go on.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{Cgroup, Error, write};

/// Version 1 can stay in between for ever when processes fork at the wrong moment; to ask again helps. As often as runc.
const ATTEMPTS: u32 = 1000;
const PAUSE: Duration = Duration::from_millis(1);

impl Cgroup {
    /// Returns when every process has stopped. After an error none is left stopped.
    pub fn freeze(&self) -> Result<(), Error> {
        let frozen = match &self.v2 {
            Some(v2) => freeze_version_2(v2),
            None => freeze_version_1(self.controller("freezer")?),
        };
        if frozen.is_err() {
            self.thaw()?;
        }
        frozen
    }

    pub fn thaw(&self) -> Result<(), Error> {
        if let Some(v2) = self.v2.as_ref().filter(|v2| v2.exists()) {
            write(&v2.join("cgroup.freeze"), "0")?;
        }
        self.thaw_version_1()
    }

    /// A frozen process of version 1 does not even notice that it was killed.
    pub(super) fn thaw_version_1(&self) -> Result<(), Error> {
        let Ok(freezer) = self.controller("freezer") else { return Ok(()) };
        let state = freezer.join("freezer.state");
        if self.unified || !state.exists() {
            return Ok(());
        }
        write(&state, "THAWED")
    }
}

fn freeze_version_2(directory: &Path) -> Result<(), Error> {
    write(&directory.join("cgroup.freeze"), "1")?;
    until(directory, || {
        let events = directory.join("cgroup.events");
        let text = fs::read_to_string(&events).map_err(|source| Error::Read { path: events, source })?;
        Ok(text.lines().any(|line| line == "frozen 1"))
    })
}

fn freeze_version_1(directory: &Path) -> Result<(), Error> {
    let state = directory.join("freezer.state");
    let mut attempt = 0;
    until(directory, || {
        attempt += 1;
        // Those that are in between get a moment to leave the kernel.
        if attempt % 50 == 0 {
            write(&state, "THAWED")?;
        }
        write(&state, "FROZEN")?;
        let now = fs::read_to_string(&state).map_err(|source| Error::Read { path: state.clone(), source })?;
        Ok(now.trim() == "FROZEN")
    })
}

fn until(directory: &Path, mut frozen: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    for _ in 0..ATTEMPTS {
        if frozen()? {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    Err(Error::NotFrozen(directory.to_owned()))
}
