//! When things happened that their objects do not tell. Every replica notes them, so that one that begins to lead knows
//! what the one before it knew.

use std::collections::HashMap;

use asb_core::claim::first_observed;
use asb_core::conditions::is_true;
use asb_core::object::{Key, Metadata, Uid};
use asb_core::views::{ClaimView, SandboxView};
use asb_types::conditions::{READY, SUSPENDED};
use asb_types::v1beta1::OperatingMode;
use jiff::Timestamp;

use super::World;
use crate::cache::Change;

/// A moment for each object that has one.
#[derive(Debug, Default)]
pub(crate) struct Moments(HashMap<Key, (Uid, Timestamp)>);

impl Moments {
    pub(crate) fn get(&self, object: &Metadata) -> Option<Timestamp> {
        self.0.get(&object.key).filter(|(uid, _)| *uid == object.uid).map(|(_, at)| *at)
    }

    fn set(&mut self, object: &Metadata, at: Timestamp) {
        self.0.insert(object.key.clone(), (object.uid.clone(), at));
    }

    fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    pub(super) fn size(&self) -> usize {
        self.0.len()
    }
}

impl World {
    /// A claim comes with its first event, however long it then waits to be looked at.
    pub(super) fn note_arrival(&mut self, change: &Change<ClaimView>) {
        match &change.after {
            Some(Ok(claim)) if first_observed(claim).is_none() => {
                if self.arrivals.get(&claim.metadata).is_none() {
                    self.arrivals.set(&claim.metadata, self.now);
                }
            }
            _ => self.arrivals.forget(change.key()),
        }
    }

    pub(super) fn note_mode_change(&mut self, change: &Change<SandboxView>) {
        match (&change.before, &change.after) {
            (Some(Ok(before)), Some(Ok(after)))
                if before.metadata.uid == after.metadata.uid
                    && before.operating_mode != after.operating_mode =>
            {
                self.mode_changes.set(&after.metadata, self.now);
            }
            (_, Some(Ok(after))) if !is_as_asked(after) => {}
            _ => self.mode_changes.forget(change.key()),
        }
    }
}

fn is_as_asked(sandbox: &SandboxView) -> bool {
    let goal = match sandbox.operating_mode {
        OperatingMode::Running => READY,
        OperatingMode::Suspended => SUSPENDED,
    };
    is_true(&sandbox.status.conditions, goal)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::{Value, json};

    use super::*;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn object(version: u64, spec: &Value, status: &Value) -> Value {
        json!({"metadata": {"namespace": "team", "name": "it", "uid": "it", "resourceVersion": version.to_string()},
            "spec": spec, "status": status})
    }

    fn later(world: &mut World) {
        world.now += SignedDuration::from_secs(1);
    }

    #[test]
    fn a_claim_came_when_it_was_first_heard_of_until_it_says_so_itself() {
        let mut world = World::default();
        let arrival = |world: &World| {
            let claim = world.claims.get(&Key::new("team", "it")).unwrap();
            world.arrivals.get(&claim.metadata)
        };
        let spec = json!({"warmPoolRef": {"name": "pool"}});
        world.learn::<ClaimView>(&object(1, &spec, &json!({}))).unwrap();
        later(&mut world);
        world.learn::<ClaimView>(&object(2, &spec, &json!({"phase": "Pending"}))).unwrap();
        assert_eq!(arrival(&world), Some(START));
        let told = json!({"launch": {"observedAt": "1970-01-01T00:00:00.000000Z"}});
        world.learn::<ClaimView>(&object(3, &spec, &told)).unwrap();
        assert_eq!(arrival(&world), None);
    }

    #[test]
    fn a_change_of_mode_is_remembered_until_it_is_done() {
        let mut world = World::default();
        let change = |world: &World| {
            let sandbox = world.sandboxes.get(&Key::new("team", "it")).unwrap();
            world.mode_changes.get(&sandbox.metadata)
        };
        let (running, suspended) = (json!({}), json!({"operatingMode": "Suspended"}));
        let is = |type_: &str| {
            json!({"conditions": [{"type": type_, "status": "True", "reason": "x", "message": "",
            "lastTransitionTime": START.to_string()}]})
        };
        world.learn::<SandboxView>(&object(1, &running, &is("Ready"))).unwrap();
        assert_eq!(change(&world), None);
        later(&mut world);
        world.learn::<SandboxView>(&object(2, &suspended, &is("Ready"))).unwrap();
        world.learn::<SandboxView>(&object(3, &suspended, &json!({}))).unwrap();
        assert_eq!(change(&world), Some(world.now));
        world.learn::<SandboxView>(&object(4, &suspended, &is("Suspended"))).unwrap();
        assert_eq!(change(&world), None);
    }
}
