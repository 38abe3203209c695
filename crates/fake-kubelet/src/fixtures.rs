//! Pods, places and times for the tests of this module.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodCondition, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::plan::{Memory, Place, Plan, Scheduling, Sight, plan};
use super::script::Script;

/// 2026-01-01T12:00:00Z
pub(super) const NOON: Timestamp = Timestamp::constant(1_767_268_800, 0);

pub(super) fn after(milliseconds: u64) -> Timestamp {
    NOON + Duration::from_millis(milliseconds)
}

pub(super) fn place() -> Place {
    Place {
        node: "fake-1".to_owned(),
        host: [192, 0, 2, 1].into(),
        labels: BTreeMap::from([("zone".to_owned(), "a".to_owned())]),
        scheduling: Scheduling::Own("default-scheduler".to_owned()),
    }
}

/// A Pod as an API server would show it, built up in sentences.
#[derive(Clone)]
pub(super) struct Fixture(Pod);

pub(super) fn pod(name: &str) -> Fixture {
    let container =
        Container { name: "main".to_owned(), image: Some("demo:1".to_owned()), ..Container::default() };
    let mut pod = Pod::default();
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.uid = Some(format!("uid-of-{name}"));
    pod.spec = Some(PodSpec { containers: vec![container], ..PodSpec::default() });
    Fixture(pod)
}

impl Fixture {
    pub(super) fn label(mut self, key: &str, value: &str) -> Self {
        self.labels_mut().insert(key.to_owned(), value.to_owned());
        self
    }

    pub(super) fn script(mut self, key: &str, value: &str) -> Self {
        self.annotations_mut().insert(format!("fake-kubelet.test/{key}"), value.to_owned());
        self
    }

    pub(super) fn spec(mut self, change: impl FnOnce(&mut PodSpec)) -> Self {
        change(self.0.spec.get_or_insert_default());
        self
    }

    pub(super) fn version(mut self, version: u64) -> Self {
        self.metadata.resource_version = Some(version.to_string());
        self
    }

    pub(super) fn bound(self) -> Self {
        self.bound_to("fake-1")
    }

    pub(super) fn bound_to(self, node: &str) -> Self {
        self.spec(|spec| spec.node_name = Some(node.to_owned()))
    }

    /// In deletion since noon.
    pub(super) fn deleted(mut self, grace: i64) -> Self {
        self.metadata.deletion_timestamp = Some(Time(NOON));
        self.metadata.deletion_grace_period_seconds = Some(grace);
        self
    }

    pub(super) fn finalizer(mut self, name: &str) -> Self {
        self.finalizers_mut().push(name.to_owned());
        self
    }

    /// As the API server merges it.
    pub(super) fn with(mut self, status: PodStatus) -> Self {
        let kept = self.0.status.take().and_then(|status| status.conditions).unwrap_or_default();
        let fresh = status.conditions.clone().unwrap_or_default();
        let untouched = kept.into_iter().filter(|old| fresh.iter().all(|new| new.type_ != old.type_));
        let conditions = untouched.chain(fresh.iter().cloned()).collect();
        self.0.status = Some(PodStatus { conditions: Some(conditions), ..status });
        self
    }

    pub(super) fn condition(mut self, kind: &str, status: &str) -> Self {
        let condition =
            PodCondition { type_: kind.to_owned(), status: status.to_owned(), ..PodCondition::default() };
        self.0.status.get_or_insert_default().conditions.get_or_insert_default().push(condition);
        self
    }

    /// The plan for a Pod first seen at noon.
    pub(super) fn plan(&self, script: &Script, now: Timestamp) -> Plan {
        let addresses = vec![[10, 244, 0, 1].into()];
        let memory = Memory { addresses, ..Memory::default() }.noting(self, NOON);
        plan(Sight { pod: self, script, place: &place(), memory: &memory, now })
    }
}

impl Deref for Fixture {
    type Target = Pod;

    fn deref(&self) -> &Pod {
        &self.0
    }
}

impl DerefMut for Fixture {
    fn deref_mut(&mut self) -> &mut Pod {
        &mut self.0
    }
}
