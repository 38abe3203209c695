//! What is known about one claim and its surroundings at this moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use asb_core::claim::{Observed, Referenced, Settings, Sighting, Source, recorded_name};
use asb_core::object::Key;
use asb_core::views::{
    ClaimView, NetworkPolicyView, PoolView, Request, SandboxView, TemplateView, View, read,
};
use asb_types::names;
use jiff::Timestamp;
use serde_json::Value;

use super::notes::Note;
use crate::cache::{Cache, Entry};
use crate::world::World;

/// What was read from the API server itself during this look.
#[derive(Debug, Default)]
pub(super) struct Readings(BTreeMap<Key, Option<SandboxView>>);

impl Readings {
    pub(super) fn insert(&mut self, key: Key, object: Option<&Value>) {
        let sandbox = object.and_then(|object| read::<SandboxView>(object).ok()?.ok());
        self.0.insert(key, sandbox);
    }
}

/// What the caches hold, by reference count, so that it stays as it was.
pub(super) struct Snapshot {
    pub(super) claim: Arc<ClaimView>,
    /// When it came, where it does not say so itself.
    pub(super) arrival: Option<Timestamp>,
    bound: Vec<Arc<SandboxView>>,
    assigned: Option<Arc<SandboxView>>,
    recorded: Option<Arc<SandboxView>>,
    namesake: Option<Arc<SandboxView>>,
    /// The name of a Sandbox that is the claim's, or bears its name, and cannot be understood; and why.
    broken: Option<(Arc<str>, String)>,
    pool: Found<PoolView>,
    template: Found<TemplateView>,
    exposure: Option<String>,
    legacy_policy: Option<Arc<NetworkPolicyView>>,
}

enum Found<V> {
    Missing,
    Unfit(String),
    There(Arc<V>),
}

impl<V: View> Found<V> {
    fn in_cache(cache: &Cache<V>, key: &Key) -> Self {
        cache.entry(key).map_or(Self::Missing, |entry: &Entry<V>| match entry {
            Ok(view) => Self::There(Arc::clone(view)),
            Err(unreadable) => Self::Unfit(unreadable.to_string()),
        })
    }

    fn there(&self) -> Option<&V> {
        match self {
            Self::There(view) => Some(view),
            Self::Missing | Self::Unfit(_) => None,
        }
    }

    fn referenced(&self) -> Referenced<'_, V> {
        match self {
            Self::Missing => Referenced::Missing,
            Self::Unfit(problem) => Referenced::Unreadable(problem.clone()),
            Self::There(view) => Referenced::There(view),
        }
    }
}

impl Snapshot {
    pub(super) fn take(world: &World, key: &Key) -> Option<Self> {
        let claim = Arc::clone(world.claims.get(key)?);
        let sandbox = |name: &str| world.sandboxes.get(&key.sibling(name)).cloned();
        let pool = Found::in_cache(&world.pools, &key.sibling(claim.request.pool()));
        let template = template(world, &claim, &pool);
        Some(Self {
            bound: world.sandboxes.owned_by(&claim.metadata.uid).cloned().collect(),
            assigned: sandbox(&claim.status.sandbox.name),
            recorded: recorded_name(&claim).and_then(sandbox),
            namesake: sandbox(&names::cold_sandbox(&key.name)),
            broken: broken(world, &claim),
            exposure: template.there().and_then(|template| world.exposure(template)),
            template,
            legacy_policy: world
                .network_policies
                .get(&key.sibling(&names::legacy_claim_network_policy(&key.name)))
                .cloned(),
            arrival: world.arrivals.get(&claim.metadata),
            pool,
            claim,
        })
    }

    pub(super) fn has_bound(&self, sandbox: &Key) -> bool {
        self.bound.iter().any(|bound| bound.metadata.key == *sandbox)
    }

    pub(super) fn bound(&self) -> Vec<&SandboxView> {
        self.bound.iter().map(AsRef::as_ref).collect()
    }

    pub(super) fn observed<'a>(
        &'a self,
        bound: &'a [&'a SandboxView],
        readings: &'a Readings,
        note: &'a Note,
        settings: &'a Settings,
    ) -> Observed<'a> {
        let claim = &*self.claim;
        let sighting = |name: &str, cached: &'a Option<Arc<SandboxView>>| match readings
            .0
            .get(&claim.metadata.key.sibling(name))
        {
            Some(read) => Sighting { sandbox: read.as_ref(), source: Source::Server },
            None => Sighting { sandbox: cached.as_deref(), source: Source::Cache },
        };
        Observed {
            claim,
            bound,
            assigned: sighting(&claim.status.sandbox.name, &self.assigned),
            recorded: sighting(recorded_name(claim).unwrap_or_default(), &self.recorded),
            namesake: self.namesake.as_deref(),
            broken: self.broken.as_ref().map(|(name, problem)| (&**name, problem.as_str())),
            pool: self.pool.referenced(),
            template: self.template.referenced(),
            exposure: self.exposure.as_deref(),
            legacy_policy: self.legacy_policy.as_deref(),
            first_observed: note.first_observed,
            launched: note.launched.as_ref(),
            trace: None,
            settings,
        }
    }
}

fn broken(world: &World, claim: &ClaimView) -> Option<(Arc<str>, String)> {
    let namesake = claim.metadata.key.sibling(&names::cold_sandbox(claim.metadata.name()));
    let of_claim = world.sandboxes.unreadable_of(&claim.metadata.uid);
    let broken = of_claim.or_else(|| world.sandboxes.unreadable(&namesake))?;
    Some((Arc::clone(&broken.metadata.key.name), broken.to_string()))
}

/// The template of the claim's pool, or the one that it names itself.
fn template(world: &World, claim: &ClaimView, pool: &Found<PoolView>) -> Found<TemplateView> {
    let name = match (&claim.request, pool) {
        (Request::Template { template, .. } | Request::Fresh { template, .. }, _) => template,
        (Request::Pool(_), Found::There(pool)) => &pool.template,
        (Request::Pool(_), _) => return Found::Missing,
    };
    let found = Found::in_cache(&world.templates, &claim.metadata.key.sibling(name));
    match &found {
        Found::There(template) => world.template_collision(template).map_or(found, Found::Unfit),
        _ => found,
    }
}
