//! What is known about one pool at this moment.

use std::sync::Arc;

use asb_core::object::Key;
use asb_core::pool::{Member, Observed, Settings, Template};
use asb_core::views::{PodView, PoolView, SandboxView, TemplateView};
use asb_types::annotations::POD_NAME;

use super::ledger::Book;
use crate::world::{World, hash_key};

/// What the caches hold, by reference count, so that it stays as it was.
pub(super) struct Snapshot {
    pub(super) pool: Arc<PoolView>,
    collision: Option<String>,
    template: Option<Arc<TemplateView>>,
    /// Why the template is not to be used.
    template_collision: Option<String>,
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
    let members = world.members_of_hash.get(&hash).filter_map(|member| world.sandboxes.get(member));
    let template = world.templates.get(&key.sibling(&pool.template)).cloned();
    Some(Snapshot {
        collision: world.pool_collision(&pool),
        members: members.map(|sandbox| Held::take(world, sandbox)).collect(),
        template_collision: template.as_ref().and_then(|template| world.template_collision(template)),
        template,
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

    pub(super) fn observed<'a>(
        &'a self,
        members: &'a [Member<'a>],
        book: &'a Book,
        settings: &'a Settings,
        chance: u64,
    ) -> Observed<'a> {
        let template = match (&self.template, &self.template_collision) {
            (None, _) => Template::Missing,
            (Some(_), Some(problem)) => Template::Refused(problem.clone()),
            (Some(template), None) => Template::Found(template),
        };
        let (pool, flights, memory) = (&*self.pool, &book.flights, &book.memory);
        let collision = self.collision.as_deref();
        Observed { pool, collision, template, members, flights, settings, memory, chance }
    }
}
