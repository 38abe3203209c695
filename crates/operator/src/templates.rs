//! Looks after SandboxTemplates. What one needs is decided in [`asb_core::template`].

use std::sync::Arc;

use asb_core::object::Key;
use asb_core::report::Failure;
use asb_core::template::{Observed, plan, status};
use asb_core::views::{NetworkPolicyView, TemplateView};

use crate::caches::Caches;
use crate::context::Context;
use crate::queue::{Next, Queue};
use crate::traffic::Class;
use crate::workers::Controller;
use crate::world::World;

pub(crate) struct Templates(pub(crate) Arc<Context>);

/// What the caches hold about a template at one moment.
struct Snapshot {
    template: Arc<TemplateView>,
    policy: Option<Arc<NetworkPolicyView>>,
    collision: Option<String>,
}

impl Controller for Templates {
    type Object = TemplateView;

    const NAME: &'static str = "sandboxtemplate";

    fn queue(caches: &Caches) -> &Queue {
        &caches.queues.templates
    }

    async fn reconcile(&self, key: &Key) -> Next {
        let context = &self.0;
        let Some(snapshot) = context.caches.read(|world| observe(world, key)) else {
            return context.tell_unreadable::<TemplateView>(key, Class::Housekeeping).await;
        };
        let observed = Observed {
            template: &snapshot.template,
            policy: snapshot.policy.as_deref(),
            collision: snapshot.collision.as_deref(),
        };
        let plan = plan(&observed);
        let failure = match context.carry_out(&plan.writes, Class::Housekeeping).await {
            Ok(()) => None,
            Err(stumble) => match stumble.told() {
                None => return Next::Again,
                told => told,
            },
        };
        let status = status(&observed, &plan, failure.as_ref(), context.now());
        let written = context.carry_out(&status, Class::Housekeeping).await;
        match (failure, written) {
            (Some(Failure::Transient(_)), _) | (_, Err(_)) => Next::Retry,
            _ => Next::Settled,
        }
    }
}

fn observe(world: &World, key: &Key) -> Option<Snapshot> {
    let template = Arc::clone(world.templates.get(key)?);
    let policy = world.policy_of(key).cloned();
    let collision = world.template_collision(&template);
    Some(Snapshot { template, policy, collision })
}
