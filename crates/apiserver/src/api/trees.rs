//! Trees of the objects of kinds that the rules look at all together, such as Services for a free address. Reading each anew
//! for every write would take longer than the write.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::store::{Entry, Revision};

/// By resource, and by the revision that wrote the object: no two states share one.
#[derive(Default)]
pub(super) struct Trees(Mutex<HashMap<String, HashMap<Revision, Arc<Value>>>>);

impl Trees {
    /// All objects of a resource, without who owns which fields. Those of before that are not among them are forgotten.
    pub(super) fn of(&self, resource: &str, entries: &[Arc<Entry>]) -> Vec<Arc<Value>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.remove(resource).unwrap_or_default();
        let tree = |entry: &Arc<Entry>| known.get(&entry.revision).cloned().unwrap_or_else(|| read(entry));
        let trees: Vec<Arc<Value>> = entries.iter().map(tree).collect();
        let kept = entries.iter().map(|entry| entry.revision).zip(trees.iter().cloned());
        all.insert(resource.to_owned(), kept.collect());
        trees
    }
}

fn read(entry: &Arc<Entry>) -> Arc<Value> {
    Arc::new(entry.text.value_without_managers())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::Key;

    fn entry(name: &str, revision: u64) -> Arc<Entry> {
        let object =
            json!({"metadata": {"managedFields": [{}]}, "spec": {"name": name, "revision": revision}});
        Entry::of(Key::new("services", None, name), Revision(revision), &object)
    }

    #[test]
    fn a_tree_lasts_as_long_as_the_state_it_shows() {
        let trees = Trees::default();
        let before = trees.of("services", &[entry("a", 1), entry("b", 2)]);
        assert_eq!(*before[0], json!({"metadata": {}, "spec": {"name": "a", "revision": 1}}));
        let after = trees.of("services", &[entry("a", 3), entry("b", 2)]);
        assert_eq!(after[0]["spec"]["revision"], 3);
        assert!(Arc::ptr_eq(&before[1], &after[1]));
        assert_eq!(Arc::strong_count(&before[0]), 1, "nobody else holds what is gone");
    }
}
