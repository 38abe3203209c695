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
    pub(crate) believed: BTreeMap<Id, Vec<Arc<Value>>>,
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

#[derive(Debug, Default)]
pub(crate) struct Witness {
    served: BTreeMap<Id, Served>,
    /// The claim that controls or controlled each Sandbox, by UIDs.
    pub(crate) claim_of: BTreeMap<String, String>,
    /// The claims whose users were told of a Sandbox.
    pub(crate) told: BTreeSet<String>,
    /// What the operator has written.
    pub(crate) writes: usize,
    pub(crate) violation: Option<String>,
}

impl Witness {
    /// A new process knows nothing.
    pub(crate) fn restart(&mut self) {
        self.served.clear();
    }

    /// The operator is told of an object.
    pub(crate) fn serve(&mut self, kind: Kind, object: &Arc<Value>) {
        let id = (kind, crate::object::name(object).to_owned());
        let now = Instant::now();
        let before = match self.served.remove(&id) {
            Some(known) if version(&known.object) >= version(object) => {
                self.served.insert(id, known);
                return;
            }
            Some(known) if known.at == now => known.before.into_iter().chain([known.object]).collect(),
            Some(known) => vec![known.object],
            None => Vec::new(),
        };
        self.served.insert(id, Served { object: Arc::clone(object), at: now, before });
    }

    /// What the operator knows of the object that it is about to write, and of its owners, those it has and those it gets.
    pub(crate) fn sent(&self, process: u32, target: &Id, body: &Value, store: &Store) -> Sent {
        let current = store.get(target.0, &target.1);
        let named = current.into_iter().flat_map(|object| owners(object)).chain(owners(body));
        let ids = named.filter_map(|owner| {
            let kind = Kind::ALL.into_iter().find(|kind| owner["kind"] == kind.name())?;
            Some((kind, owner["name"].as_str()?.to_owned()))
        });
        let believed = ids.chain([target.clone()]).map(|id| (id.clone(), self.believed(&id))).collect();
        Sent { process, believed }
    }

    fn believed(&self, id: &Id) -> Vec<Arc<Value>> {
        let Some(served) = self.served.get(id) else { return Vec::new() };
        let earlier = served.before.iter().filter(|_| served.at == Instant::now());
        earlier.chain([&served.object]).cloned().collect()
    }

    /// Adds what the operator has been told since it sent a write: another that it sent later may have overtaken this one.
    pub(crate) fn catch_up(&self, sent: &mut Sent) {
        for (id, believed) in &mut sent.believed {
            believed.extend(self.believed(id));
        }
    }

    /// Something has changed, by somebody.
    pub(crate) fn saw(&mut self, by: Actor<'_>, change: &Change, store: &Store, now: Timestamp) {
        if let Actor::Operator(sent) = by {
            self.writes += 1;
            if let Err(violation) = invariants::check(self, sent, change, store, now) {
                self.violation.get_or_insert(violation);
            }
        }
        self.remember(change);
    }

    fn remember(&mut self, change: &Change) {
        let Some(after) = &change.after else { return };
        match change.id.0 {
            Kind::Sandbox => {
                if let Some(claim) = controller_of(after, Kind::SandboxClaim) {
                    self.claim_of.insert(uid(after).to_owned(), claim.to_owned());
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
