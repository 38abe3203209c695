//! Objects in short spellings, and whom a change of one concerns: itself. A change of an object that one stands for, or might,
//! concerns it too.

use asb_core::object::Key;
use asb_core::views::{
    Canonical, ClaimView, PoolView, ShortClaim, ShortPool, ShortTemplate, ShorthandView, Spelling,
    TemplateView,
};
use asb_core::write::Kind;

use super::{Held, Wake, World};
use crate::cache::{Cache, Change, Entry};

#[derive(Debug, Default)]
pub(crate) struct Shorthands {
    pub(crate) claims: Cache<ShorthandView<ShortClaim>>,
    pub(crate) templates: Cache<ShorthandView<ShortTemplate>>,
    pub(crate) pools: Cache<ShorthandView<ShortPool>>,
}

impl Shorthands {
    pub(super) fn is_synced(&self) -> bool {
        self.claims.is_synced() && self.templates.is_synced() && self.pools.is_synced()
    }

    pub(super) fn everything(&self) -> impl Iterator<Item = Wake> {
        let claims = self.claims.keys().into_iter().map(|key| (ShortClaim::KIND, key));
        let templates = self.templates.keys().into_iter().map(|key| (ShortTemplate::KIND, key));
        let pools = self.pools.keys().into_iter().map(|key| (ShortPool::KIND, key));
        templates.chain(pools).chain(claims).map(|(kind, key)| Wake::Shorthand(kind, key.clone()))
    }

    pub(super) fn size(&self) -> usize {
        self.claims.size() + self.templates.size() + self.pools.size()
    }
}

/// A short spelling of a kind that is held in the [`World`].
pub(crate) trait Short: Spelling + Sized {
    type Canonical: Canonical + Send + Sync + 'static;
    /// As metrics and logs name what looks after it.
    const CONTROLLER: &'static str;

    fn cache(shorthands: &Shorthands) -> &Cache<ShorthandView<Self>>;
    fn cache_mut(shorthands: &mut Shorthands) -> &mut Cache<ShorthandView<Self>>;

    /// The object of the kind that it stands for under a name.
    fn counterpart<'a>(world: &'a World, key: &Key) -> Option<&'a Entry<Self::Canonical>>;
}

impl Short for ShortClaim {
    type Canonical = ClaimView;
    const CONTROLLER: &'static str = "sandboxclaim-shorthand";

    fn cache(shorthands: &Shorthands) -> &Cache<ShorthandView<Self>> {
        &shorthands.claims
    }

    fn cache_mut(shorthands: &mut Shorthands) -> &mut Cache<ShorthandView<Self>> {
        &mut shorthands.claims
    }

    fn counterpart<'a>(world: &'a World, key: &Key) -> Option<&'a Entry<Self::Canonical>> {
        world.claims.entry(key)
    }
}

impl Short for ShortTemplate {
    type Canonical = TemplateView;
    const CONTROLLER: &'static str = "sandboxtemplate-shorthand";

    fn cache(shorthands: &Shorthands) -> &Cache<ShorthandView<Self>> {
        &shorthands.templates
    }

    fn cache_mut(shorthands: &mut Shorthands) -> &mut Cache<ShorthandView<Self>> {
        &mut shorthands.templates
    }

    fn counterpart<'a>(world: &'a World, key: &Key) -> Option<&'a Entry<Self::Canonical>> {
        world.templates.entry(key)
    }
}

impl Short for ShortPool {
    type Canonical = PoolView;
    const CONTROLLER: &'static str = "sandboxwarmpool-shorthand";

    fn cache(shorthands: &Shorthands) -> &Cache<ShorthandView<Self>> {
        &shorthands.pools
    }

    fn cache_mut(shorthands: &mut Shorthands) -> &mut Cache<ShorthandView<Self>> {
        &mut shorthands.pools
    }

    fn counterpart<'a>(world: &'a World, key: &Key) -> Option<&'a Entry<Self::Canonical>> {
        world.pools.entry(key)
    }
}

impl<S: Short> Held for ShorthandView<S> {
    fn cache(world: &mut World) -> &mut Cache<Self> {
        S::cache_mut(&mut world.shorthands)
    }

    fn consequences(_: &mut World, change: &Change<Self>, wakes: &mut Vec<Wake>) {
        wakes.push(Wake::Shorthand(S::KIND, change.key().clone()));
    }
}

impl World {
    /// The object of a short spelling under a name, if there is one.
    pub(super) fn spelled(&self, kind: Kind, key: &Key) -> Option<Wake> {
        let shorthands = &self.shorthands;
        let is_there = match kind.canonical() {
            Kind::SandboxClaim => shorthands.claims.entry(key).is_some(),
            Kind::SandboxTemplate => shorthands.templates.entry(key).is_some(),
            _ => shorthands.pools.entry(key).is_some(),
        };
        is_there.then(|| Wake::Shorthand(kind, key.clone()))
    }
}
