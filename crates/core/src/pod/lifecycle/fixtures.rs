//! Pods and what is known of them, for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::{Halt, Plan, Sight, plan};
use crate::conditions::whole_seconds;
use crate::pod::observed::{
    Attempt, Cause, Container, Ending, Exit, ExitReason, Hook, Image, Observed, Sandbox, SandboxState, State,
    Volumes,
};
use crate::pod::probe::Record;
use crate::pod::scheduler::Rejection;

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A Pod of a spec, seen at second 1000.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) pod: Pod,
    pub(crate) observed: Observed,
    pub(crate) rejection: Option<Rejection>,
    pub(crate) halt: Option<Halt>,
    pub(crate) now: Timestamp,
}

pub(crate) fn case(spec: Value) -> Case {
    let metadata = json!({"name": "p", "namespace": "n", "uid": "u", "generation": 1});
    let pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap();
    Case { pod, observed: Observed::default(), rejection: None, halt: None, now: at(1000) }
}

pub(crate) fn container(name: &str) -> Value {
    json!({"name": name, "image": format!("{name}:1")})
}

impl Case {
    pub(crate) fn sight(&self) -> Sight<'_> {
        let Self { pod, observed, rejection, halt, now } = self;
        Sight { pod, observed, rejection: rejection.as_ref(), halt: *halt, now: *now }
    }

    pub(crate) fn plan(&self) -> Plan {
        plan(self.sight())
    }

    pub(crate) fn now(mut self, second: i64) -> Self {
        self.now = at(second);
        self
    }

    /// With volumes and a sandbox.
    pub(crate) fn housed(mut self) -> Self {
        self.observed.volumes = Volumes::Ready;
        let addresses = vec!["10.0.0.9".to_owned()];
        self.observed.sandbox = Some(Sandbox { attempt: 0, state: SandboxState::Ready, addresses });
        self
    }

    pub(crate) fn sandbox(mut self, state: SandboxState) -> Self {
        self.observed.sandbox.as_mut().unwrap().state = state;
        self
    }

    pub(crate) fn edit(mut self, name: &str, edit: impl FnOnce(&mut Container)) -> Self {
        edit(self.observed.containers.entry(name.to_owned()).or_default());
        self
    }

    pub(crate) fn with_image(self, name: &str) -> Self {
        self.edit(name, |container| container.image = image())
    }

    pub(crate) fn running(self, name: &str, since: i64) -> Self {
        self.with_image(name)
            .edit(name, |container| container.current = Some(attempt(0, State::Running { since: at(since) })))
    }

    pub(crate) fn exited(self, name: &str, code: i32, finished: i64) -> Self {
        let exit = exit(code, finished);
        self.with_image(name)
            .edit(name, |container| container.current = Some(attempt(0, State::Exited(exit))))
    }

    pub(crate) fn attempt(self, name: &str, edit: impl FnOnce(&mut Attempt)) -> Self {
        self.edit(name, |container| edit(container.current.as_mut().unwrap()))
    }

    pub(crate) fn deleted(mut self, grace: i64) -> Self {
        self.pod.metadata.deletion_timestamp = Some(whole_seconds(self.now));
        self.pod.metadata.deletion_grace_period_seconds = Some(grace);
        self
    }

    /// The node goes down, and leaves containers this long.
    pub(crate) fn halted(mut self, since: i64, seconds: u64) -> Self {
        self.halt = Some(Halt { since: at(since), grace: Duration::from_secs(seconds) });
        self
    }

    pub(crate) fn ending(mut self, cause: Cause, since: i64) -> Self {
        self.observed.ending = Some(Ending { cause, since: at(since) });
        self
    }

    pub(crate) fn status(mut self, status: Value) -> Self {
        self.pod.status = Some(serde_json::from_value(status).unwrap());
        self
    }
}

pub(crate) fn image() -> Image {
    Image::Ready { id: "sha256:1".to_owned(), attempt: 0, pulled: None }
}

pub(crate) fn attempt(number: u32, state: State) -> Attempt {
    Attempt {
        number,
        sandbox: 0,
        id: format!("asb://{number}"),
        state,
        post_start: Hook::Waiting,
        stop: None,
        probes: BTreeMap::new(),
        probing: BTreeSet::new(),
        user: None,
    }
}

pub(crate) fn exit(code: i32, finished: i64) -> Exit {
    Exit {
        id: "asb://0".to_owned(),
        code,
        signal: None,
        reason: ExitReason::Ended,
        message: String::new(),
        started: Some(at(finished - 1)),
        finished: at(finished),
    }
}

pub(crate) fn verdict(verdict: crate::pod::probe::Verdict) -> Record {
    Record { verdict, ..Record::default() }
}
