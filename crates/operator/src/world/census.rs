//! How many Sandboxes there are, of each sort: kept up to date with every change, so that asking costs the same however
//! many there are.

use std::collections::BTreeMap;

use asb_core::census::{Category, Fitness, Membership};
use asb_core::views::SandboxView;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::World;
use crate::cache::{Change, Entry, metadata};

/// How many there are of each sort. Sorts of which there are none are left out.
#[derive(Debug)]
pub(crate) struct Tally<T>(BTreeMap<T, u64>);

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> Tally<T> {
    pub(crate) fn counts(&self) -> &BTreeMap<T, u64> {
        &self.0
    }

    /// One of them has come, gone, or become of another sort.
    fn change(&mut self, before: Option<T>, after: Option<T>) {
        if before == after {
            return;
        }
        if let Some(before) = before
            && let Some(count) = self.0.get_mut(&before)
        {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&before);
            }
        }
        if let Some(after) = after {
            *self.0.entry(after).or_default() += 1;
        }
    }
}

impl World {
    pub(super) fn count(&mut self, change: &Change<SandboxView>) {
        let category = |entry: &Entry<SandboxView>| Category::of(metadata(entry), conditions(entry));
        self.census.change(change.before.as_ref().map(category), change.after.as_ref().map(category));
        let membership = |entry: &Entry<SandboxView>| Membership::of(metadata(entry), conditions(entry));
        self.memberships
            .change(change.before.as_ref().and_then(membership), change.after.as_ref().and_then(membership));
    }

    /// How many members pools have, of each sort. A pool without any that is Ready says so.
    pub(crate) fn members(&self) -> BTreeMap<Membership, u64> {
        let mut members: BTreeMap<_, _> = self
            .pools
            .all()
            .map(|pool| Membership {
                pool: pool.metadata.key.clone(),
                template: Some(pool.template.as_str().into()),
                fitness: Fitness::Ready,
            })
            .map(|none| (none, 0))
            .collect();
        members.extend(self.memberships.counts().iter().map(|(sort, count)| (sort.clone(), *count)));
        members
    }
}

/// One that cannot be understood says nothing, and is counted.
fn conditions(entry: &Entry<SandboxView>) -> &[Condition] {
    entry.as_ref().map_or(&[], |sandbox| &sandbox.status.conditions)
}

#[cfg(test)]
mod tests {
    use asb_core::object::Key;
    use asb_core::views::PoolView;
    use serde_json::{Value, json};

    use super::*;

    fn member(name: &str, version: u64, is_ready: bool) -> Value {
        let ready = json!({"type": "Ready", "status": if is_ready { "True" } else { "False" }, "reason": "x",
            "message": "", "lastTransitionTime": "2027-01-01T00:00:00Z"});
        json!({"metadata": {"namespace": "team", "name": name, "uid": name, "resourceVersion": version.to_string(),
                "annotations": {"agents.x-k8s.io/sandbox-template-ref": "python"},
                "ownerReferences": [{"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxWarmPool",
                    "name": "pool", "uid": "p", "controller": true}]},
            "status": {"conditions": [ready]}})
    }

    fn ready(world: &World) -> Vec<(bool, u64)> {
        world.census.counts().iter().map(|(sort, count)| (sort.is_ready, *count)).collect()
    }

    fn sizes(world: &World) -> Vec<(&'static str, u64)> {
        world.members().iter().map(|(sort, count)| (sort.fitness.as_str(), *count)).collect()
    }

    #[test]
    fn the_census_follows_every_change() {
        let mut world = World::default();
        for (name, version, is_ready) in [("a", 1, false), ("b", 2, false), ("a", 3, true)] {
            world.learn::<SandboxView>(&member(name, version, is_ready)).unwrap();
        }
        assert_eq!(ready(&world), [(false, 1), (true, 1)]);
        assert_eq!(sizes(&world), [("ready", 1), ("pending", 1)]);
        world.learn_gone::<SandboxView>(&Key::new("team", "b"), &"b".into());
        assert_eq!(ready(&world), [(true, 1)]);
        world.learn_gone::<SandboxView>(&Key::new("team", "a"), &"a".into());
        assert_eq!((ready(&world), sizes(&world)), (vec![], vec![]));
    }

    #[test]
    fn one_that_cannot_be_understood_counts_too() {
        let mut world = World::default();
        let mut sandbox = member("a", 1, true);
        sandbox["spec"] = json!({"service": "perhaps"});
        world.learn::<SandboxView>(&sandbox).unwrap();
        assert_eq!(ready(&world), [(false, 1)]);
    }

    #[test]
    fn a_pool_that_has_nothing_ready_says_so() {
        let mut world = World::default();
        let pool = json!({"metadata": {"namespace": "team", "name": "pool", "uid": "p", "resourceVersion": "1"},
            "spec": {"replicas": 1, "sandboxTemplateRef": {"name": "python"}}});
        world.learn::<PoolView>(&pool).unwrap();
        assert_eq!(sizes(&world), [("ready", 0)]);
        world.learn::<SandboxView>(&member("a", 2, true)).unwrap();
        assert_eq!(sizes(&world), [("ready", 1)]);
    }
}
