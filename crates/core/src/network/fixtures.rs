//! Pods and policies for tests.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::member::{Member, NamedPort, Protocol};
use super::policy::Policy;
use super::ruleset::{Compiled, Settings, Snapshot, compile};
use super::selector::Labels;
use super::services::Frontend;
use crate::object::Key;

pub(super) const NODE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);

pub(super) fn address(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 1, 0, last)
}

pub(super) fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub(super) fn member(namespace: &str, name: &str, last: u8, pairs: &[(&str, &str)]) -> Member {
    Member {
        key: Key::new(namespace, name),
        uid: format!("uid-of-{namespace}-{name}").as_str().into(),
        address: address(last),
        labels: labels(pairs),
        ports: Vec::new(),
        has_token: false,
    }
}

impl Member {
    pub(super) fn with_port(mut self, name: &str, protocol: Protocol, number: u16) -> Self {
        self.ports.push(NamedPort { name: name.to_owned(), protocol, number });
        self
    }
}

pub(super) fn policy(namespace: &str, name: &str, spec: Value) -> Policy {
    let policy = json!({"metadata": {"namespace": namespace, "name": name}, "spec": spec});
    Policy::read(&serde_json::from_value(policy).unwrap())
}

/// A machine with some Pods.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) settings: Settings,
    pub(super) members: Vec<Member>,
    pub(super) namespaces: BTreeMap<String, Labels>,
    pub(super) policies: Vec<Policy>,
    pub(super) frontends: Vec<Frontend>,
}

impl Machine {
    pub(super) fn new(members: impl IntoIterator<Item = Member>) -> Self {
        Self {
            settings: Settings::new("10.1.0.0/24".parse().unwrap(), NODE),
            members: members.into_iter().collect(),
            namespaces: BTreeMap::new(),
            policies: Vec::new(),
            frontends: Vec::new(),
        }
    }

    pub(super) fn with_policy(mut self, namespace: &str, spec: Value) -> Self {
        let name = format!("policy-{}", self.policies.len());
        self.policies.push(policy(namespace, &name, spec));
        self
    }

    pub(super) fn snapshot(&self) -> Snapshot<'_> {
        Snapshot {
            settings: &self.settings,
            members: &self.members,
            namespaces: &self.namespaces,
            policies: &self.policies,
            frontends: &self.frontends,
        }
    }

    pub(super) fn compile(&self) -> Compiled {
        compile(self.snapshot())
    }

    pub(super) fn at(&self, address: Ipv4Addr) -> Option<&Member> {
        self.members.iter().find(|member| member.address == address)
    }
}
