//! Who is owned by whom.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::object::Object;
use crate::store::Key;

#[derive(Default)]
pub(super) struct Dependents {
    /// By the uid of the owner.
    by_owner: HashMap<String, BTreeSet<Key>>,
    /// The uids that each object names, so that they can be taken back.
    owners: HashMap<Key, Vec<String>>,
}

impl Dependents {
    pub(super) fn put(&mut self, key: &Key, object: &Value) {
        let owners: Vec<String> =
            object.owners().iter().filter_map(|owner| owner["uid"].as_str()).map(str::to_owned).collect();
        if self.owners.get(key).map_or(&[][..], Vec::as_slice) == owners {
            return;
        }
        self.remove(key);
        for owner in &owners {
            self.by_owner.entry(owner.clone()).or_default().insert(key.clone());
        }
        if !owners.is_empty() {
            self.owners.insert(key.clone(), owners);
        }
    }

    pub(super) fn remove(&mut self, key: &Key) {
        for owner in self.owners.remove(key).unwrap_or_default() {
            if let Some(keys) = self.by_owner.get_mut(&owner) {
                keys.remove(key);
                if keys.is_empty() {
                    self.by_owner.remove(&owner);
                }
            }
        }
    }

    pub(super) fn of(&self, uid: &str) -> impl Iterator<Item = Key> {
        self.by_owner.get(uid).into_iter().flatten().cloned().collect::<Vec<_>>().into_iter()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owned_by(uids: &[&str]) -> Value {
        let owners: Vec<Value> = uids.iter().map(|uid| json!({"uid": uid})).collect();
        json!({"metadata": {"ownerReferences": owners}})
    }

    #[test]
    fn an_object_is_found_by_the_owners_that_it_has_now() {
        let key = Key::new("pods", Some("a"), "x");
        let mut index = Dependents::default();
        index.put(&key, &owned_by(&["1", "2"]));
        index.put(&key, &owned_by(&["2", "3"]));
        let owners: Vec<bool> = ["1", "2", "3"].iter().map(|uid| index.of(uid).next().is_some()).collect();
        assert_eq!(owners, [false, true, true]);
        index.remove(&key);
        assert!(index.by_owner.is_empty() && index.owners.is_empty());
    }
}
