//! Whom a change of a claim concerns: itself, and those who get what it held or waited for.

use asb_core::views::ClaimView;
use asb_core::write::Kind;

use super::{Held, Wake, World};
use crate::cache::{Cache, Change, Entry, metadata};

impl Held for ClaimView {
    fn cache(world: &mut World) -> &mut Cache<Self> {
        &mut world.claims
    }

    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        let key = change.key();
        let pool = |entry: &Option<Entry<Self>>| {
            let claim = entry.as_ref()?.as_ref().ok()?;
            Some(key.sibling(claim.request.pool()))
        };
        world.claims_of_pool.update(key, pool(&change.before), pool(&change.after));
        if let Some(before) = change.before.as_ref().filter(|_| change.is_of_another()) {
            wakes.extend(world.leave(&metadata(before).uid));
        }
        world.note_arrival(change);
        wakes.push(Wake::Claim(key.clone()));
        wakes.extend(world.spelled(Kind::ShorthandClaim, key));
    }
}

#[cfg(test)]
mod tests {
    use asb_core::allocation::{Answer, Asker};
    use asb_core::object::Key;
    use asb_core::views::{PoolView, Request, SandboxView};
    use asb_types::labels::{TEMPLATE_REF_HASH, WARM_POOL};
    use serde_json::{Value, json};

    use super::*;

    fn object(name: &str, uid: &str, version: u64, rest: &Value) -> Value {
        let mut object = json!({"metadata": {"namespace": "team", "name": name, "uid": uid, "resourceVersion": version.to_string()}});
        for (field, value) in rest.as_object().unwrap() {
            match (object.get_mut(field).and_then(Value::as_object_mut), value.as_object()) {
                (Some(known), Some(more)) => known.extend(more.clone()),
                _ => object[field] = value.clone(),
            }
        }
        object
    }

    #[test]
    fn what_a_claim_had_in_its_hands_is_free_when_another_of_its_name_is_there() {
        let mut world = World::default();
        let pool = json!({"spec": {"replicas": 1, "sandboxTemplateRef": {"name": "t"}}});
        world.learn::<PoolView>(&object("pool", "p", 1, &pool)).unwrap();
        let owner = json!([{"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxWarmPool",
            "name": "pool", "uid": "p", "controller": true}]);
        let member = json!({
            "metadata": {"labels": {WARM_POOL: "h", TEMPLATE_REF_HASH: "t"}, "ownerReferences": owner},
            "spec": {}, "status": {"podIPs": ["10.0.0.1"], "conditions": [{"type": "Ready", "status": "True",
                "reason": "R", "message": "", "lastTransitionTime": "2030-01-01T00:00:00Z"}]},
        });
        world.learn::<SandboxView>(&object("pool-a", "a", 2, &member)).unwrap();
        let claim = json!({"spec": {"warmPoolRef": {"name": "pool"}}});
        let request = Request::Pool("pool".to_owned());
        for (uid, version) in [("first", 3), ("second", 4)] {
            world.learn::<ClaimView>(&object("mine", uid, version, &claim)).unwrap();
            let asker = Asker { key: Key::new("team", "mine"), uid: uid.into() };
            let (answer, _) = world.ask(&asker, &request);
            assert!(matches!(answer, Answer::Adopt(_)), "{uid}: {answer:?}");
        }
    }
}
