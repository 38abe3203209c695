//! The store on a real file.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::plan::Rejection;
use super::*;

fn key(name: &str) -> Key {
    Key::new("pods", Some("team"), name)
}

fn pods() -> Scope {
    Scope::resource("pods")
}

fn open(folder: &TempDir) -> Store {
    Store::open(&folder.path().join("store")).unwrap()
}

async fn put(store: &Store, name: &str, value: Value) -> Arc<Entry> {
    let precondition = match store.get(&key(name)) {
        Some(entry) => Precondition::Unchanged(entry.revision),
        None => Precondition::Absent,
    };
    store.put(key(name), precondition, value).await.unwrap().entry
}

fn summary(events: &[Event]) -> Vec<(EventKind, &str, u64)> {
    events.iter().map(|event| (event.kind, event.entry.key.name(), event.revision().0)).collect()
}

#[tokio::test]
async fn what_was_written_is_there_after_opening_again() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    put(&store, "a", json!({"spec": 1})).await;
    put(&store, "b", json!({"spec": 2})).await;
    let before = store.list(&pods());
    let (path, revision) = (folder.path().join("store"), store.revision());
    drop(store);
    let again = Store::open(&path).unwrap();
    assert_eq!((again.list(&pods()), again.revision()), (before, revision));
}

#[tokio::test]
async fn only_one_can_have_the_file_open() {
    let folder = TempDir::new().unwrap();
    let _store = open(&folder);
    let refusal = Store::open(&folder.path().join("store")).err().unwrap();
    assert!(refusal.to_string().ends_with("is in use by another process"), "{refusal}");
}

#[tokio::test]
async fn nobody_else_can_read_the_file() {
    let folder = TempDir::new().unwrap();
    let _store = open(&folder);
    let mode = std::fs::metadata(folder.path().join("store")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn what_is_no_store_is_refused_and_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store");
    std::fs::write(&path, "precious notes".repeat(1000)).unwrap();
    let refusal = Store::open(&path).err().unwrap();
    assert!(refusal.to_string().starts_with("cannot open "), "{refusal}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious notes".repeat(1000));
}

/// Changes the file behind the store's back.
fn tampered(folder: &TempDir, change: impl FnOnce(&redb::WriteTransaction)) -> OpenError {
    let path = folder.path().join("store");
    drop(open(folder));
    let database = redb::Database::open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
    drop(database);
    Store::open(&path).err().unwrap()
}

#[tokio::test]
async fn a_file_of_another_format_is_refused_by_number() {
    let folder = TempDir::new().unwrap();
    let refusal = tampered(&folder, |transaction| {
        let facts = redb::TableDefinition::<&str, u64>::new("facts");
        transaction.open_table(facts).unwrap().insert("format", 2).unwrap();
        let objects = redb::TableDefinition::<&str, &[u8]>::new("objects");
        transaction.delete_table(objects).unwrap();
        transaction.open_table(redb::TableDefinition::<u64, u64>::new("objects")).unwrap();
    });
    assert_eq!(refusal.to_string(), "the store has format 2; this program reads format 1");
}

#[tokio::test]
async fn a_damaged_object_is_named() {
    let folder = TempDir::new().unwrap();
    let refusal = tampered(&folder, |transaction| {
        let objects = redb::TableDefinition::<&str, &[u8]>::new("objects");
        let rubbish = b"12345678{".as_slice();
        transaction.open_table(objects).unwrap().insert("pods\0team\0a", rubbish).unwrap();
    });
    assert_eq!(refusal.to_string(), "pods/team/a is damaged in the store");
}

#[tokio::test]
async fn a_write_on_an_old_revision_is_refused_and_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let first = put(&store, "a", json!({"spec": 1})).await;
    let second = put(&store, "a", json!({"spec": 2})).await;
    let refusal = store.put(key("a"), Precondition::Unchanged(first.revision), json!({})).await.unwrap_err();
    assert!(matches!(refusal, WriteError::Rejected(Rejection::Changed(entry)) if entry == second));
    assert_eq!((store.get(&key("a")), store.revision()), (Some(second.clone()), second.revision));
}

#[tokio::test]
async fn a_watch_replays_from_any_revision_and_then_follows() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    put(&store, "a", json!({})).await;
    let mut watch = store.watch(pods(), Revision(0)).unwrap();
    put(&store, "a", json!({"spec": 2})).await;
    store.delete(key("a"), Precondition::Present).await.unwrap();
    let events = watch.next().await.unwrap();
    let expected = [(EventKind::Added, "a", 1), (EventKind::Modified, "a", 2), (EventKind::Deleted, "a", 3)];
    assert_eq!(summary(&events), expected);
    assert_eq!(
        events[2].entry.value(),
        json!({"spec": 2, "metadata": {"resourceVersion": "3"}}),
        "the last state"
    );

    let (next, _) = tokio::join!(watch.next(), put(&store, "b", json!({})));
    assert_eq!(summary(&next.unwrap()), [(EventKind::Added, "b", 4)]);
}

#[tokio::test]
async fn a_watch_sees_its_own_scope_and_knows_how_far_it_looked() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let mut watch = store.watch(Scope::namespace("pods", "other"), Revision(0)).unwrap();
    put(&store, "a", json!({})).await;
    assert_eq!(watch.now().unwrap(), []);
    assert_eq!(watch.seen(), Revision(1), "a bookmark may say so");
}

#[tokio::test]
async fn a_watch_hands_out_a_long_past_in_parts_and_leaves_nothing_out() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    let mut watch = store.watch(pods(), Revision(0)).unwrap();
    for number in 0..150 {
        put(&store, "a", json!({"spec": number})).await;
    }
    let mut seen = Vec::new();
    while seen.len() < 150 {
        let part = watch.now().unwrap();
        assert!(part.len() < 100, "a reader that stops here holds no more than this");
        seen.extend(part.iter().map(|event| event.revision().0));
    }
    assert_eq!(seen, (1..=150).collect::<Vec<u64>>());
    assert_eq!((watch.now().unwrap(), watch.seen()), (vec![], Revision(150)));
}

#[tokio::test]
async fn a_watch_that_falls_behind_is_told_so() {
    let folder = TempDir::new().unwrap();
    let store = Store::start(Disk::file(&folder.path().join("store")).unwrap(), 2).unwrap();
    let mut slow = store.watch(pods(), Revision(0)).unwrap();
    for number in 0..3 {
        put(&store, "a", json!({"spec": number})).await;
    }
    assert_eq!(slow.next().await.unwrap_err(), Expired { asked: Revision(0), oldest: Revision(1) });
    assert!(store.watch(pods(), Revision(0)).is_err());
    assert!(store.watch(pods(), Revision(1)).is_ok());
}

#[tokio::test]
async fn an_earlier_state_can_be_listed() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    put(&store, "a", json!({"spec": 1})).await;
    put(&store, "b", json!({})).await;
    let then = store.list(&pods());
    put(&store, "a", json!({"spec": 2})).await;
    put(&store, "c", json!({})).await;
    store.delete(key("b"), Precondition::Present).await.unwrap();
    assert_eq!(store.list_at(&pods(), then.revision, None).unwrap(), then);
    let rest = store.list_at(&pods(), then.revision, Some(&key("a"))).unwrap();
    assert_eq!(rest.entries, then.entries[1..]);
    let now = store.list_at(&pods(), store.revision(), Some(&key("a"))).unwrap();
    assert_eq!(now.entries, store.list(&pods()).entries[1..]);
}

/// Eight writers, each adding one many times to the same number, reading and writing with the revision they read.
#[tokio::test]
async fn compare_and_swap_never_loses_a_write() {
    const WRITERS: u64 = 8;
    const ROUNDS: u64 = 25;
    let folder = TempDir::new().unwrap();
    let store = open(&folder);
    put(&store, "a", json!({"count": 0})).await;
    let mut writers: JoinSet<()> = (0..WRITERS).map(|_| add(store.clone(), ROUNDS)).collect();
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
    assert_eq!(store.get(&key("a")).unwrap().value()["count"], WRITERS * ROUNDS);
}

async fn add(store: Store, rounds: u64) {
    for _ in 0..rounds {
        loop {
            let read = store.get(&key("a")).unwrap();
            let value = json!({"count": read.value()["count"].as_u64().unwrap() + 1});
            if store.put(key("a"), Precondition::Unchanged(read.revision), value).await.is_ok() {
                break;
            }
        }
    }
}
