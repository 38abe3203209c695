//! What libcontainer calls inside the container, when all is mounted and the program is to run: the terminal, and then the
//! same confinement that every other process gets.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use libcontainer::oci_spec::runtime::Spec;
use libcontainer::workload::{Executor, ExecutorError, ExecutorSetEnvsError, ExecutorValidationError};

use super::plan::Process;
use super::protocol::send_whole;
use super::{confinement, report, terminal};
use crate::sys::processes as sys;

/// Executes the plan's process.
#[derive(Clone)]
pub(super) struct Confined {
    pub(super) process: Rc<Process>,
    /// To the shim.
    pub(super) control: Rc<OwnedFd>,
    /// Closed by a successful start, written to by a failed one.
    pub(super) report: Rc<OwnedFd>,
}

impl Executor for Confined {
    fn validate(&self, _: &Spec) -> Result<(), ExecutorValidationError> {
        if !self.process.tty {
            return Ok(());
        }
        self.take_terminal().map_err(|error| {
            ExecutorValidationError::ArgValidationError(format!("cannot make a terminal: {error}"))
        })
    }

    /// The program gets its environment when it is executed.
    fn setup_envs(&self, _: HashMap<String, String>) -> Result<(), ExecutorSetEnvsError> {
        Ok(())
    }

    fn exec(&self, _: &Spec) -> Result<(), ExecutorError> {
        let (error, descriptor) = confinement::become_program(&self.process, &self.report);
        report::failure(descriptor, &error);
        // At once: nothing of libcontainer's is open any more.
        sys::exit(report::NOT_STARTED)
    }
}

impl Confined {
    fn take_terminal(&self) -> io::Result<()> {
        let made = terminal::make()?;
        send_whole(&self.control, &super::launcher::Report::Terminal, &[made.master.as_fd()])?;
        terminal::adopt(&made.slave, self.process.user.uid)
    }
}
