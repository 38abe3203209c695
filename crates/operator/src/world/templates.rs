//! Whom a change of a template, or of its NetworkPolicy, concerns: itself, its pools, and the claims that wait for those.

use std::sync::Arc;

use asb_core::object::Key;
use asb_core::template::exposure;
use asb_core::views::{NetworkPolicyView, TemplateView};
use asb_core::write::Kind;
use asb_types::names;

use super::{Held, Wake, World, freed_by_hash, owner_key};
use crate::cache::{Cache, Change};

impl Held for TemplateView {
    fn cache(world: &mut World) -> &mut Cache<Self> {
        &mut world.templates
    }

    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        let key = change.key();
        wakes.extend(freed_by_hash(&mut world.templates_of_hash, change).into_iter().map(Wake::Template));
        wakes.push(Wake::Template(key.clone()));
        // A pool may bring a template of its own, under its own name.
        wakes.extend(world.spelled(Kind::ShorthandTemplate, key));
        wakes.extend(world.spelled(Kind::ShorthandPool, key));
        if !change.is_of_what_is_asked() {
            return;
        }
        let pools: Vec<Key> = world.pools_of_template.get(key).cloned().collect();
        for pool in &pools {
            wakes.extend(world.book_members(pool));
        }
        match &change.after {
            Some(_) => world.book.template_is(key),
            None => world.book.template_is_gone(key),
        }
        wakes.extend(pools.into_iter().map(Wake::Pool));
        wakes.extend(world.claims_by_template(key).cloned().map(Wake::Claim));
    }
}

impl World {
    /// The NetworkPolicy that bears the name of this template's.
    pub(crate) fn policy_of(&self, template: &Key) -> Option<&Arc<NetworkPolicyView>> {
        self.network_policies.get(&template.sibling(&names::network_policy(&template.name)))
    }

    /// Why no Pod is to be made from the template now.
    pub(crate) fn exposure(&self, template: &TemplateView) -> Option<String> {
        exposure(template, self.policy_of(&template.metadata.key).map(AsRef::as_ref))
    }

    /// The claims that get, or got, their Sandbox from this template: through a pool, or by name.
    fn claims_by_template(&self, template: &Key) -> impl Iterator<Item = &Key> {
        let shadow = template.sibling(&names::shadow_pool(&template.name));
        let pools = self.pools_of_template.get(template).cloned().chain([shadow]);
        let pools: std::collections::BTreeSet<Key> = pools.collect();
        pools.into_iter().flat_map(|pool| self.claims_of_pool.get(&pool).collect::<Vec<_>>())
    }
}

impl Held for NetworkPolicyView {
    fn cache(world: &mut World) -> &mut Cache<Self> {
        &mut world.network_policies
    }

    /// Somebody else's policy may be in a template's way, or just got out of it. What waited for a template's own can go on.
    fn consequences(world: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        let key = change.key();
        let owners = change.owners().filter(|owner| owner.is(Kind::SandboxTemplate));
        wakes.extend(owners.map(|owner| Wake::Template(owner_key(key, owner))));
        let by_name = names::template_of_network_policy(&key.name).map(|template| key.sibling(template));
        let there = by_name.filter(|template| world.templates.entry(template).is_some());
        if let Some(template) = there {
            wakes.extend(world.pools_of_template.get(&template).cloned().map(Wake::Pool));
            wakes.extend(world.claims_by_template(&template).cloned().map(Wake::Claim));
            wakes.push(Wake::Template(template));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn template(version: u64, generation: u64) -> Value {
        json!({"metadata": {"namespace": "team", "name": "t", "uid": "t", "resourceVersion": version.to_string(),
            "generation": generation}, "spec": {"podTemplate": {"spec": {"containers": []}}}})
    }

    #[test]
    fn a_template_hears_of_whatever_bears_the_name_of_its_policy() {
        let mut world = World::default();
        world.learn::<TemplateView>(&template(1, 1)).unwrap();
        let policy = json!({"metadata": {"namespace": "team", "name": "t-network-policy", "uid": "np", "resourceVersion": "2"}});
        let template = Wake::Template(Key::new("team", "t"));
        assert!(world.learn::<NetworkPolicyView>(&policy).unwrap().contains(&template));
        let gone = world.learn_gone::<NetworkPolicyView>(&Key::new("team", "t-network-policy"), &"np".into());
        assert!(gone.contains(&template));
    }

    #[test]
    fn pools_and_claims_hear_when_their_template_has_its_policy() {
        let mut world = World::default();
        world.learn::<TemplateView>(&template(1, 1)).unwrap();
        let named = |name: &str, spec: Value| {
            json!({"metadata": {"namespace": "team", "name": name, "uid": name,
            "resourceVersion": "1"}, "spec": spec})
        };
        let pool = named("p", json!({"sandboxTemplateRef": {"name": "t"}}));
        world.learn::<asb_core::views::PoolView>(&pool).unwrap();
        let claim = named("c", json!({"warmPoolRef": {"name": "p"}}));
        world.learn::<asb_core::views::ClaimView>(&claim).unwrap();
        let wakes = world.learn::<NetworkPolicyView>(&named("t-network-policy", json!({}))).unwrap();
        for wake in [Wake::Pool(Key::new("team", "p")), Wake::Claim(Key::new("team", "c"))] {
            assert!(wakes.contains(&wake), "{wakes:?}");
        }
    }

    #[test]
    fn a_pool_hears_of_a_new_blueprint_and_not_of_the_templates_status() {
        let mut world = World::default();
        let pool = json!({"metadata": {"namespace": "team", "name": "p", "uid": "p", "resourceVersion": "1"},
            "spec": {"sandboxTemplateRef": {"name": "t"}}});
        world.learn::<asb_core::views::PoolView>(&pool).unwrap();
        let pool = Wake::Pool(Key::new("team", "p"));
        assert!(world.learn::<TemplateView>(&template(2, 1)).unwrap().contains(&pool));
        assert!(!world.learn::<TemplateView>(&template(3, 1)).unwrap().contains(&pool));
        assert!(world.learn::<TemplateView>(&template(4, 2)).unwrap().contains(&pool));
    }
}
