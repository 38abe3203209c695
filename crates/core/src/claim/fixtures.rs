//! A claim and all that a test needs around it, as objects; and the doing of plans, as an operator would do it.

use std::collections::BTreeMap;

use asb_types::{annotations, labels};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Answer, Launched, Observed, Plan, Referenced, Settings, Sighting, Source, Standing, Step, Told};
use crate::allocation::Cold;
use crate::patch::merge;
use crate::views::{ClaimView, NetworkPolicyView, PoolView, SandboxView, TemplateView, View, read};
use crate::write::{Kind, Lock, Part, Write};

pub(super) const NOON: Timestamp = Timestamp::UNIX_EPOCH;

pub(super) fn after(seconds: i64) -> Timestamp {
    NOON + SignedDuration::from_secs(seconds)
}

#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) claim: Option<Value>,
    pub(super) sandboxes: BTreeMap<String, Value>,
    pub(super) pool: Option<Value>,
    pub(super) template: Option<Value>,
    pub(super) policy: Option<Value>,
    pub(super) broken: Option<(&'static str, &'static str)>,
    pub(super) source: Source,
    pub(super) launched: Option<Launched>,
    pub(super) trace: Option<&'static str>,
    pub(super) settings: Settings,
    /// What the book answers.
    pub(super) answer: Reply,
    pub(super) writes: Vec<Write>,
    pub(super) version: u64,
}

#[derive(Clone, Debug)]
pub(super) enum Reply {
    Adopt(String),
    Wait(Timestamp),
    Cold(Cold),
}

fn object(kind: Kind, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": kind.api_version(),
        "kind": kind.name(),
        "metadata": {"namespace": "team", "name": name, "uid": uid, "resourceVersion": "7", "generation": 3,
            "creationTimestamp": NOON.to_string()},
    })
}

fn with(mut base: Value, changes: &Value) -> Value {
    merge(&mut base, changes);
    base
}

fn owner(kind: Kind, name: &str, uid: &str) -> Value {
    json!([{"apiVersion": kind.api_version(), "kind": kind.name(), "name": name, "uid": uid, "controller": true}])
}

/// A claim `demo` of pool `pool`, which is of template `python`, and no Sandbox.
pub(super) fn world() -> World {
    let template = json!({"spec": {"podTemplate": {
        "metadata": {"labels": {"team": "agents"}, "annotations": {"note": "template"}},
        "spec": {"containers": [{"name": "main", "image": "python"}]},
    }}});
    let pool = json!({"spec": {"replicas": 2, "sandboxTemplateRef": {"name": "python"}}});
    let claim = json!({"spec": {"warmPoolRef": {"name": "pool"}}});
    World {
        claim: Some(with(object(Kind::SandboxClaim, "demo", "claim-uid"), &claim)),
        sandboxes: BTreeMap::new(),
        pool: Some(with(object(Kind::SandboxWarmPool, "pool", "pool-uid"), &pool)),
        template: Some(with(object(Kind::SandboxTemplate, "python", "template-uid"), &template)),
        policy: None,
        broken: None,
        source: Source::Cache,
        launched: None,
        trace: None,
        settings: Settings::default(),
        answer: Reply::Cold(Cold::Empty),
        writes: Vec::new(),
        version: 100,
    }
}

pub(super) fn ready() -> Value {
    json!({"podIPs": ["10.0.0.7"], "conditions": [{"type": "Ready", "status": "True", "reason": "DependenciesReady",
        "message": "Pod is Ready", "lastTransitionTime": "1970-01-01T00:00:03Z", "observedGeneration": 9}]})
}

impl World {
    pub(super) fn claim(mut self, changes: Value) -> Self {
        merge(self.claim.as_mut().unwrap(), &changes);
        self
    }

    pub(super) fn template(mut self, changes: Value) -> Self {
        merge(self.template.as_mut().unwrap(), &changes);
        self
    }

    pub(super) fn sandbox(mut self, name: &str, changes: Value) -> Self {
        let sandbox = object(Kind::Sandbox, name, &format!("{name}-uid"));
        let known = self.sandboxes.remove(name).unwrap_or(sandbox);
        self.sandboxes.insert(name.to_owned(), with(known, &changes));
        self
    }

    /// A Ready member of the pool, which the book hands out.
    pub(super) fn member(self, name: &str) -> Self {
        let hash = asb_types::hash::fnv1a_hex;
        let of_pool = json!({labels::WARM_POOL: hash("pool"), labels::TEMPLATE_REF_HASH: hash("python"),
            labels::TEMPLATE_HASH: "t", labels::POD_TEMPLATE_HASH: "p"});
        let own =
            with(of_pool.clone(), &json!({labels::LAUNCH_TYPE: "warm", labels::CREATED_BY: "controller"}));
        let pod = json!({"labels": with(of_pool, &json!({"team": "agents"})),
            "annotations": {"note": "template", annotations::SAFE_TO_EVICT: "true"}});
        let changes = json!({
            "metadata": {"labels": own, "ownerReferences": owner(Kind::SandboxWarmPool, "pool", "pool-uid"),
                "annotations": {annotations::POD_NAME: name, annotations::TEMPLATE_REF: "python"}},
            "spec": {"podTemplate": {"metadata": pod, "spec": {"containers": [{"name": "main", "image": "python"}]}}},
            "status": ready(),
        });
        Self { answer: Reply::Adopt(name.to_owned()), ..self.sandbox(name, changes) }
    }

    /// A Ready Sandbox of the claim, just as it should be.
    pub(super) fn bound(self, name: &str) -> Self {
        let mut world = self.member(name);
        world.give(name);
        world
    }

    fn give(&mut self, name: &str) {
        self.answer = Reply::Adopt(name.to_owned());
        let sandbox = view::<SandboxView>(&self.sandboxes[name]);
        let write = self.observe(|observed| super::transfer::transfer(observed, &sandbox)).unwrap();
        self.apply(&write);
        self.writes.clear();
    }

    /// The status names this Sandbox.
    pub(super) fn told(self, name: &str) -> Self {
        self.claim(json!({"status": {"sandbox": {"name": name, "podIPs": ["10.0.0.7"]}}}))
    }

    pub(super) fn reason(self, reason: &str) -> Self {
        let condition = json!({"type": "Ready", "status": "False", "reason": reason, "message": "",
            "lastTransitionTime": NOON.to_string()});
        self.claim(json!({"status": {"conditions": [condition]}}))
    }

    pub(super) fn owned_by(self, name: &str, kind: Kind, owner_name: &str, uid: &str) -> Self {
        self.sandbox(name, json!({"metadata": {"ownerReferences": owner(kind, owner_name, uid)}}))
    }

    pub(super) fn deleting(self, name: &str) -> Self {
        self.sandbox(name, json!({"metadata": {"deletionTimestamp": after(60).to_string()}}))
    }

    pub(super) fn confirmed(self) -> Self {
        Self { source: Source::Server, ..self }
    }

    pub(super) fn observe<T>(&self, look: impl FnOnce(&Observed<'_>) -> T) -> T {
        let claim = view::<ClaimView>(self.claim.as_ref().expect("the claim is there"));
        let sandboxes: BTreeMap<_, _> = self
            .sandboxes
            .iter()
            .map(|(name, sandbox)| (name.as_str(), view::<SandboxView>(sandbox)))
            .collect();
        let bound: Vec<_> =
            sandboxes.values().filter(|sandbox| sandbox.metadata.is_owned_by(&claim.metadata.uid)).collect();
        let sighting = |name: Option<&str>| Sighting {
            sandbox: name.and_then(|name| sandboxes.get(name)),
            source: self.source,
        };
        let pool = self.pool.as_ref().map(view::<PoolView>);
        let template = self.template.as_ref().map(view::<TemplateView>);
        let policy = self.policy.as_ref().map(view::<NetworkPolicyView>);
        look(&Observed {
            claim: &claim,
            bound: &bound,
            assigned: sighting(Some(super::binding::assigned_name(&claim))),
            recorded: sighting(super::binding::recorded_name(&claim)),
            namesake: sandboxes.get(claim.metadata.name()),
            broken: self.broken,
            pool: pool.as_ref().map_or(Referenced::Missing, Referenced::There),
            template: template.as_ref().map_or(Referenced::Missing, Referenced::There),
            exposure: None,
            legacy_policy: policy.as_ref(),
            first_observed: NOON,
            launched: self.launched.as_ref(),
            trace: self.trace,
            settings: &self.settings,
        })
    }

    pub(super) fn plan(&self, now: Timestamp) -> Plan {
        self.observe(|observed| super::plan(observed, now))
    }

    /// The plan with the book's answer.
    pub(super) fn launch(&self, now: Timestamp) -> Plan {
        let member = match &self.answer {
            Reply::Adopt(name) => self.sandboxes.get(name).map(view::<SandboxView>),
            Reply::Wait(_) | Reply::Cold(_) => None,
        };
        let answer = match (&self.answer, &member) {
            (Reply::Wait(until), _) => Answer::Wait { until: *until },
            (Reply::Cold(why), _) => Answer::Cold(*why),
            (Reply::Adopt(_), Some(member)) => Answer::Adopt(member),
            (Reply::Adopt(_), None) => Answer::Cold(Cold::Empty),
        };
        self.observe(|observed| super::launch(observed, answer, now))
    }

    pub(super) fn tell(&self, standing: &Standing, now: Timestamp) -> Told {
        self.observe(|observed| super::status(observed, standing, now))
    }

    /// Plans and does, until there is nothing left to do. Returns how the claim stands then.
    pub(super) fn settle(&mut self, now: Timestamp) -> Option<Standing> {
        for _ in 0..12 {
            self.claim.as_ref()?;
            let mut plan = self.plan(now);
            if matches!(plan.step, Step::Allocate(_)) {
                plan = self.launch(now);
            }
            match plan.step {
                Step::Done(writes) | Step::Act(writes) if !writes.is_empty() => {
                    for write in &writes {
                        self.apply(write);
                    }
                    self.launched = plan.launched.or(self.launched.take());
                }
                Step::Done(_) | Step::Wait | Step::Allocate(_) => return None,
                Step::Act(_) => panic!("nothing to do"),
                Step::Read(_) => self.source = Source::Server,
                Step::Unfit(_) => self.answer = Reply::Cold(Cold::Empty),
                Step::Tell(standing) => {
                    let told = self.tell(&standing, now);
                    for write in told.status.iter().chain(&told.later) {
                        self.apply(write);
                    }
                    if plan.look_again.is_none_or(|again| again > now) {
                        return Some(standing);
                    }
                }
            }
        }
        panic!("does not settle: {:#?}", self.writes);
    }

    /// Does what an API server would do.
    pub(super) fn apply(&mut self, write: &Write) {
        self.version += 1;
        let version = self.version.to_string();
        let name = write.target().key.name.to_string();
        let slot = match write.target().kind {
            Kind::SandboxClaim => &mut self.claim,
            Kind::NetworkPolicy => &mut self.policy,
            Kind::Sandbox => &mut self.sandboxes.remove(&name),
            other => panic!("claims do not write {other:?}"),
        };
        let mut changed = slot.take();
        match write {
            Write::Create { object, .. } => {
                assert_eq!(changed, None, "the name is taken");
                let served = json!({"metadata": {"uid": format!("{name}-{version}"), "generation": 1,
                    "creationTimestamp": NOON.to_string()}});
                changed = Some(with(object.clone(), &served));
            }
            Write::Patch { part, lock, body, .. } => {
                let object = changed.as_mut().expect("what is patched is there");
                let (Lock::Uid(uid) | Lock::Version(uid, _)) = lock;
                assert_eq!(object["metadata"]["uid"], uid.as_str());
                if let Lock::Version(_, version) = lock {
                    assert_eq!(object["metadata"]["resourceVersion"], version.to_string());
                }
                assert!((*part == Part::Status) == body["status"].is_object());
                merge(object, body);
            }
            Write::Delete { uid, .. } => {
                assert_eq!(changed.expect("what is deleted is there")["metadata"]["uid"], uid.as_str());
                changed = None;
            }
        }
        if let Some(object) = &mut changed {
            object["metadata"]["resourceVersion"] = version.into();
        }
        match (write.target().kind, changed) {
            (Kind::Sandbox, Some(sandbox)) => drop(self.sandboxes.insert(name, sandbox)),
            (Kind::SandboxClaim, claim) => self.claim = claim,
            (_, _) => {}
        }
        self.writes.push(write.clone());
    }
}

pub(super) fn view<V: View>(object: &Value) -> V {
    read(object).unwrap().unwrap_or_else(|unreadable| panic!("{unreadable}"))
}

impl World {
    pub(super) fn delete(&self, sandbox: &str, how: crate::write::Deleting) -> Write {
        Write::delete(Kind::Sandbox, &view::<SandboxView>(&self.sandboxes[sandbox]).metadata, how)
    }
}

impl Plan {
    pub(super) fn step_writes(&self) -> Vec<Write> {
        match &self.step {
            Step::Act(writes) | Step::Done(writes) => writes.clone(),
            other => panic!("{other:?}"),
        }
    }
}
