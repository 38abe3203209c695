//! Runs a command to its end for somebody who waits, and kills it when that one goes.

use std::rc::Rc;

use super::launch::Launch;
use super::process::{Ended, Process};
use super::reader::{Next, Reader, Taking};
use super::{Keep, Processes};
use crate::failure::Failure;
use crate::wire::processes::{OnOverflow, Stream};

const CHUNK: usize = 64 * 1024;

/// All that it said.
pub(crate) struct Outcome {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// It said more than is kept.
    pub(crate) truncated: bool,
    pub(crate) timed_out: bool,
    pub(crate) ended: Ended,
}

/// A process that lives as long as this, and waits for whoever has it.
pub(crate) struct Waited {
    processes: Rc<Processes>,
    pub(crate) process: Rc<Process>,
}

impl Waited {
    pub(crate) fn start(processes: &Rc<Processes>, mut launch: Launch) -> Result<Self, Failure> {
        launch.on_overflow = OnOverflow::Wait;
        let process = processes.start(launch, Keep::WhileWaitedFor)?;
        Ok(Self { processes: processes.clone(), process })
    }
}

impl Drop for Waited {
    fn drop(&mut self) {
        self.processes.remove(&self.process);
    }
}

/// At most so many bytes are kept; the rest is read and dropped, so that the command comes to its end.
pub(crate) async fn run(processes: &Rc<Processes>, launch: Launch, most: usize) -> Result<Outcome, Failure> {
    let waited = Waited::start(processes, launch)?;
    let process = waited.process.clone();
    let mut reader = Reader::from(process.clone(), 0, Taking::Sent);
    let (mut stdout, mut stderr, mut truncated) = (Vec::new(), Vec::new(), false);
    loop {
        match reader.next(CHUNK).await {
            Next::Data { stream, bytes, .. } => {
                let room = most.saturating_sub(stdout.len() + stderr.len()).min(bytes.len());
                truncated |= room < bytes.len();
                let output = if stream == Stream::Stderr { &mut stderr } else { &mut stdout };
                output.extend_from_slice(&bytes[..room]);
            }
            Next::Lost { .. } => truncated = true,
            Next::End(_) => break,
        }
    }
    let ended = process.ended().unwrap_or(Ended::Code(-1));
    Ok(Outcome { stdout, stderr, truncated, timed_out: process.timed_out(), ended })
}
