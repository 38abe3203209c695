//! The collector on a store of its own, with owners at random: in trees and circles, with several owners, with references and
//! finalizers that come and go by hand, and with deletions that change their mind.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::super::driver::Driver;
use super::super::tests::{api, make};
use super::Collector;
use super::graph::waits;
use crate::api::Api;
use crate::object::Object;
use crate::options::{DeleteOptions, Propagation};
use crate::store::{Entry, Event, EventKind, Key, Revision, Scope};

const MAPS: &str = "configmaps";

/// Held by a user.
const HOLD: &str = "example.com/hold";

#[derive(Clone, Debug)]
enum Step {
    /// A new object with these owners, each of which it may block.
    Make(Vec<(Index, bool)>),
    /// Other owners for an object.
    Own(Index, Vec<(Index, bool)>),
    Hold(Index),
    Free(Index),
    Delete(Index, Propagation),
    /// The collector looks at so many objects before the next step.
    Work(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let owners = || prop::collection::vec((any::<Index>(), prop::bool::weighted(0.8)), 0..3);
    let step = prop_oneof![
        4 => owners().prop_map(Step::Make),
        3 => (any::<Index>(), owners()).prop_map(|(which, owners)| Step::Own(which, owners)),
        1 => any::<Index>().prop_map(Step::Hold),
        1 => any::<Index>().prop_map(Step::Free),
        2 => (any::<Index>(), propagation()).prop_map(|(which, how)| Step::Delete(which, how)),
        3 => (0..8u8).prop_map(Step::Work),
    ];
    prop::collection::vec(step, 1..24)
}

fn propagation() -> impl Strategy<Value = Propagation> {
    prop_oneof![1 => Just(Propagation::Background), 3 => Just(Propagation::Foreground), 1 => Just(Propagation::Orphan)]
}

fn objects(api: &Api) -> Vec<Value> {
    api.store().list(&Scope::resource(MAPS)).entries.iter().map(|entry| entry.value()).collect()
}

fn references(there: &[Value], owners: &[(Index, bool)]) -> Vec<Value> {
    let reference = |(owner, blocks): &(Index, bool)| {
        let owner = owner.get(there);
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner.name(), "uid": owner.uid(), "blockOwnerDeletion": blocks})
    };
    let owners = owners.iter().filter(|_| !there.is_empty()).map(reference);
    let mut seen = BTreeSet::new();
    owners.filter(|owner| seen.insert(owner["uid"].to_string())).collect()
}

/// A cluster in the hands of a user.
struct Story {
    api: Arc<Api>,
    made: usize,
    /// Whose deletion the user asked for, by uid.
    asked: BTreeSet<String>,
}

impl Story {
    async fn tell(&mut self, step: &Step) {
        let there = objects(&self.api);
        match step {
            Step::Make(owners) => {
                let name = format!("m{}", (self.made * 7) % 24);
                self.made += 1;
                let owners = references(&there, owners);
                let metadata = json!({"name": name, "namespace": "default", "ownerReferences": owners});
                let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
                if there.iter().all(|it| it.name() != name) {
                    make(&self.api, "", MAPS, object).await;
                }
            }
            Step::Own(which, owners) => {
                let owners = references(&there, owners);
                self.edit(which, &there, |it| it.set_meta("ownerReferences", owners.clone())).await;
            }
            Step::Hold(which) => {
                let hold = |it: &mut Value| {
                    let finalizers: Vec<String> = it.finalizers().map(str::to_owned).collect();
                    it.set_finalizers(finalizers.iter().map(String::as_str).chain([HOLD]));
                };
                let free: Vec<Value> =
                    there.into_iter().filter(|it| !it.is_deleting() && !it.has_finalizer(HOLD)).collect();
                self.edit(which, &free, hold).await;
            }
            Step::Free(which) => self.edit(which, &there, |it| it.remove_finalizer(HOLD)).await,
            Step::Delete(which, how) if !there.is_empty() => {
                let victim = which.get(&there);
                self.asked.insert(victim.uid().to_owned());
                let options = DeleteOptions { propagation: Some(*how), ..DeleteOptions::default() };
                self.api.remove(&key(victim), &options).await.unwrap();
            }
            Step::Delete(..) | Step::Work(_) => {}
        }
    }

    async fn edit(&self, which: &Index, among: &[Value], change: impl Fn(&mut Value) + Send + Sync) {
        if !among.is_empty() {
            self.api.amend(&key(which.get(among)), None, change).await.unwrap();
        }
    }

    /// Everybody lets go of everything.
    async fn end(&self) {
        for object in objects(&self.api) {
            self.api.amend(&key(&object), None, |it| it.remove_finalizer(HOLD)).await.unwrap();
        }
    }
}

fn key(object: &Value) -> Key {
    Key::new(MAPS, Some("default"), object.name())
}

fn owners(object: &Value) -> impl Iterator<Item = &str> {
    object.owners().iter().filter_map(|owner| owner["uid"].as_str())
}

fn history(api: &Api, since: Revision) -> Vec<Event> {
    let mut watch = api.store().watch(Scope::resource(MAPS), since).unwrap();
    std::iter::from_fn(|| watch.now().ok().filter(|events| !events.is_empty())).flatten().collect()
}

/// Nothing goes that nobody asked to go, unless all of its owners are gone or wait for it.
fn check_history(events: &[Event], asked: &BTreeSet<String>) {
    let mut there: HashMap<&str, &Entry> = HashMap::new();
    for event in events {
        let (key, summary) = (&event.entry.key, &event.entry.summary);
        let goes = event.kind == EventKind::Deleted || summary.is_deleting;
        let began = event.previous.as_ref().filter(|it| !it.summary.is_deleting && goes);
        if let Some(before) = began.filter(|_| !asked.contains(&*summary.uid)) {
            let (before, stays) =
                (before.value(), |uid: &str| there.get(uid).is_some_and(|owner| !waits(owner)));
            assert!(owners(&before).next().is_some(), "{key} has no owner and goes");
            assert!(!owners(&before).any(stays), "{key} has a live owner and goes");
        }
        match event.kind {
            EventKind::Deleted => drop(there.remove(&*summary.uid)),
            _ => drop(there.insert(&summary.uid, &event.entry)),
        }
    }
}

/// Whatever was deleted is gone, and so is whatever lost all of its owners.
fn check_end(objects: &[Value]) {
    let there: BTreeSet<&str> = objects.iter().map(Object::uid).collect();
    for object in objects {
        assert!(!object.is_deleting(), "{} is stuck", object.name());
        assert!(
            owners(object).all(|owner| there.contains(owner)),
            "{} names one that is gone",
            object.name()
        );
    }
}

async fn play(steps: &[Step]) {
    let mut story = Story { api: api().await, made: 0, asked: BTreeSet::new() };
    let (api, since) = (Arc::clone(&story.api), story.api.store().revision());
    let collector = Collector::new(Arc::clone(&api));
    let mut driver = Driver::new(&collector);
    for step in steps {
        story.tell(step).await;
        if let Step::Work(most) = step {
            for _ in 0..*most {
                driver.step().await;
            }
        }
    }
    driver.settle().await;
    story.end().await;
    driver.settle().await;
    check_history(&history(&api, since), &story.asked);
    check_end(&objects(&api));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn what_has_a_live_owner_stays_and_what_lost_all_of_them_goes(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(play(&steps));
    }
}
