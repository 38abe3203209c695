//! A small cluster for tests: one Sandbox and what is around it, as JSON. It can be observed, and plans can be carried
//! out in it as an API server would.

use std::collections::BTreeMap;
use std::sync::Arc;

use asb_types::labels::SANDBOX_NAME_HASH;
use asb_types::{hash, names};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Memory, Node, Observed, Plan, RuntimeSource, Settings, Status, Trouble, plan, status};
use crate::patch::merge;
use crate::views::{self, PodView, View};
use crate::write::{Deleting, Kind, Lock, Part, Write};

pub(crate) const NOON: Timestamp = Timestamp::constant(1_893_499_200, 0);
pub(crate) const UID: &str = "sandbox-uid";

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub sandbox: Value,
    pub pods: Vec<Value>,
    pub service: Option<Value>,
    pub volumes: BTreeMap<String, Value>,
    pub twin: Option<String>,
    pub nodes: BTreeMap<String, Node>,
    pub memory: Memory,
    pub trace: Option<&'static str>,
    pub write_behind: SignedDuration,
    pub runtime: Option<Arc<RuntimeSource>>,
    writes: u64,
}

pub(crate) fn seconds_after(moment: Timestamp, seconds: i64) -> Timestamp {
    moment + SignedDuration::from_secs(seconds)
}

/// A Sandbox of that name in the namespace `team`, an hour old, with one container and nothing around it.
pub(crate) fn sandbox(name: &str) -> World {
    World {
        sandbox: json!({
            "apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox",
            "metadata": {"name": name, "namespace": "team", "uid": UID, "resourceVersion": "1", "generation": 1,
                "creationTimestamp": "2030-01-01T11:00:00Z"},
            "spec": {"podTemplate": {"spec": {"containers": [{"name": "main", "image": "python"}]}}},
        }),
        pods: Vec::new(),
        service: None,
        volumes: BTreeMap::new(),
        twin: None,
        nodes: BTreeMap::new(),
        memory: Memory::default(),
        trace: None,
        write_behind: SignedDuration::ZERO,
        runtime: None,
        writes: 100,
    }
}

impl World {
    #[must_use]
    pub(crate) fn with(mut self, change: Value) -> Self {
        merge(&mut self.sandbox, &change);
        self
    }

    #[must_use]
    pub(crate) fn with_spec(self, spec: Value) -> Self {
        self.with(json!({"spec": spec}))
    }

    #[must_use]
    pub(crate) fn suspended(self) -> Self {
        self.with_spec(json!({"operatingMode": "Suspended"}))
    }

    #[must_use]
    pub(crate) fn with_service(self, wanted: bool) -> Self {
        self.with_spec(json!({"service": wanted}))
    }

    #[must_use]
    pub(crate) fn expiring_at(self, end: Timestamp, policy: &str) -> Self {
        self.with_spec(json!({"shutdownTime": end.to_string(), "shutdownPolicy": policy}))
    }

    /// What `podTemplate.metadata` says.
    #[must_use]
    pub(crate) fn with_template(self, metadata: Value) -> Self {
        self.with_spec(json!({"podTemplate": {"metadata": metadata}}))
    }

    #[must_use]
    pub(crate) fn with_labels(self, labels: Value) -> Self {
        self.with(json!({"metadata": {"labels": labels}}))
    }

    #[must_use]
    pub(crate) fn with_pod_name(self, name: &str) -> Self {
        self.with(json!({"metadata": {"annotations": {"agents.x-k8s.io/pod-name": name}}}))
    }

    #[must_use]
    pub(crate) fn owned_by(self, kind: Kind, name: &str) -> Self {
        self.with(json!({"metadata": {"ownerReferences": [{
            "apiVersion": kind.api_version(), "kind": kind.name(), "name": name, "uid": format!("{name}-uid"),
            "controller": true, "blockOwnerDeletion": true,
        }]}}))
    }

    /// A volumeClaimTemplate, and not yet its claim.
    #[must_use]
    pub(crate) fn with_volume_template(mut self, name: &str) -> Self {
        let template = json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"]}});
        let templates = &mut self.sandbox["spec"]["volumeClaimTemplates"];
        match templates.as_array_mut() {
            Some(templates) => templates.push(template),
            None => *templates = json!([template]),
        }
        self
    }

    #[must_use]
    pub(crate) fn having(mut self, object: Object) -> Self {
        let name = object.0["metadata"]["name"].as_str().unwrap().to_owned();
        match object.0["kind"].as_str() {
            Some("Pod") => self.pods.push(object.0),
            Some("Service") => self.service = Some(object.0),
            Some("PersistentVolumeClaim") => _ = self.volumes.insert(name, object.0),
            kind => panic!("no room for {kind:?}"),
        }
        self
    }

    /// With a Pod that is Ready, and the annotation that names it.
    #[must_use]
    pub(crate) fn with_ready_pod(self) -> Self {
        let name = self.name().to_owned();
        self.having(pod(&name).owned().ready()).with_pod_name(&name)
    }

    #[must_use]
    pub(crate) fn on_node(mut self, name: &str, node: Node) -> Self {
        self.nodes.insert(name.to_owned(), node);
        self
    }

    #[must_use]
    pub(crate) fn with_older_twin(mut self, name: &str) -> Self {
        self.twin = Some(name.to_owned());
        self
    }

    pub(crate) fn name(&self) -> &str {
        self.sandbox["metadata"]["name"].as_str().unwrap()
    }

    pub(crate) fn observed(&self) -> Observed {
        let sandbox = view(&self.sandbox);
        let pods: Vec<Arc<PodView>> = self.pods.iter().map(view).collect();
        let of_name = |name| pods.iter().find(|pod| pod.metadata.name() == name).cloned();
        let named_pods = Observed::pod_names(&sandbox).filter_map(of_name).collect();
        Observed {
            named_pods,
            pods: pods.iter().filter(|pod| pod.metadata.is_owned_by(&UID.into())).cloned().collect(),
            service: self.service.as_ref().map(view),
            volumes: self.volumes.iter().map(|(name, volume)| (name.clone(), view(volume))).collect(),
            older_twin: self.twin.clone(),
            nodes: self.nodes.clone(),
            memory: self.memory.clone(),
            trace: self.trace.map(Into::into),
            settings: Settings {
                cluster_domain: "cluster.local".into(),
                write_behind: self.write_behind,
                runtime: self.runtime.clone(),
            },
            sandbox,
        }
    }

    pub(crate) fn plan(&self) -> Plan {
        plan(&self.observed(), NOON)
    }

    /// The status that follows if nothing is done and nothing fails but what the plan refuses.
    pub(crate) fn status(&self) -> Status {
        self.status_after(&[])
    }

    pub(crate) fn status_after(&self, failures: &[Trouble]) -> Status {
        let mut troubles = self.plan().troubles();
        troubles.extend_from_slice(failures);
        status(&self.observed(), &troubles, NOON)
    }

    /// Carries out a plan and writes the status, as the operator does.
    pub(crate) fn settle(&mut self) -> Plan {
        let plan = self.plan();
        plan.writes().for_each(|write| self.apply(write));
        self.report(&status(&self.observed(), &plan.troubles(), NOON));
        plan
    }

    pub(crate) fn report(&mut self, status: &Status) {
        let sandbox = self.observed().sandbox;
        if let Some(write) = status.write(&sandbox) {
            self.apply(&write);
        }
    }

    pub(crate) fn apply(&mut self, write: &Write) {
        self.writes += 1;
        let version = self.writes.to_string();
        match write {
            Write::Create { target, object } => {
                let mut object = object.clone();
                let new = json!({"metadata": {"uid": format!("uid-{version}"), "resourceVersion": version}});
                merge(&mut object, &new);
                assert!(self.find(target.kind, &target.key.name).is_none(), "{target:?} is there already");
                *self = self.clone().having(Object(object));
            }
            Write::Patch { target, lock, part, body } => {
                let object = self.find(target.kind, &target.key.name).expect("a patch needs an object");
                check(object, lock);
                assert_eq!(*part == Part::Status, body.get("status").is_some());
                merge(object, body);
                object["metadata"]["resourceVersion"] = version.into();
            }
            Write::Delete { target, uid, version, how } => {
                let object = self.find(target.kind, &target.key.name).expect("only what is there is deleted");
                let uid = uid.clone();
                check(object, &version.map_or(Lock::Uid(uid.clone()), |version| Lock::Version(uid, version)));
                self.delete(target.kind, &target.key.name, *how);
            }
        }
    }

    fn find(&mut self, kind: Kind, name: &str) -> Option<&mut Value> {
        match kind {
            Kind::Sandbox => Some(&mut self.sandbox),
            Kind::Pod => self.pods.iter_mut().find(|pod| pod["metadata"]["name"] == name),
            Kind::Service => self.service.as_mut(),
            Kind::PersistentVolumeClaim => self.volumes.get_mut(name),
            _ => None,
        }
    }

    fn delete(&mut self, kind: Kind, name: &str, how: Deleting) {
        if kind == Kind::Service {
            self.service = None;
        } else if kind == Kind::Pod && how == Deleting::Force {
            self.pods.retain(|pod| pod["metadata"]["name"] != name);
        } else {
            let due = seconds_after(NOON, 30).to_string();
            let mark = json!({"metadata": {"deletionTimestamp": due, "deletionGracePeriodSeconds": 30}});
            merge(self.find(kind, name).expect("found by the caller"), &mark);
        }
    }
}

fn check(object: &Value, lock: &Lock) {
    let metadata = &object["metadata"];
    let (Lock::Uid(uid) | Lock::Version(uid, _)) = lock;
    assert_eq!(metadata["uid"], uid.as_str());
    if let Lock::Version(_, version) = lock {
        assert_eq!(metadata["resourceVersion"], version.to_string());
    }
}

fn view<V: View>(object: &Value) -> Arc<V> {
    Arc::new(views::read(object).unwrap().unwrap())
}

/// A Pod, Service or PersistentVolumeClaim that nobody owns, until told otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Object(pub Value);

fn object(kind: Kind, name: &str) -> Object {
    Object(json!({
        "apiVersion": kind.api_version(), "kind": kind.name(),
        "metadata": {"name": name, "namespace": "team", "uid": format!("{}-{name}-uid", kind.plural()),
            "resourceVersion": "7"},
    }))
}

pub(crate) fn pod(name: &str) -> Object {
    object(Kind::Pod, name)
}

pub(crate) fn service(name: &str) -> Object {
    object(Kind::Service, name).with(json!({"spec": {"clusterIP": "None"}}))
}

pub(crate) fn volume(template: &str, sandbox: &str) -> Object {
    object(Kind::PersistentVolumeClaim, &names::volume_claim(template, sandbox))
}

impl Object {
    #[must_use]
    pub(crate) fn with(mut self, change: Value) -> Self {
        merge(&mut self.0, &change);
        self
    }

    #[must_use]
    pub(crate) fn with_labels(self, labels: Value) -> Self {
        self.with(json!({"metadata": {"labels": labels}}))
    }

    #[must_use]
    pub(crate) fn with_annotations(self, annotations: Value) -> Self {
        self.with(json!({"metadata": {"annotations": annotations}}))
    }

    /// Bears the label of the Sandbox of that name.
    #[must_use]
    pub(crate) fn tracked(self, sandbox: &str) -> Self {
        self.with_labels(json!({SANDBOX_NAME_HASH: hash::fnv1a_hex(sandbox)}))
    }

    #[must_use]
    pub(crate) fn adoptable(self) -> Self {
        self.with_labels(json!({"agents.x-k8s.io/adoptable": "true"}))
    }

    /// Of the Sandbox `demo`, and labelled as such.
    #[must_use]
    pub(crate) fn owned(self) -> Self {
        self.owned_through(Kind::Sandbox.api_version().as_str()).tracked("demo")
    }

    #[must_use]
    pub(crate) fn owned_through(self, api_version: &str) -> Self {
        self.with(json!({"metadata": {"ownerReferences": [
            {"apiVersion": api_version, "kind": "Sandbox", "name": "demo", "uid": UID, "controller": true},
        ]}}))
    }

    #[must_use]
    pub(crate) fn foreign(self) -> Self {
        self.with(json!({"metadata": {"ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web-uid", "controller": true},
        ]}}))
    }

    #[must_use]
    pub(crate) fn in_phase(self, phase: &str) -> Self {
        self.with(json!({"status": {"phase": phase}}))
    }

    #[must_use]
    pub(crate) fn ready(self) -> Self {
        self.in_phase("Running").with(json!({
            "spec": {"nodeName": "node-1"},
            "status": {"podIPs": [{"ip": "10.0.0.7"}, {"ip": "fd00::7"}], "conditions": [
                {"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"},
            ]},
        }))
    }

    /// Was asked to go with that many seconds of grace, which are over at that time.
    #[must_use]
    pub(crate) fn terminating(self, due: Timestamp, grace: i64) -> Self {
        self.with(json!({"metadata": {
            "deletionTimestamp": due.to_string(), "deletionGracePeriodSeconds": grace,
        }}))
    }
}
