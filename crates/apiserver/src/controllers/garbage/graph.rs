//! Who is owned by whom, who waits for what it owns, and which owners are known to be gone. Follows the store, and says after
//! each change which objects may need something. Pure.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use crate::deletion::FOREGROUND;
use crate::store::{Entry, Event, EventKind, Key};

#[derive(Default)]
pub(super) struct Graph {
    /// Objects that have owners or wait for what they own.
    nodes: HashMap<Key, Node>,
    /// What is owned, by the uid of the owner.
    owned: HashMap<String, BTreeSet<Key>>,
    /// Objects that wait for what they own, by uid.
    waiting: HashMap<String, Key>,
    /// Uids of owners that were seen to go, while somebody names them.
    gone: HashSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    uid: String,
    owners: Vec<Reference>,
    waits: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Reference {
    uid: String,
    /// Whether an owner that waits for what it owns waits for this object.
    blocks: bool,
}

/// Whether an object that is being deleted waits for what it owns.
pub(super) fn waits(entry: &Entry) -> bool {
    entry.summary.is_deleting && entry.summary.has_finalizer(FOREGROUND)
}

/// Whether an object may ever need anything.
pub(super) fn is_of_interest(entry: &Entry) -> bool {
    entry.summary.has_owners || entry.summary.is_deleting
}

impl Node {
    fn of(entry: &Entry) -> Self {
        let reference = |owner: &Value| {
            let uid = owner["uid"].as_str()?.to_owned();
            Some(Reference { uid, blocks: owner["blockOwnerDeletion"] == true })
        };
        let owners = entry.summary.has_owners.then(|| entry.text.at("/metadata/ownerReferences")).flatten();
        let owners = owners.iter().filter_map(Value::as_array).flatten().filter_map(reference).collect();
        Self { uid: entry.summary.uid.to_string(), owners, waits: waits(entry) }
    }

    fn blocked(&self) -> impl Iterator<Item = &str> {
        self.owners.iter().filter(|owner| owner.blocks).map(|owner| owner.uid.as_str())
    }

    fn blocks(&self, owner: &str) -> bool {
        self.blocked().any(|uid| uid == owner)
    }
}

impl Graph {
    /// Learns everything anew. Who was seen to go stays gone.
    pub(super) fn reset<'a>(&mut self, entries: impl Iterator<Item = &'a Entry>) {
        let gone = std::mem::take(self).gone;
        entries.for_each(|entry| self.put(&entry.key, Node::of(entry)));
        self.gone = gone.into_iter().filter(|uid| self.owned.contains_key(uid)).collect();
    }

    /// Takes in a change, and says which objects may need something now.
    pub(super) fn take(&mut self, event: &Event) -> Vec<Key> {
        let (key, uid) = (&event.entry.key, &*event.entry.summary.uid);
        let before = self.nodes.get(key).cloned().unwrap_or_default();
        if event.kind == EventKind::Deleted {
            self.remove(key);
            if self.owned.contains_key(uid) {
                self.gone.insert(uid.to_owned());
            }
            return self.owned_by(uid).chain(self.waiting_among(before.blocked())).collect();
        }
        let node = Node::of(&event.entry);
        let released: Vec<Key> =
            self.waiting_among(before.blocked().filter(|owner| !node.blocks(owner))).collect();
        let begins_to_wait = node.waits && !before.waits;
        self.put(key, node);
        let own = is_of_interest(&event.entry).then(|| key.clone());
        let owned: Vec<Key> = self.owned_by(uid).filter(|_| begins_to_wait).collect();
        own.into_iter().chain(owned).chain(released).collect()
    }

    pub(super) fn owned_by(&self, uid: &str) -> impl Iterator<Item = Key> {
        self.owned.get(uid).into_iter().flatten().cloned()
    }

    pub(super) fn is_gone(&self, uid: &str) -> bool {
        self.gone.contains(uid)
    }

    /// Whether an object that waits for what it owns has to wait on. Objects that wait for each other in a circle do so only
    /// for what is outside of it.
    pub(super) fn is_blocked(&self, uid: &str) -> bool {
        let circle = self.waiting_for(uid);
        let (mut seen, mut open) = (HashSet::new(), vec![uid]);
        while let Some(owner) = open.pop() {
            for node in self.blocking(owner) {
                if !circle.contains(node.uid.as_str()) {
                    return true;
                }
                if seen.insert(node.uid.as_str()) {
                    open.push(&node.uid);
                }
            }
        }
        false
    }

    /// The uids of all that wait for an object, be it only because they wait for others that do.
    fn waiting_for<'a>(&'a self, uid: &'a str) -> HashSet<&'a str> {
        let (mut found, mut open) = (HashSet::new(), vec![uid]);
        while let Some(uid) = open.pop() {
            let node = self.waiting.get(uid).and_then(|key| self.nodes.get(key));
            let owners =
                node.into_iter().flat_map(Node::blocked).filter(|uid| self.waiting.contains_key(*uid));
            open.extend(owners.filter(|owner| found.insert(*owner)));
        }
        found
    }

    fn blocking<'a>(&'a self, owner: &'a str) -> impl Iterator<Item = &'a Node> {
        let nodes = self.owned.get(owner).into_iter().flatten().filter_map(|key| self.nodes.get(key));
        nodes.filter(move |node| node.blocks(owner))
    }

    fn waiting_among<'a>(&self, uids: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Key> {
        uids.filter_map(|uid| self.waiting.get(uid)).cloned()
    }

    fn put(&mut self, key: &Key, node: Node) {
        if self.nodes.get(key) == Some(&node) {
            return;
        }
        self.remove(key);
        for owner in &node.owners {
            self.owned.entry(owner.uid.clone()).or_default().insert(key.clone());
        }
        if node.waits {
            self.waiting.insert(node.uid.clone(), key.clone());
        }
        if node.waits || !node.owners.is_empty() {
            self.nodes.insert(key.clone(), node);
        }
    }

    fn remove(&mut self, key: &Key) {
        let Some(node) = self.nodes.remove(key) else { return };
        self.waiting.remove(&node.uid);
        for Reference { uid, .. } in node.owners {
            let Some(owned) = self.owned.get_mut(&uid) else { continue };
            owned.remove(key);
            if owned.is_empty() {
                self.owned.remove(&uid);
                self.gone.remove(&uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::Object;
    use crate::store::Revision;

    fn key(name: &str) -> Key {
        Key::new("pods", Some("a"), name)
    }

    /// An object whose uid is its name.
    fn object(name: &str, owners: &[&str]) -> Value {
        let owners: Vec<Value> =
            owners.iter().map(|uid| json!({"uid": uid, "blockOwnerDeletion": true})).collect();
        json!({"metadata": {"name": name, "uid": name, "ownerReferences": owners}})
    }

    fn waiting(name: &str, owners: &[&str]) -> Value {
        let mut object = object(name, owners);
        object.set_meta("deletionTimestamp", "2026-01-01T00:00:00Z");
        object.set_finalizers([FOREGROUND]);
        object
    }

    fn event(kind: EventKind, value: Value) -> Event {
        Event { kind, entry: Entry::of(key(value.name()), Revision(1), &value), previous: None }
    }

    fn put(graph: &mut Graph, value: Value) -> BTreeSet<Key> {
        graph.take(&event(EventKind::Modified, value)).into_iter().collect()
    }

    fn keys(names: &[&str]) -> BTreeSet<Key> {
        names.iter().map(|name| key(name)).collect()
    }

    #[test]
    fn an_object_is_found_by_the_owners_that_it_has_now() {
        let mut graph = Graph::default();
        put(&mut graph, object("x", &["1", "2"]));
        put(&mut graph, object("x", &["2", "3"]));
        assert_eq!(["1", "2", "3"].map(|uid| graph.owned_by(uid).count()), [0, 1, 1]);
        graph.take(&event(EventKind::Deleted, object("x", &["2", "3"])));
        assert!(graph.owned.is_empty() && graph.nodes.is_empty());
    }

    #[test]
    fn an_owner_that_waits_is_looked_at_when_an_object_lets_go_of_it() {
        let mut graph = Graph::default();
        put(&mut graph, waiting("owner", &[]));
        put(&mut graph, object("x", &["owner", "other"]));
        assert!(graph.is_blocked("owner"));
        assert_eq!(put(&mut graph, object("x", &["other"])), keys(&["x", "owner"]));
        assert!(!graph.is_blocked("owner"));
        put(&mut graph, object("x", &["owner"]));
        let mut harmless = object("x", &["owner"]);
        harmless["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = false.into();
        assert_eq!(put(&mut graph, harmless), keys(&["x", "owner"]));
    }

    #[test]
    fn what_an_object_owns_is_looked_at_when_it_begins_to_wait() {
        let mut graph = Graph::default();
        put(&mut graph, object("x", &["owner"]));
        let mut deleted = object("owner", &[]);
        deleted.set_meta("deletionTimestamp", "2026-01-01T00:00:00Z");
        assert_eq!(put(&mut graph, deleted), keys(&["owner"]));
        assert_eq!(put(&mut graph, waiting("owner", &[])), keys(&["owner", "x"]));
        assert_eq!(put(&mut graph, waiting("owner", &[])), keys(&["owner"]));
    }

    #[test]
    fn a_circle_waits_only_for_what_is_outside_of_it() {
        let mut graph = Graph::default();
        for (name, owner) in [("a", "c"), ("b", "a"), ("c", "b")] {
            put(&mut graph, waiting(name, &[owner]));
        }
        assert_eq!(["a", "b", "c"].map(|uid| graph.is_blocked(uid)), [false; 3]);
        put(&mut graph, object("outside", &["c"]));
        assert_eq!(["a", "b", "c"].map(|uid| graph.is_blocked(uid)), [true; 3]);
        put(&mut graph, waiting("own", &["own"]));
        assert!(!graph.is_blocked("own"));
    }

    #[test]
    fn an_owner_that_was_seen_to_go_is_gone_while_somebody_names_it() {
        let mut graph = Graph::default();
        put(&mut graph, object("x", &["owner"]));
        assert!(!graph.is_gone("owner"));
        graph.take(&event(EventKind::Deleted, object("owner", &[])));
        assert!(graph.is_gone("owner"));
        let x = event(EventKind::Modified, object("x", &["owner"])).entry;
        graph.reset([&*x].into_iter());
        assert!(graph.is_gone("owner"));
        put(&mut graph, object("x", &[]));
        assert!(graph.gone.is_empty());
    }
}
