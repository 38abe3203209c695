//! A server without a node: objects are served, nothing runs.

use super::logs::LogOptions;
use super::pods::{Connection, Container, Error, Log, Pod, PodStreams, Process, Wanted};
use crate::security::authentication::User;

/// Stands where a node will be.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPods;

fn refuse() -> Error {
    Error::NotFound("no node runs Pods on this server, so there is nothing to connect to".to_owned())
}

impl PodStreams for NoPods {
    async fn exec(&self, _: &Container, _: &[String], _: Wanted) -> Result<Process, Error> {
        Err(refuse())
    }

    async fn attach(&self, _: &Container, _: Wanted) -> Result<Process, Error> {
        Err(refuse())
    }

    async fn port_forward(&self, _: &Pod, _: u16, _: &User) -> Result<Box<dyn Connection>, Error> {
        Err(refuse())
    }

    async fn logs(&self, _: &Container, _: &LogOptions) -> Result<Log, Error> {
        Err(refuse())
    }
}
