//! Keeps the book of warm Sandboxes: which may be handed out, and what claims ask of it.

use std::sync::Arc;

use asb_core::allocation::{Answer, Asker, Member, Progress};
use asb_core::blueprint::Blueprint;
use asb_core::object::{Key, Uid};
use asb_core::pool::hands_out_stale;
use asb_core::views::{PoolView, Request, SandboxView};
use asb_core::write::Kind;
use asb_types::annotations::TEMPLATE_REF;
use asb_types::labels::{LAUNCH_COLD, LAUNCH_TYPE, TEMPLATE_REF_HASH, WARM_POOL};
use jiff::SignedDuration;

use super::{Wake, World, hash_key};
use crate::cache::Change;

impl World {
    /// What the book tells a claim, and which other claims have got something by its asking.
    pub(crate) fn ask(&mut self, asker: &Asker, request: &Request) -> (Answer, Vec<Wake>) {
        let told = self.book.ask(asker, request, self.now);
        (told.answer, claims(told.wake))
    }

    /// A Sandbox that is not what the book takes it for. It comes back when it changes.
    pub(crate) fn withdraw(&mut self, sandbox: &Key) -> Vec<Wake> {
        claims(self.book.withdraw(sandbox, self.now))
    }

    pub(crate) fn give_back(&mut self, claim: &Uid) -> Vec<Wake> {
        claims(self.book.give_back(claim, self.now))
    }

    pub(crate) fn leave(&mut self, claim: &Uid) -> Vec<Wake> {
        claims(self.book.leave(claim, self.now))
    }

    /// How long the members of a pool took that became Ready since this was last asked.
    pub(crate) fn take_starts(&mut self, pool: &Key) -> Vec<SignedDuration> {
        self.starts.take(pool)
    }

    /// Brings the book up to date with a Sandbox.
    pub(super) fn book_sandbox(&mut self, change: &Change<SandboxView>) -> Vec<Wake> {
        self.note_start(change);
        let sandbox = change.after.as_ref().and_then(|entry| entry.as_ref().ok());
        match sandbox.and_then(|sandbox| self.member(sandbox)) {
            Some(member) => claims(self.book.offer(member, self.now)),
            None => self.withdraw(change.key()),
        }
    }

    /// Brings the book up to date with a pool, and with its members, which it may or may not hand out any more.
    pub(super) fn book_pool(&mut self, change: &Change<PoolView>) -> Vec<Wake> {
        let pool = change.after.as_ref().and_then(|entry| entry.as_ref().ok());
        let woken = if let Some(pool) = pool.filter(|pool| !pool.metadata.is_deleting()) {
            self.book.pool_is(change.key(), wanted(pool), self.now)
        } else {
            self.starts.take(change.key());
            self.book.pool_is_gone(change.key(), self.now)
        };
        let mut wakes = claims(woken);
        let strategy = |pool: &Arc<PoolView>| (hands_out_stale(pool), pool.template.clone());
        let mut strategies = change.views().map(strategy);
        if strategies.next() != strategies.next() {
            wakes.extend(self.book_members(change.key()));
        }
        wakes
    }

    /// Looks at every member of a pool again.
    pub(super) fn book_members(&mut self, pool: &Key) -> Vec<Wake> {
        let members: Vec<_> = self.members_of_hash.get(&hash_key(pool)).cloned().collect();
        let mut wakes = Vec::new();
        for key in members {
            let woken = match self.sandboxes.get(&key).cloned().and_then(|sandbox| self.member(&sandbox)) {
                Some(member) => self.book.offer(member, self.now),
                None => self.book.withdraw(&key, self.now),
            };
            wakes.extend(claims(woken));
        }
        wakes
    }

    /// The Sandbox as the book is to know it, if it may be handed out.
    fn member(&self, sandbox: &SandboxView) -> Option<Member> {
        let metadata = &sandbox.metadata;
        let owner = metadata.owner.as_ref().filter(|owner| owner.is(Kind::SandboxWarmPool))?;
        let pool = self
            .pools
            .get(&metadata.key.sibling(&owner.name))
            .filter(|pool| pool.metadata.uid == owner.uid)?;
        let is_labelled = metadata.label(WARM_POOL).is_some() && metadata.label(TEMPLATE_REF_HASH).is_some();
        if metadata.is_deleting() || !is_labelled || !self.is_fit(pool, sandbox) {
            return None;
        }
        Some(Member {
            sandbox: metadata.key.clone(),
            uid: metadata.uid.clone(),
            pool: Arc::clone(&owner.name),
            template: metadata.annotation(TEMPLATE_REF).unwrap_or(&pool.template).into(),
            node: sandbox.status.node_name.as_str().into(),
            progress: progress(sandbox),
            started: metadata.created,
        })
    }

    /// Where stale members are deleted at once, a claim that took one would take it from under the pool's hands.
    fn is_fit(&self, pool: &PoolView, sandbox: &SandboxView) -> bool {
        hands_out_stale(pool)
            || self
                .templates
                .get(&pool.metadata.key.sibling(&pool.template))
                .is_some_and(|template| Blueprint::of(template).is_fresh(sandbox))
    }

    /// Learns from a Sandbox that became Ready how long that takes.
    fn note_start(&mut self, change: &Change<SandboxView>) {
        let (Some(Ok(before)), Some(Ok(after))) = (&change.before, &change.after) else { return };
        let Some(owner) = after.metadata.owner.as_ref().filter(|_| !before.is_ready() && after.is_ready())
        else {
            return;
        };
        let took = self.now.duration_since(after.metadata.created);
        let key = &after.metadata.key;
        if owner.is(Kind::SandboxWarmPool) {
            self.starts.note(key.sibling(&owner.name), took);
        } else if after.metadata.label(LAUNCH_TYPE) == Some(LAUNCH_COLD)
            && let Some(template) = after.metadata.annotation(TEMPLATE_REF)
        {
            self.book.observe_start(&key.sibling(template), took);
        }
    }
}

fn claims(keys: Vec<Key>) -> Vec<Wake> {
    keys.into_iter().map(Wake::Claim).collect()
}

/// How many members a pool is to have: as its status says where demand decides.
fn wanted(pool: &PoolView) -> usize {
    match (pool.min_size, pool.max_size) {
        (None, None) => pool.replicas,
        (least, _) => {
            let decided = pool.status.desired_replicas.and_then(|size| usize::try_from(size).ok());
            decided.unwrap_or_default().max(least.unwrap_or_default())
        }
    }
}

fn progress(sandbox: &SandboxView) -> Progress {
    match (sandbox.status.pod_ips.is_empty(), sandbox.is_ready()) {
        (true, _) => Progress::Starting,
        (false, false) => Progress::Reachable,
        (false, true) => Progress::Ready,
    }
}
