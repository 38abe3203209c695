//! Watches over the invariants: what the operator was told, what it did, and whether that was allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use asb_core::write::Kind;
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use crate::invariants;
use crate::object::{controller_of, owners, uid, version};
use crate::store::{Change, Id, Store};
use crate::world::Actor;

/// What the operator knew when it sent a write, or learned before that took effect: the newest that it was served of
/// everything that matters to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) process: u32,
    /// Whether it is this process's turn to write, when the write takes effect.
    pub(crate) is_in_charge: bool,
    /// When, for what was sent to change something.
    pub(crate) at: Option<Instant>,
    pub(crate) believed: BTreeMap<Id, Vec<Arc<Value>>>,
    /// Of what processes did that were not in charge, all that this one could know of.
    pub(crate) known_late: BTreeSet<String>,
}

impl Sent {
    /// An object as the operator could take it to be: as it was last served, or at that moment before.
    pub(crate) fn believed(&self, kind: Kind, name: &str) -> &[Arc<Value>] {
        self.believed.get(&(kind, name.to_owned())).map_or(&[], Vec::as_slice)
    }
}

#[derive(Debug)]
struct Served {
    object: Arc<Value>,
    at: Instant,
    /// What was believed until that moment.
    before: Vec<Arc<Value>>,
}

/// What one process was told.
type Knowledge = BTreeMap<Id, Served>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) at: Instant,
    pub(crate) is_warm: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Witness {
    served: BTreeMap<u32, Knowledge>,
    /// Sandboxes that were made, or bound to a claim, by a process that was not in charge: their UIDs and versions then.
    late: BTreeMap<String, (String, u64)>,
    /// When each Sandbox was last made, by its name and the UID of whom it was made for.
    made: BTreeMap<(String, String), Instant>,
    /// The claim that controls or controlled each Sandbox, by UIDs.
    pub(crate) claim_of: BTreeMap<String, String>,
    /// When each claim got its first Sandbox, and whether that came from a pool, by UID.
    pub(crate) bound: BTreeMap<String, Bound>,
    /// The claims whose users were told of a Sandbox.
    pub(crate) told: BTreeSet<String>,
    /// What the operator has written.
    pub(crate) writes: usize,
    pub(crate) violation: Option<String>,
}

impl Witness {
    /// The operator is told of an object.
    pub(crate) fn serve(&mut self, process: u32, kind: Kind, object: &Arc<Value>) {
        let id = (kind, crate::object::name(object).to_owned());
        let now = Instant::now();
        let known = self.served.entry(process).or_default();
        let before = match known.remove(&id) {
            Some(last) if version(&last.object) >= version(object) => {
                known.insert(id, last);
                return;
            }
            Some(last) if last.at == now => last.before.into_iter().chain([last.object]).collect(),
            Some(last) => vec![last.object],
            None => Vec::new(),
        };
        known.insert(id, Served { object: Arc::clone(object), at: now, before });
    }

    /// What the operator knows of the object that it is about to write, and of its owners, those it has and those it gets.
    pub(crate) fn sent(&self, process: u32, target: &Id, body: &Value, store: &Store) -> Sent {
        let current = store.get(target.0, &target.1);
        let named = current.into_iter().flat_map(|object| owners(object)).chain(owners(body));
        let ids = named.filter_map(|owner| {
            let kind = Kind::ALL.into_iter().find(|kind| owner["kind"] == kind.name())?;
            Some((kind, owner["name"].as_str()?.to_owned()))
        });
        let believed =
            ids.chain([target.clone()]).map(|id| (id.clone(), self.believed(process, &id))).collect();
        let is_known = |(name, version_then): &(String, u64)| {
            let known = self.served.get(&process).and_then(|known| known.get(&(Kind::Sandbox, name.clone())));
            known.is_some_and(|known| version(&known.object) >= *version_then)
        };
        let known_late = self.late.iter().filter(|(_, late)| is_known(late)).map(|(uid, _)| uid.clone());
        Sent {
            process,
            at: Some(Instant::now()),
            is_in_charge: true,
            believed,
            known_late: known_late.collect(),
        }
    }

    fn believed(&self, process: u32, id: &Id) -> Vec<Arc<Value>> {
        let Some(served) = self.served.get(&process).and_then(|known| known.get(id)) else {
            return Vec::new();
        };
        let earlier = served.before.iter().filter(|_| served.at == Instant::now());
        earlier.chain([&served.object]).cloned().collect()
    }

    /// Adds what the operator has been told since it sent a write: another that it sent later may have overtaken this one.
    pub(crate) fn catch_up(&self, sent: &mut Sent) {
        for (id, believed) in &mut sent.believed {
            believed.extend(self.believed(sent.process, id));
        }
    }

    /// Whether a Sandbox is as it is by a process that was not in charge, and the one that sent this could not know.
    pub(crate) fn is_news(&self, sandbox: &Value, sent: &Sent) -> bool {
        self.late.contains_key(uid(sandbox)) && !sent.known_late.contains(uid(sandbox))
    }

    /// Something has changed, by somebody.
    pub(crate) fn saw(&mut self, by: Actor<'_>, change: &Change, store: &Store, now: Timestamp) {
        if let Actor::Operator(sent) = by {
            self.writes += 1;
            if let Err(violation) = invariants::check(self, sent, change, store, now) {
                self.violation.get_or_insert(violation);
            }
            if !sent.is_in_charge || self.is_echo(sent, change) {
                self.note_late(change);
            }
        }
        self.remember(change);
    }

    /// Whether this is a create that was given up and tried again, and what that made is already gone.
    pub(crate) fn is_echo(&self, sent: &Sent, change: &Change) -> bool {
        made(change)
            .and_then(|made| self.made.get(&made))
            .is_some_and(|made_at| sent.at.is_some_and(|at| at < *made_at))
    }

    /// Notes who came to a pool or to a claim by a process that was not in charge, or too late.
    fn note_late(&mut self, change: &Change) {
        let Some(after) = change.after.as_ref().filter(|_| change.id.0 == Kind::Sandbox) else { return };
        let owner = |object: &Arc<Value>| controller_of(object, Kind::SandboxClaim).map(str::to_owned);
        if change.before.as_ref().map(owner) != Some(owner(after)) {
            self.late.insert(uid(after).to_owned(), (change.id.1.clone(), version(after)));
        }
    }

    fn remember(&mut self, change: &Change) {
        let Some(after) = &change.after else { return };
        match change.id.0 {
            Kind::Sandbox => {
                self.made.extend(made(change).map(|made| (made, Instant::now())));
                if let Some(claim) = controller_of(after, Kind::SandboxClaim) {
                    self.claim_of.insert(uid(after).to_owned(), claim.to_owned());
                    let bound = Bound { at: Instant::now(), is_warm: change.before.is_some() };
                    self.bound.entry(claim.to_owned()).or_insert(bound);
                }
            }
            Kind::SandboxClaim
                if after["status"]["sandbox"]["name"].as_str().is_some_and(|name| !name.is_empty()) =>
            {
                self.told.insert(uid(after).to_owned());
            }
            _ => {}
        }
    }
}

/// What was made, and for whom.
fn made(change: &Change) -> Option<(String, String)> {
    let after = change.after.as_ref().filter(|_| change.id.0 == Kind::Sandbox && change.before.is_none())?;
    let kinds = [Kind::SandboxClaim, Kind::SandboxWarmPool];
    let owner = kinds.into_iter().find_map(|kind| controller_of(after, kind))?;
    Some((change.id.1.clone(), owner.to_owned()))
}
