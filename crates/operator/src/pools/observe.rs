//! What is known about one pool at this moment.

use std::sync::Arc;

use asb_core::object::{Key, Metadata};
use asb_core::pool::{Member, Observed, Settings, Template};
use asb_core::views::{PodView, PoolView, SandboxView, TemplateView};
use asb_types::annotations::POD_NAME;

use super::ledger::Book;
use crate::world::{World, hash_key};

/// What the caches hold, by reference count, so that it stays as it was.
pub(super) struct Snapshot {
    pub(super) pool: Arc<PoolView>,
    namesakes: Vec<Arc<PoolView>>,
    template: Option<Arc<TemplateView>>,
    /// Why the template is not to be used.
    flaw: Option<String>,
    members: Vec<(Arc<SandboxView>, Option<Arc<PodView>>)>,
}

pub(super) fn observe(world: &World, key: &Key) -> Option<Snapshot> {
    let pool = Arc::clone(world.pools.get(key)?);
    let namesakes = world.pools_of_hash.namesakes(key);
    let hash = hash_key(key);
    let members = world.members_of_hash.get(&hash).filter_map(|member| world.sandboxes.get(member));
    let (template, flaw) = match world.templates.entry(&key.sibling(&pool.template)) {
        None => (None, None),
        Some(Err(unreadable)) => (None, Some(unreadable.to_string())),
        Some(Ok(template)) => (Some(Arc::clone(template)), world.template_collision(template)),
    };
    Some(Snapshot {
        namesakes: namesakes.filter_map(|other| world.pools.get(other).cloned()).collect(),
        members: members.map(|sandbox| (Arc::clone(sandbox), pod(world, sandbox))).collect(),
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
        self.members.iter().map(|(sandbox, pod)| Member { sandbox, pod: pod.as_deref() }).collect()
    }

    pub(super) fn namesakes(&self) -> Vec<&Metadata> {
        self.namesakes.iter().map(|pool| &pool.metadata).collect()
    }

    pub(super) fn observed<'a>(
        &'a self,
        members: &'a [Member<'a>],
        namesakes: &'a [&'a Metadata],
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
        Observed { pool, namesakes, template, members, flights, settings, memory, chance }
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
