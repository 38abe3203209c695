//! What is known of the objects of one kind: from lists and watches, and from the answers to our own writes, whichever is
//! newer. So a decision never forgets what this operator has just done, however far the watch lags behind.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use asb_core::object::{Key, Metadata, Uid, Version};
use asb_core::views::{Unreadable, View};

/// An object, or why it cannot be understood.
pub(crate) type Entry<V> = Result<Arc<V>, Arc<Unreadable>>;

/// The metadata of an entry, which even one that cannot be understood has.
pub(crate) fn metadata<V: View>(entry: &Entry<V>) -> &Metadata {
    match entry {
        Ok(view) => view.metadata(),
        Err(unreadable) => &unreadable.metadata,
    }
}

/// One object's change, as far as it was news.
#[derive(Debug)]
pub(crate) struct Change<V> {
    pub(crate) before: Option<Entry<V>>,
    pub(crate) after: Option<Entry<V>>,
}

impl<V: View> Change<V> {
    /// The object's key, before and after being the same object's.
    pub(crate) fn key(&self) -> &Key {
        let entry = self.after.as_ref().or(self.before.as_ref()).expect("a change has at least one side");
        &metadata(entry).key
    }

    pub(crate) fn views(&self) -> impl Iterator<Item = &Arc<V>> {
        self.before.iter().chain(&self.after).filter_map(|entry| entry.as_ref().ok())
    }

    /// Whether the object came, went, or is asked to be something else. What is reported in its status is none of that.
    pub(crate) fn is_of_what_is_asked(&self) -> bool {
        let asked = |entry: &Entry<V>| (metadata(entry).uid.clone(), metadata(entry).generation);
        self.before.as_ref().map(asked) != self.after.as_ref().map(asked)
    }

    /// Whether what was there before is gone, though another of its name may be there.
    pub(crate) fn is_of_another(&self) -> bool {
        let uid = |entry: &Entry<V>| metadata(entry).uid.clone();
        self.before.as_ref().is_some_and(|before| self.after.as_ref().map(uid) != Some(uid(before)))
    }

    /// The owners it has or had: whom it concerns.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &asb_core::object::Owner> {
        self.before.iter().chain(&self.after).filter_map(|entry| metadata(entry).owner.as_ref())
    }
}

/// The objects of one kind.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    objects: HashMap<Key, Entry<V>>,
    owned: HashMap<Uid, BTreeSet<Key>>,
    /// How far the watch has come. What is absent here and older than this is gone.
    seen: Version,
    /// What we deleted and the watch has not yet reported: news of it are old news.
    gone: HashSet<Uid>,
    /// The label of the objects that the watch reports, where it does not report all.
    scope: Option<&'static str>,
    is_synced: bool,
    /// The last time that all was asked to be listed again, and was.
    round: u64,
}

impl<V> Default for Cache<V> {
    fn default() -> Self {
        let (objects, owned) = (HashMap::new(), HashMap::new());
        let (seen, gone) = (Version::default(), HashSet::new());
        Self { objects, owned, seen, gone, scope: None, is_synced: false, round: 0 }
    }
}

impl<V: View> Cache<V> {
    pub(crate) fn entry(&self, key: &Key) -> Option<&Entry<V>> {
        self.objects.get(key)
    }

    /// The object, if it is there and can be understood.
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<V>> {
        self.objects.get(key)?.as_ref().ok()
    }

    pub(crate) fn uid(&self, key: &Key) -> Option<Uid> {
        Some(metadata(self.objects.get(key)?).uid.clone())
    }

    /// The object, if it is there and cannot be understood.
    pub(crate) fn unreadable(&self, key: &Key) -> Option<Arc<Unreadable>> {
        self.objects.get(key)?.as_ref().err().cloned()
    }

    /// The keys of all objects, in their order.
    pub(crate) fn keys(&self) -> BTreeSet<&Key> {
        self.objects.keys().collect()
    }

    /// All objects that can be understood, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<V>> {
        self.objects.values().filter_map(|entry| entry.as_ref().ok())
    }

    /// The objects whose controller has this UID, in the order of their names.
    pub(crate) fn owned_by(&self, uid: &Uid) -> impl Iterator<Item = &Arc<V>> {
        self.owned.get(uid).into_iter().flatten().filter_map(|key| self.get(key))
    }

    /// From now on the watch reports only objects that bear this label.
    pub(crate) fn follow_only(&mut self, label: &'static str) {
        self.scope = Some(label);
    }

    /// Forgets an object that we met and that the watch does not report: nobody would tell us that it is gone.
    pub(crate) fn forget_stray(&mut self, key: &Key) {
        let is_stray = self.entry(key).is_some_and(|entry| !self.is_followed(metadata(entry)));
        if is_stray {
            self.take(key);
        }
    }

    fn is_followed(&self, metadata: &Metadata) -> bool {
        self.scope.is_none_or(|label| metadata.label(label).is_some())
    }

    /// The first object whose controller has this UID and that cannot be understood.
    pub(crate) fn unreadable_of(&self, uid: &Uid) -> Option<Arc<Unreadable>> {
        self.owned.get(uid).into_iter().flatten().find_map(|key| self.unreadable(key))
    }

    /// How much is known, of all sorts.
    pub(crate) fn size(&self) -> usize {
        self.objects.len() + self.owned.len() + self.gone.len()
    }

    /// Whether all there is has been listed.
    pub(crate) fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// Which request to list all again was last met.
    pub(crate) fn round(&self) -> u64 {
        self.round
    }

    pub(crate) fn listed_in(&mut self, round: u64) {
        self.round = round;
    }

    /// Takes over a whole list. What is not in it is gone, unless it is newer than the list.
    pub(crate) fn replace(&mut self, listed: Vec<Entry<V>>, version: Version) -> Vec<Change<V>> {
        let present: HashSet<Uid> = listed.iter().map(|entry| metadata(entry).uid.clone()).collect();
        let is_missing = |entry: &Entry<V>| {
            let metadata = metadata(entry);
            metadata.version <= version && !present.contains(&metadata.uid)
        };
        let missing = self.objects.iter().filter(|(_, entry)| is_missing(entry));
        // In their order, so that what follows from one history is always the same.
        let missing: BTreeSet<Key> = missing.map(|(key, _)| key.clone()).collect();
        self.gone.retain(|uid| present.contains(uid));
        let mut changes: Vec<_> = missing.iter().filter_map(|key| self.take(key)).collect();
        changes.extend(listed.into_iter().filter_map(|entry| self.put(entry)));
        self.seen = self.seen.max(version);
        self.is_synced = true;
        changes
    }

    /// Takes over an object that the watch reports.
    pub(crate) fn watched(&mut self, entry: Entry<V>) -> Option<Change<V>> {
        let version = metadata(&entry).version;
        let change = self.put(entry);
        self.seen = self.seen.max(version);
        change
    }

    /// Takes over a deletion that the watch reports.
    pub(crate) fn watched_deletion(&mut self, deleted: &Metadata) -> Option<Change<V>> {
        self.seen = self.seen.max(deleted.version);
        self.gone.remove(&deleted.uid);
        let known = metadata(self.objects.get(&deleted.key)?);
        (known.uid == deleted.uid).then(|| self.take(&deleted.key)).flatten()
    }

    /// Notes how far the watch has come.
    pub(crate) fn watched_until(&mut self, version: Version) {
        self.seen = self.seen.max(version);
    }

    /// Takes over an object from the answer to a read or write of ours, which may be older or newer than what the watch
    /// has shown.
    pub(crate) fn learn(&mut self, entry: Entry<V>) -> Option<Change<V>> {
        let metadata = metadata(&entry);
        // How far the watch has come says nothing about what it does not report.
        let is_old_news = self.is_followed(metadata)
            && metadata.version <= self.seen
            && !self.objects.contains_key(&metadata.key);
        if is_old_news { None } else { self.put(entry) }
    }

    /// Takes over that an object is gone, from the answer to a read or write of ours.
    pub(crate) fn learn_gone(&mut self, key: &Key, uid: &Uid) -> Option<Change<V>> {
        let known = metadata(self.objects.get(key)?);
        if known.uid != *uid {
            return None;
        }
        self.gone.insert(uid.clone());
        self.take(key)
    }

    fn put(&mut self, entry: Entry<V>) -> Option<Change<V>> {
        let new = metadata(&entry);
        let known = self.objects.get(&new.key).map(metadata);
        if self.gone.contains(&new.uid) || known.is_some_and(|known| known.version >= new.version) {
            return None;
        }
        let key = new.key.clone();
        let before = self.take(&key).and_then(|change| change.before);
        if let Some(owner) = &metadata(&entry).owner {
            self.owned.entry(owner.uid.clone()).or_default().insert(key.clone());
        }
        self.objects.insert(key, entry.clone());
        Some(Change { before, after: Some(entry) })
    }

    fn take(&mut self, key: &Key) -> Option<Change<V>> {
        let entry = self.objects.remove(key)?;
        if let Some(owner) = &metadata(&entry).owner
            && let Some(siblings) = self.owned.get_mut(&owner.uid)
        {
            siblings.remove(key);
            if siblings.is_empty() {
                self.owned.remove(&owner.uid);
            }
        }
        Some(Change { before: Some(entry), after: None })
    }
}

#[cfg(test)]
mod tests {
    use asb_core::views::{VolumeView, read};
    use serde_json::json;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "as the cache holds it")]
    fn volume(name: &str, uid: &str, version: u64) -> Entry<VolumeView> {
        let object = json!({"metadata": {
            "namespace": "team", "name": name, "uid": uid, "resourceVersion": version.to_string(),
            "ownerReferences": [{"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "name": "box", "uid": "owner",
                "controller": true}],
        }});
        Ok(Arc::new(read(&object).unwrap().unwrap()))
    }

    fn names(cache: &Cache<VolumeView>) -> Vec<&str> {
        cache.owned_by(&"owner".into()).map(|volume| volume.metadata.name()).collect()
    }

    #[test]
    fn what_we_wrote_is_known_before_the_watch_reports_it() {
        let mut cache = Cache::default();
        cache.replace(vec![volume("a", "1", 5)], Version(7));
        assert!(cache.learn(volume("b", "2", 9)).is_some());
        assert_eq!(names(&cache), ["a", "b"]);
        assert!(cache.watched(volume("b", "2", 9)).is_none(), "old news");
    }

    #[test]
    fn a_late_answer_does_not_bring_back_what_was_deleted_since() {
        let mut cache = Cache::default();
        cache.replace(Vec::new(), Version(1));
        cache.watched(volume("a", "1", 5));
        cache.watched_deletion(&volume("a", "1", 8).unwrap().metadata);
        assert!(cache.learn(volume("a", "1", 6)).is_none());
        assert!(names(&cache).is_empty());
    }

    #[test]
    fn what_the_watch_does_not_report_is_known_from_reads_until_it_is_forgotten() {
        let mut cache = Cache::default();
        cache.follow_only("tracked");
        cache.replace(Vec::new(), Version(9));
        assert!(cache.learn(volume("a", "1", 5)).is_some(), "older than what the watch has shown");
        assert_eq!(names(&cache), ["a"]);
        cache.forget_stray(&Key::new("team", "a"));
        assert!(names(&cache).is_empty());
    }

    #[test]
    fn a_late_watch_does_not_bring_back_what_we_deleted() {
        let mut cache = Cache::default();
        cache.replace(vec![volume("a", "1", 5)], Version(5));
        cache.learn_gone(&Key::new("team", "a"), &"1".into());
        assert!(cache.watched(volume("a", "1", 6)).is_none());
        assert!(cache.watched(volume("a", "2", 9)).is_some(), "a new object of that name");
    }

    #[test]
    fn a_list_takes_away_only_what_is_older_than_it() {
        let mut cache = Cache::default();
        cache.replace(vec![volume("old", "1", 5)], Version(5));
        cache.learn(volume("new", "2", 12));
        cache.replace(Vec::new(), Version(10));
        assert_eq!(names(&cache), ["new"]);
    }

    #[test]
    fn a_deletion_of_a_namesake_leaves_the_new_object() {
        let mut cache = Cache::default();
        cache.replace(vec![volume("a", "1", 5)], Version(5));
        cache.learn_gone(&Key::new("team", "a"), &"1".into());
        cache.learn(volume("a", "2", 9));
        assert!(cache.watched_deletion(&volume("a", "1", 8).unwrap().metadata).is_none());
        assert_eq!(names(&cache), ["a"]);
    }
}
