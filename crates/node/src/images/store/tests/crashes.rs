//! Ends the process, or fails, at every single step of a change, opens the store again and looks: the image must be whole
//! or absent, nothing may be left over, and the change must go through when it is tried again.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;

use super::super::faults::{Ending, Faults};
use super::*;

const NAME: &str = "victim:1";

fn victim() -> Parts {
    Parts::of(&[layer("a", "1"), layer("d/b", "2")], &json!({"Cmd": ["sh"]}))
}

/// Tries a change with a failure at its first step, its second and so on, until it is through before that. `check` sees
/// the store opened again after each.
fn at_every_step(
    ending: Ending,
    prepare: fn(&Arc<Store>),
    change: fn(&Arc<Store>) -> bool,
    check: fn(&Path),
) -> usize {
    for step in 1.. {
        let folder = in_memory();
        prepare(&Arc::new(Store::open(folder.path()).unwrap()));
        let opening = Faults::default();
        drop(Store::open_with(folder.path(), opening.clone()).unwrap());
        let faults = Faults::at(opening.taken() + step, ending);
        let store = Arc::new(Store::open_with(folder.path(), faults.clone()).unwrap());
        let through = change(&store);
        if ending == Ending::Fails {
            assert_eq!(count(&folder.path().join("scratch")), 0, "step {step}");
        }
        drop(store);
        check(folder.path());
        if through && faults.taken() < opening.taken() + step {
            return step - 1;
        }
    }
    unreachable!("a change has an end")
}

/// Where the many syncs of these tests cost nothing, if there is such a place.
fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// No part that no image needs, and no image that lacks a part.
fn is_consistent(folder: &Path) -> Arc<Store> {
    let store = Arc::new(Store::open(folder).unwrap());
    let records = store.records().unwrap();
    let mut layers: Vec<_> = records.iter().flat_map(|record| &record.layers).collect();
    layers.sort();
    layers.dedup();
    assert_eq!(count(&folder.join("layers")), layers.len());
    assert_eq!(count(&folder.join("blobs")), 2 * records.len());
    assert_eq!(count(&folder.join("scratch")), 0);
    for name in store.names().unwrap() {
        assert!(records.iter().any(|record| record.id == name.id));
    }
    for record in records {
        let image = store.image(&record.id).unwrap().unwrap();
        assert!(image.layers[0].join("a").is_file() && image.layers[1].join("d/b").is_file());
    }
    store
}

fn import_goes_through(folder: &Path) {
    let store = is_consistent(folder);
    import(&store, &victim(), &[NAME]).unwrap();
    drop(store);
    let store = is_consistent(folder);
    assert!(store.find(&reference(NAME)).unwrap().is_some());
}

fn removal_goes_through(folder: &Path) {
    let store = is_consistent(folder);
    let left = store.list().unwrap();
    if let Some(summary) = left.first() {
        store.remove(&Target::Id(summary.id.clone())).unwrap();
    }
    drop(store);
    assert!(is_consistent(folder).list().unwrap().is_empty());
}

fn ready(store: &Arc<Store>) {
    import(store, &victim(), &[NAME, "victim:2"]).unwrap();
}

#[test]
fn a_process_that_dies_while_it_imports() {
    let steps = at_every_step(
        Ending::Dies,
        |_| {},
        |store| import(store, &victim(), &[NAME]).is_ok(),
        import_goes_through,
    );
    assert!(steps > 20, "{steps}");
}

#[test]
fn a_disk_that_fails_while_something_is_imported() {
    at_every_step(
        Ending::Fails,
        |_| {},
        |store| import(store, &victim(), &[NAME]).is_ok(),
        import_goes_through,
    );
}

#[test]
fn a_process_that_dies_while_it_removes() {
    let change = |store: &Arc<Store>| store.remove(&Target::Id(victim().id())).is_ok();
    let steps = at_every_step(Ending::Dies, ready, change, removal_goes_through);
    assert!(steps > 8, "{steps}");
}

#[test]
fn a_disk_that_fails_while_something_is_pruned() {
    let change = |store: &Arc<Store>| store.prune(Unwanted::Unused).is_ok();
    at_every_step(Ending::Fails, ready, change, removal_goes_through);
}

#[test]
fn a_layer_half_written_by_a_process_that_died_is_gone_at_the_next_start() {
    let folder: TempDir = tempfile::tempdir().unwrap();
    drop(Store::open(folder.path()).unwrap());
    let half = folder.path().join("scratch/half/tree/deep");
    fs::create_dir_all(&half).unwrap();
    std::os::unix::fs::symlink("/", half.join("link")).unwrap();
    fs::create_dir(folder.path().join("layers/strange")).unwrap();
    is_consistent(folder.path());
}
