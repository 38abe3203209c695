//! Keys, by another key that they have in common.

use std::collections::{BTreeMap, BTreeSet};

use asb_core::object::Key;
use asb_types::hash::fnv1a_hex;

/// Where objects of one namespace are whose names have one hash.
pub(crate) fn hash_key(key: &Key) -> Key {
    key.sibling(&fnv1a_hex(&key.name))
}

#[derive(Debug, Default)]
pub(crate) struct Index(BTreeMap<Key, BTreeSet<Key>>);

impl Index {
    /// The keys under `common`, in order.
    pub(crate) fn get(&self, common: &Key) -> impl Iterator<Item = &Key> {
        self.0.get(common).into_iter().flatten()
    }

    /// In an index by hash of the name: the others whose names have the hash of this one's.
    pub(crate) fn namesakes(&self, key: &Key) -> impl Iterator<Item = &Key> {
        let others = self.0.get(&hash_key(key)).into_iter().flatten();
        others.filter(move |other| other.name != key.name)
    }

    pub(crate) fn size(&self) -> usize {
        self.0.len()
    }

    /// Moves `key` from one place to another.
    pub(crate) fn update(&mut self, key: &Key, before: Option<Key>, after: Option<Key>) {
        if before == after {
            return;
        }
        if let Some(before) = before
            && let Some(keys) = self.0.get_mut(&before)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.0.remove(&before);
            }
        }
        if let Some(after) = after {
            self.0.entry(after).or_default().insert(key.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_where_it_was_last_put() {
        let (key, old, new) = (Key::new("n", "claim"), Key::new("n", "old"), Key::new("n", "new"));
        let mut index = Index::default();
        index.update(&key, None, Some(old.clone()));
        index.update(&key, Some(old.clone()), Some(new.clone()));
        assert_eq!(index.get(&old).count(), 0);
        assert_eq!(index.get(&new).collect::<Vec<_>>(), [&key]);
        index.update(&key, Some(new), None);
        assert!(index.0.is_empty());
    }
}
