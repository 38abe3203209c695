//! Whom a change of a pool concerns: itself, the claims that wait for it, and its namesakes by hash.

use asb_core::views::PoolView;
use asb_core::write::Kind;

use super::{Held, Wake, World, freed_by_hash};
use crate::cache::{Cache, Change, Entry};

impl Held for PoolView {
    fn cache(world: &mut World) -> &mut Cache<Self> {
        &mut world.pools
    }

    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        let key = change.key();
        let template = |entry: &Option<Entry<Self>>| {
            let pool = entry.as_ref()?.as_ref().ok()?;
            Some(key.sibling(&pool.template))
        };
        wakes.extend(freed_by_hash(&mut world.pools_of_hash, change).into_iter().map(Wake::Pool));
        world.pools_of_template.update(key, template(&change.before), template(&change.after));
        wakes.extend(world.book_pool(change));
        wakes.push(Wake::Pool(key.clone()));
        wakes.extend(world.spelled(Kind::ShorthandPool, key));
        // What the pool holds, claims learn from its Sandboxes. Its template, which comes and goes with it, is news even to
        // those that have a Sandbox: what they add to its metadata is checked against the template.
        if change.is_of_what_is_asked() {
            let is_for_all = template(&change.before) != template(&change.after);
            let claims = world.claims_of_pool.get(key).filter(|claim| is_for_all || world.is_unbound(claim));
            wakes.extend(claims.cloned().map(Wake::Claim));
        }
    }
}

impl World {
    /// Whether a claim still has no Sandbox.
    pub(super) fn is_unbound(&self, claim: &asb_core::object::Key) -> bool {
        self.claims
            .get(claim)
            .is_some_and(|claim| claim.status.sandbox.name.is_empty() && !claim.metadata.is_deleting())
    }
}

#[cfg(test)]
mod tests {
    use asb_core::object::Key;
    use asb_core::views::ClaimView;
    use serde_json::{Value, json};

    use super::*;

    fn object(name: &str, rest: Value) -> Value {
        let mut object = json!({"metadata": {
            "namespace": "team", "name": name, "uid": name, "resourceVersion": "1", "generation": 1,
            "creationTimestamp": "2027-01-01T00:00:00Z",
        }});
        object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        object
    }

    #[test]
    fn a_claim_that_has_its_sandbox_hears_of_its_pools_coming_and_going() {
        let mut world = World::default();
        let claim =
            json!({"spec": {"warmPoolRef": {"name": "pool"}}, "status": {"sandbox": {"name": "box"}}});
        world.learn::<ClaimView>(&object("claim", claim)).unwrap();
        let pool = json!({"spec": {"replicas": 1, "sandboxTemplateRef": {"name": "template"}}});
        let claim = Wake::Claim(Key::new("team", "claim"));
        assert!(world.learn::<PoolView>(&object("pool", pool)).unwrap().contains(&claim));
        assert!(world.learn_gone::<PoolView>(&Key::new("team", "pool"), &"pool".into()).contains(&claim));
    }
}
