//! What controllers remember about objects from one look to the next. It goes with the objects it is about, and all of it
//! is lost in a restart without harm: what matters is in the objects.

use crate::claims::Notes as ClaimNotes;
use crate::pools::Ledgers;
use crate::sandboxes::Notes as SandboxNotes;
use crate::spans::Remembered;
use crate::world::World;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) sandboxes: SandboxNotes,
    pub(crate) claims: ClaimNotes,
    pub(crate) pools: Ledgers,
    pub(crate) traces: Remembered,
}

impl Memory {
    /// Begins another term. Only of pools is it worth knowing what the last one has left undone.
    pub(crate) fn begin(&self, world: &World) {
        self.sandboxes.clear();
        self.claims.clear();
        self.traces.clear();
        self.pools.begin(|pool, uid| world.pools.uid(pool).as_ref() == Some(uid));
    }

    /// How many objects there are notes about, by their kind.
    pub(crate) fn sizes(&self) -> [(&'static str, usize); 4] {
        let Self { sandboxes, claims, pools, traces } = self;
        [
            ("notes about Sandboxes", sandboxes.size()),
            ("notes about claims", claims.size()),
            ("notes about pools", pools.size()),
            ("traces", traces.size()),
        ]
    }
}
