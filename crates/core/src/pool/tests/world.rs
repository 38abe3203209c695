//! A small model of a cluster around one pool: what the planner sees, and what becomes of what it writes.

use asb_types::conditions::{READY, sandbox_ready};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::*;
use crate::conditions::{self, Verdict};
use crate::object::{Deletion, Owner};
use crate::views::read;

pub(super) struct World {
    pub pool: PoolView,
    pub template: Option<TemplateView>,
    pub collision: Option<&'static str>,
    pub boxes: Vec<SandboxView>,
    /// In the order of the boxes, as far as they go.
    pub pods: Vec<Option<PodView>>,
    pub flights: Flights,
    pub settings: Settings,
    pub memory: Memory,
    pub chance: u64,
    /// The numbers of the boxes that claims expect.
    pub expected: Vec<usize>,
}

pub(super) fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(super) fn going() -> Deletion {
    Deletion { due: second(0), grace: SignedDuration::ZERO }
}

pub(super) fn unscheduled(reason: &str) -> PodView {
    let metadata = json!({"name": "p-0", "namespace": "team", "uid": "pod", "resourceVersion": "1"});
    let scheduled = json!({"type": "PodScheduled", "status": "False", "reason": reason});
    read(&json!({"metadata": metadata, "status": {"conditions": [scheduled]}})).unwrap().unwrap()
}

fn pool(replicas: usize, strategy: Value) -> PoolView {
    let metadata =
        json!({"name": "p", "namespace": "team", "uid": "pool", "resourceVersion": "1", "generation": 2});
    let spec =
        json!({"replicas": replicas, "sandboxTemplateRef": {"name": "python"}, "updateStrategy": strategy});
    read(&json!({"metadata": metadata, "spec": spec})).unwrap().unwrap()
}

fn template() -> TemplateView {
    let metadata = json!({"name": "python", "namespace": "team", "uid": "template", "resourceVersion": "1"});
    let pod = json!({"spec": {"containers": [{"name": "main", "image": "python"}]}});
    read(&json!({"metadata": metadata, "spec": {"podTemplate": pod}})).unwrap().unwrap()
}

impl World {
    pub(super) fn of(replicas: usize) -> Self {
        Self {
            pool: pool(replicas, json!({})),
            template: Some(template()),
            collision: None,
            boxes: Vec::new(),
            pods: Vec::new(),
            flights: Flights::default(),
            settings: Settings::default(),
            memory: Memory::default(),
            chance: 1,
            expected: Vec::new(),
        }
    }

    pub(super) fn recreate(mut self, bounds: &Value) -> Self {
        let mut strategy = bounds.clone();
        strategy["type"] = "Recreate".into();
        self.pool = pool(self.pool.replicas, strategy);
        self
    }

    /// Members `p-0`, `p-1` and so on, each made a second after the other.
    pub(super) fn with_ready(mut self, count: usize) -> Self {
        for number in 0..count {
            let at = second(i64::try_from(number).unwrap());
            let template = self.template.as_ref().unwrap();
            let object =
                Blueprint::of(template).member(&self.pool.metadata, &format!("p-{number}"), Eviction::Safe);
            self.boxes.push(stored(object, at));
            self.set_ready(number, true, at);
        }
        self
    }

    pub(super) fn plan(&self, now: Timestamp) -> Plan {
        self.with(now, |_, plan| plan)
    }

    pub(super) fn with<T>(&self, now: Timestamp, use_it: impl FnOnce(&Observed<'_>, Plan) -> T) -> T {
        let pod = |number| self.pods.get(number).and_then(Option::as_ref);
        let members = self.boxes.iter().enumerate().map(|(number, sandbox)| Member {
            sandbox,
            pod: pod(number),
            is_expected: self.expected.contains(&number),
        });
        let members: Vec<_> = members.collect();
        let observed = Observed {
            pool: &self.pool,
            collision: self.collision,
            template: self.template.as_ref().map_or(Template::Missing, Template::Found),
            members: &members,
            flights: &self.flights,
            settings: &self.settings,
            memory: &self.memory,
            chance: self.chance,
        };
        use_it(&observed, plan(&observed, now))
    }

    /// Everything is done and seen at once; what is deleted lingers.
    pub(super) fn apply(&mut self, plan: &Plan, now: Timestamp) {
        self.memory = plan.memory.clone();
        self.chance += 1;
        for write in &plan.writes {
            self.write(write, now);
        }
    }

    pub(super) fn write(&mut self, write: &Write, now: Timestamp) {
        let place = self.boxes.iter().position(|sandbox| sandbox.metadata.key == write.target().key);
        match (write, place) {
            (Write::Create { object, .. }, None) => self.boxes.push(stored(object.clone(), now)),
            (Write::Delete { uid, .. }, Some(place)) if self.boxes[place].metadata.uid == *uid => {
                self.boxes[place].metadata.deletion.get_or_insert(going());
            }
            _ => {}
        }
    }

    pub(super) fn claim(&mut self, number: usize) {
        let owner =
            Owner { group: "".into(), kind: "SandboxClaim".into(), name: "c".into(), uid: "claim".into() };
        self.boxes[number].metadata.owner = Some(owner);
    }

    pub(super) fn change_template(&mut self) {
        let template = self.template.as_mut().unwrap();
        let mut spec = template.pod.spec.value();
        let image = spec["containers"][0]["image"].as_str().unwrap().to_owned();
        spec["containers"][0]["image"] = format!("{image}+").into();
        template.pod.spec = (&spec).into();
    }

    pub(super) fn make_unready(&mut self, number: usize) {
        self.boxes[number].status.conditions.clear();
    }

    pub(super) fn make_unready_at(&mut self, number: usize, at: Timestamp) {
        self.set_ready(number, false, at);
    }

    pub(super) fn make_all_ready(&mut self, at: Timestamp) {
        (0..self.boxes.len()).for_each(|number| self.set_ready(number, true, at));
    }

    pub(super) fn set_ready(&mut self, number: usize, is_ready: bool, at: Timestamp) {
        let verdict = Verdict::new(is_ready, sandbox_ready::DEPENDENCIES_READY, "");
        conditions::set(&mut self.boxes[number].status.conditions, READY, verdict, 1, at);
    }
}

fn stored(mut object: Value, at: Timestamp) -> SandboxView {
    let uid = format!("{} at {at}", object["metadata"]["name"].as_str().unwrap());
    object["metadata"]["uid"] = uid.into();
    object["metadata"]["resourceVersion"] = "5".into();
    object["metadata"]["creationTimestamp"] = at.to_string().into();
    read(&object).unwrap().unwrap()
}
