//! What is known about one pool at this moment.

use std::sync::Arc;

use asb_core::object::Key;
use asb_core::pool::{Member, Observed, Settings, Template};
use asb_core::views::{PodView, PoolView, SandboxView, TemplateView};
use asb_types::annotations::POD_NAME;
use asb_types::labels::WARM_POOL;

use super::ledger::Book;
use crate::world::{World, hash_key};

/// What the caches hold, by reference count, so that it stays as it was.
pub(super) struct Snapshot {
    pub(super) pool: Arc<PoolView>,
    collision: Option<String>,
    template: Option<Arc<TemplateView>>,
    /// Why the template is not to be used.
    flaw: Option<String>,
    members: Vec<Held>,
}

/// A member, by reference count.
struct Held {
    sandbox: Arc<SandboxView>,
    pod: Option<Arc<PodView>>,
    is_expected: bool,
}

impl Held {
    fn take(world: &World, sandbox: &Arc<SandboxView>) -> Self {
        let (sandbox, pod) = (Arc::clone(sandbox), pod(world, sandbox));
        Self { is_expected: world.book.is_expected(&sandbox.metadata.key), sandbox, pod }
    }

    fn member(&self) -> Member<'_> {
        Member { sandbox: &self.sandbox, pod: self.pod.as_deref(), is_expected: self.is_expected }
    }
}

pub(super) fn observe(world: &World, key: &Key) -> Option<Snapshot> {
    let pool = Arc::clone(world.pools.get(key)?);
    let hash = hash_key(key);
    let labelled = world.members_of_hash.get(&hash).filter_map(|member| world.sandboxes.get(member));
    // Somebody may have taken the label off. Whose it is its owner says.
    let is_unlabelled = |member: &&Arc<SandboxView>| member.metadata.label(WARM_POOL) != Some(&*hash.name);
    let members = labelled.chain(world.sandboxes.owned_by(&pool.metadata.uid).filter(is_unlabelled));
    let (template, flaw) = match world.templates.entry(&key.sibling(&pool.template)) {
        None => (None, None),
        Some(Err(unreadable)) => (None, Some(unreadable.to_string())),
        Some(Ok(template)) => {
            let flaw = world.template_collision(template).or_else(|| world.exposure(template));
            (Some(Arc::clone(template)), flaw)
        }
    };
    Some(Snapshot {
        collision: world.pool_collision(&pool),
        members: members.map(|sandbox| Held::take(world, sandbox)).collect(),
        template,
        flaw,
        pool,
    })
}

fn pod(world: &World, sandbox: &SandboxView) -> Option<Arc<PodView>> {
    let name = sandbox.metadata.annotation(POD_NAME).unwrap_or(sandbox.metadata.name());
    world.pods.get(&sandbox.metadata.key.sibling(name)).cloned()
}

impl Snapshot {
    pub(super) fn members(&self) -> Vec<Member<'_>> {
        self.members.iter().map(Held::member).collect()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|held| held.sandbox.metadata.name())
    }

    pub(super) fn observed<'a>(
        &'a self,
        members: &'a [Member<'a>],
        book: &'a Book,
        settings: &'a Settings,
        chance: u64,
    ) -> Observed<'a> {
        let template = match (&self.template, &self.flaw) {
            (_, Some(problem)) => Template::Refused(problem.clone()),
            (None, None) => Template::Missing,
            (Some(template), None) => Template::Found(template),
        };
        let (pool, flights, memory) = (&*self.pool, &book.flights, &book.memory);
        let collision = self.collision.as_deref();
        Observed { pool, collision, template, members, flights, settings, memory, chance }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_that_cannot_be_understood_is_not_called_missing() {
        let mut world = World::default();
        let metadata =
            |name: &str| json!({"namespace": "team", "name": name, "uid": name, "resourceVersion": "1"});
        let pool = json!({"metadata": metadata("pool"), "spec": {"sandboxTemplateRef": {"name": "t"}}});
        world.learn::<PoolView>(&pool).unwrap();
        assert_eq!(observe(&world, &Key::new("team", "pool")).unwrap().flaw, None);
        world
            .learn::<TemplateView>(&json!({"metadata": metadata("t"), "spec": {"service": "perhaps"}}))
            .unwrap();
        let flaw = observe(&world, &Key::new("team", "pool")).unwrap().flaw.unwrap();
        assert!(flaw.starts_with("spec.service: "), "{flaw}");
    }
}
