//! A miniature API server's memory: objects, one counter of versions, and for each kind the changes that watches follow.
//! It knows the rules that matter to the operator (versions, generations, status apart from the rest, finalizers, grace);
//! what happens because of a change is left to others.

use std::collections::BTreeMap;
use std::sync::Arc;

use asb_core::write::Kind;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::object::{is_deleting, merge, uid, version};

pub(crate) const NAMESPACE: &str = "team";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// How long Pods may take to end, in seconds.
const GRACE: i64 = 30;

pub(crate) type Id = (Kind, String);

/// One line of a watch.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) version: u64,
    pub(crate) at: Instant,
    pub(crate) type_: &'static str,
    pub(crate) object: Arc<Value>,
}

/// An object before and after.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) id: Id,
    pub(crate) before: Option<Arc<Value>>,
    pub(crate) after: Option<Arc<Value>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
}

impl Refusal {
    pub(crate) const MISSING: Self = Self { code: 404, reason: "NotFound" };
    pub(crate) const EXISTS: Self = Self { code: 409, reason: "AlreadyExists" };
    pub(crate) const CONFLICT: Self = Self { code: 409, reason: "Conflict" };
}

/// What must be so, and how to go about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletion {
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<u64>,
    pub(crate) is_foreground: bool,
    pub(crate) is_forced: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    version: u64,
    objects: BTreeMap<Id, Arc<Value>>,
    log: BTreeMap<Kind, Vec<Entry>>,
    made: u64,
}

impl Store {
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// A version for something that is kept elsewhere.
    pub(crate) fn skip(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    pub(crate) fn get(&self, kind: Kind, name: &str) -> Option<&Arc<Value>> {
        self.objects.get(&(kind, name.to_owned()))
    }

    pub(crate) fn list(&self, kind: Kind) -> impl Iterator<Item = &Arc<Value>> {
        let all = self.objects.range((kind, String::new())..);
        all.take_while(move |(id, _)| id.0 == kind).map(|(_, object)| object)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&Id, &Arc<Value>)> {
        self.objects.iter()
    }

    /// The first change of a kind after a version.
    pub(crate) fn after(&self, kind: Kind, version: u64) -> Option<&Entry> {
        let log = self.log.get(&kind)?;
        log.get(log.partition_point(|entry| entry.version <= version))
    }

    /// The version of the last change of a kind.
    pub(crate) fn last(&self, kind: Kind) -> u64 {
        self.log.get(&kind).and_then(|log| log.last()).map_or(0, |entry| entry.version)
    }

    pub(crate) fn create(
        &mut self,
        kind: Kind,
        mut object: Value,
        now: Timestamp,
    ) -> Result<Change, Refusal> {
        let id = (kind, crate::object::name(&object).to_owned());
        if self.objects.contains_key(&id) {
            return Err(Refusal::EXISTS);
        }
        self.made += 1;
        object["metadata"]["uid"] = json!(format!("uid-{}", self.made));
        object["metadata"]["namespace"] = json!(NAMESPACE);
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["creationTimestamp"] = json!(format!("{:.0}", whole(now)));
        if kind.is_ours() {
            object.as_object_mut().expect("an object").remove("status");
        }
        default(kind, &mut object);
        Ok(self.commit(id, Some(object)))
    }

    pub(crate) fn patch(
        &mut self,
        kind: Kind,
        name: &str,
        is_status: bool,
        patch: &Value,
    ) -> Result<Change, Refusal> {
        let before = self.get(kind, name).ok_or(Refusal::MISSING)?;
        let asked = |field: &str| patch["metadata"][field].as_str();
        if asked("uid").is_some_and(|asked| asked != uid(before))
            || asked("resourceVersion").is_some_and(|asked| asked != before["metadata"]["resourceVersion"])
        {
            return Err(Refusal::CONFLICT);
        }
        let mut after = Value::clone(before);
        if is_status {
            merge(&mut after, &json!({"status": patch["status"]}));
        } else {
            merge(&mut after, patch);
            if kind.is_ours() {
                after["status"] = before["status"].clone();
            }
            for kept in ["uid", "resourceVersion", "generation"] {
                after["metadata"][kept] = before["metadata"][kept].clone();
            }
            if after["spec"] != before["spec"] {
                after["metadata"]["generation"] =
                    json!(before["metadata"]["generation"].as_i64().unwrap_or(1) + 1);
            }
        }
        Ok(self.replace((kind, name.to_owned()), after))
    }

    /// Puts an object in the place of what is there. One that is going and that nothing holds any more is gone.
    pub(crate) fn replace(&mut self, id: Id, mut after: Value) -> Change {
        let before = self.objects.get(&id).cloned();
        if after["status"].is_null() {
            after.as_object_mut().expect("an object").remove("status");
        }
        if before.as_deref() == Some(&after) {
            return Change { id, after: before.clone(), before };
        }
        let is_held = after["metadata"]["finalizers"].as_array().is_some_and(|held| !held.is_empty());
        let is_over = is_deleting(&after) && !is_held && id.0 != Kind::Pod;
        self.commit(id, (!is_over).then_some(after))
    }

    pub(crate) fn delete(
        &mut self,
        kind: Kind,
        name: &str,
        how: &Deletion,
        now: Timestamp,
    ) -> Result<Change, Refusal> {
        let before = self.get(kind, name).ok_or(Refusal::MISSING)?.clone();
        if how.uid.as_deref().is_some_and(|asked| asked != uid(&before))
            || how.version.is_some_and(|asked| asked != version(&before))
        {
            return Err(Refusal::CONFLICT);
        }
        let id = (kind, name.to_owned());
        let grace = if kind == Kind::Pod && !how.is_forced && has_kubelet(&before) { GRACE } else { 0 };
        let mut after = Value::clone(&before);
        if how.is_foreground && !is_deleting(&before) {
            let finalizers = &mut after["metadata"]["finalizers"];
            let mut list = finalizers.as_array().cloned().unwrap_or_default();
            list.push(json!(FOREGROUND));
            *finalizers = json!(list);
        }
        let is_held = after["metadata"]["finalizers"].as_array().is_some_and(|held| !held.is_empty());
        if grace == 0 && !is_held {
            return Ok(self.commit(id, None));
        }
        if !is_deleting(&before) {
            let due = now.saturating_add(jiff::SignedDuration::from_secs(grace)).expect("soon");
            after["metadata"]["deletionTimestamp"] = json!(format!("{:.0}", whole(due)));
            after["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        }
        if *before == after {
            return Ok(Change { id, before: Some(before.clone()), after: Some(before) });
        }
        Ok(self.commit(id, Some(after)))
    }

    /// The one place where anything changes.
    pub(crate) fn commit(&mut self, id: Id, after: Option<Value>) -> Change {
        self.version += 1;
        let before = self.objects.get(&id).cloned();
        let seal = |mut object: Value| {
            object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            Arc::new(object)
        };
        let (type_, shown) = match (&before, after.clone()) {
            (None, Some(after)) => ("ADDED", seal(after)),
            (Some(_), Some(after)) => ("MODIFIED", seal(after)),
            (Some(before), None) => ("DELETED", seal(Value::clone(before))),
            (None, None) => panic!("nothing became nothing"),
        };
        let entry = Entry { version: self.version, at: Instant::now(), type_, object: Arc::clone(&shown) };
        self.log.entry(id.0).or_default().push(entry);
        let after = after.map(|_| shown);
        match &after {
            Some(after) => drop(self.objects.insert(id.clone(), Arc::clone(after))),
            None => drop(self.objects.remove(&id)),
        }
        Change { id, before, after }
    }
}

/// Whether somebody has to say that the Pod has ended.
fn has_kubelet(pod: &Value) -> bool {
    pod["spec"]["nodeName"].is_string() && pod["status"]["phase"] == "Running"
}

/// Kubernetes' times have whole seconds.
fn whole(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).expect("it was one")
}

/// What the definitions say where users say nothing.
fn default(kind: Kind, object: &mut Value) {
    let defaults = match kind {
        Kind::Sandbox => json!({"operatingMode": "Running", "shutdownPolicy": "Retain"}),
        Kind::SandboxWarmPool => json!({"replicas": 1}),
        Kind::SandboxTemplate => json!({"networkPolicyManagement": "Managed"}),
        _ => return,
    };
    let mut spec = defaults;
    merge(&mut spec, &object["spec"]);
    object["spec"] = spec;
}
