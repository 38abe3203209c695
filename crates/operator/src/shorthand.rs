//! Looks after SandboxTemplates, SandboxClaims and SandboxWarmPools in short spellings, where they are installed. What one
//! needs is decided in [`asb_core::shorthand`].

use std::marker::PhantomData;
use std::sync::Arc;

use asb_core::object::Key;
use asb_core::report::Failure;
use asb_core::shorthand::{Counterpart, Observed, Outlook, Plan, plan, status};
use asb_core::views::{Canonical, ShorthandView, TemplateView};
use asb_core::write::{Kind, Target};

use crate::cache::Entry;
use crate::caches::Caches;
use crate::context::{Context, Stumble};
use crate::queue::{Next, Queue};
use crate::traffic::Class;
use crate::workers::Controller;
use crate::world::{Short, World};

pub(crate) struct Shorthand<S> {
    context: Arc<Context>,
    spelling: PhantomData<S>,
}

/// What the caches hold about one object at one moment.
struct Snapshot<S: Short> {
    short: Arc<ShorthandView<S>>,
    counterpart: Option<Entry<S::Canonical>>,
    template: Option<Entry<TemplateView>>,
}

impl<S: Short> Shorthand<S> {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, spelling: PhantomData }
    }

    async fn carry_out(&self, observed: &Observed<'_>, plan: &Plan) -> Result<(), Stumble> {
        if plan.outlook == Outlook::Abandoned && !self.is_confirmed(observed).await {
            return Err(Stumble::Outdated);
        }
        self.context.carry_out(&plan.writes, class(S::KIND)).await?;
        if let (Some(event), Some(about)) = (&plan.event, &observed.counterpart) {
            self.context.recorder.record(event, S::KIND.canonical(), about.metadata);
        }
        Ok(())
    }

    /// Whether the API server too says that the object is gone. Caches may be behind, and nothing comes back from this.
    async fn is_confirmed(&self, observed: &Observed<'_>) -> bool {
        let target = Target::of(S::KIND.canonical(), observed.metadata);
        matches!(self.context.writer.read(&target).await, Ok(None))
    }
}

impl<S: Short> Controller for Shorthand<S> {
    type Object = ShorthandView<S>;

    const NAME: &'static str = S::CONTROLLER;

    fn queue(caches: &Caches) -> &Queue {
        caches.queues.of_shorthand(S::KIND)
    }

    async fn reconcile(&self, key: &Key) -> Next {
        let context = &self.context;
        let Some(snapshot) = context.caches.read(|world| observe::<S>(world, key)) else {
            return Next::Settled;
        };
        let observed = snapshot.observed();
        let plan = plan(&observed);
        let failure = match self.carry_out(&observed, &plan).await {
            Ok(()) => None,
            Err(stumble) => match stumble.told() {
                None => return Next::Retry,
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

impl<S: Short> Snapshot<S> {
    fn observed(&self) -> Observed<'_> {
        Observed {
            kind: S::KIND,
            metadata: &self.short.metadata,
            spec: &self.short.spec,
            status: &self.short.status,
            counterpart: self.counterpart.as_ref().map(counterpart),
            template: self.template.as_ref().map(counterpart),
        }
    }
}

fn observe<S: Short>(world: &World, key: &Key) -> Option<Snapshot<S>> {
    let short = Arc::clone(S::cache(&world.shorthands).get(key)?);
    let template = (S::KIND == Kind::ShorthandPool).then(|| world.templates.entry(key).cloned()).flatten();
    Some(Snapshot { short, counterpart: S::counterpart(world, key).cloned(), template })
}

fn counterpart<V: Canonical>(entry: &Entry<V>) -> Counterpart<'_> {
    match entry {
        Ok(view) => Counterpart::of(view.as_ref()),
        Err(unreadable) => Counterpart::unreadable(unreadable),
    }
}

/// Somebody waits for a claim, however it is spelled.
fn class(kind: Kind) -> Class {
    if kind == Kind::ShorthandClaim { Class::Claim } else { Class::Housekeeping }
}
