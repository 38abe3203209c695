//! The store as its users see it, and at every step of an import or a removal the end of the process.

mod crashes;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::images::fixture::{Parts, Tar};
use crate::images::limits::Limits;
use crate::images::platform::Platform;

pub(super) struct Shelf {
    pub(super) folder: TempDir,
    pub(super) store: Arc<Store>,
}

impl Shelf {
    pub(super) fn new() -> Self {
        Self::with(Faults::default())
    }

    pub(super) fn with(faults: Faults) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open_with(folder.path(), faults).unwrap());
        Self { folder, store }
    }

    pub(super) fn import(&self, parts: &Parts, names: &[&str]) -> Result<Digest, ImportError> {
        import(&self.store, parts, names)
    }

    fn layers(&self) -> usize {
        count(&self.folder.path().join("layers"))
    }
}

pub(super) fn import(store: &Arc<Store>, parts: &Parts, names: &[&str]) -> Result<Digest, ImportError> {
    let limits = Limits::default();
    let machine = Platform::of_this_machine();
    let draft = Draft::new(parts.manifest.clone(), parts.config.clone(), &machine, &limits).unwrap();
    let import = Import::begin(Arc::clone(store), draft, &limits);
    for index in import.missing() {
        import.add(index, &parts.layers[index][..])?;
    }
    let names: Vec<_> = names.iter().map(|name| (name.parse().unwrap(), parts.digest())).collect();
    import.finish(&names)
}

pub(super) fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn layer(name: &str, content: &str) -> Vec<u8> {
    Tar::new().file(name, content).finish()
}

fn reference(name: &str) -> Reference {
    name.parse().unwrap()
}

fn removed(store: &Store, name: &str) -> Result<Freed, StoreError> {
    store.remove(&Target::Name(reference(name)))
}

#[test]
fn an_image_is_found_by_its_name_and_by_its_digest() {
    let shelf = Shelf::new();
    let parts = Parts::of(&[layer("a", "x"), layer("b", "y")], &json!({"Cmd": ["sh"]}));
    let id = shelf.import(&parts, &["busybox:1"]).unwrap();
    let image = shelf.store.find(&reference("busybox:1")).unwrap().unwrap();
    assert_eq!((image.id.clone(), image.config.cmd.as_slice()), (id, &["sh".to_owned()][..]));
    assert_eq!(fs::read_to_string(image.layers[0].join("a")).unwrap(), "x");
    assert_eq!(fs::read_to_string(image.layers[1].join("b")).unwrap(), "y");
    let by_digest = reference(&format!("busybox@{}", parts.digest()));
    assert_eq!(shelf.store.find(&by_digest).unwrap(), Some(image));
    assert_eq!(shelf.store.find(&reference("busybox:2")).unwrap(), None);
}

#[test]
fn a_store_that_is_opened_again_has_what_it_had() {
    let shelf = Shelf::new();
    shelf.import(&Parts::of(&[layer("a", "x")], &json!({})), &["a"]).unwrap();
    let Shelf { folder, store } = shelf;
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert!(store.find(&reference("a")).unwrap().unwrap().layers[0].join("a").is_file());
}

#[test]
fn nobody_else_may_look_into_it() {
    use std::os::unix::fs::PermissionsExt;
    let shelf = Shelf::new();
    assert_eq!(fs::metadata(shelf.folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn only_one_process_at_a_time_may_use_it() {
    let shelf = Shelf::new();
    assert!(matches!(Store::open(shelf.folder.path()), Err(StoreError::Busy(_))));
}

#[test]
fn layers_are_shared_between_images() {
    let shelf = Shelf::new();
    shelf.import(&Parts::of(&[layer("a", "1"), layer("b", "22")], &json!({})), &["one"]).unwrap();
    shelf.import(&Parts::of(&[layer("a", "1"), layer("c", "333")], &json!({})), &["two"]).unwrap();
    assert_eq!(shelf.layers(), 3);
    let sizes: Vec<_> = shelf.store.list().unwrap().iter().map(|it| (it.bytes, it.own_bytes)).collect();
    assert_eq!(sizes, [(3, 2), (4, 3)]);
    assert_eq!(removed(&shelf.store, "one").unwrap().bytes, 2);
    assert_eq!(shelf.layers(), 2);
}

#[test]
fn an_image_goes_with_its_last_name() {
    let shelf = Shelf::new();
    let parts = Parts::of(&[layer("a", "1")], &json!({}));
    let id = shelf.import(&parts, &["one", "two"]).unwrap();
    assert_eq!(removed(&shelf.store, "one").unwrap().images, []);
    assert!(shelf.store.find(&reference("two")).unwrap().is_some());
    assert_eq!(removed(&shelf.store, "two").unwrap().images, [id]);
    assert_eq!((shelf.layers(), count(&shelf.folder.path().join("blobs"))), (0, 0));
    assert!(matches!(removed(&shelf.store, "two"), Err(StoreError::Unknown(_))));
}

#[test]
fn what_is_in_use_stays() {
    let shelf = Shelf::new();
    let id = shelf.import(&Parts::of(&[layer("a", "1")], &json!({})), &["one"]).unwrap();
    shelf.store.pin("pod-1_main", &id).unwrap();
    assert!(
        matches!(removed(&shelf.store, "one"), Err(StoreError::InUse(owners)) if owners == ["pod-1_main"])
    );
    assert!(matches!(shelf.store.remove(&Target::Id(id.clone())), Err(StoreError::InUse(_))));
    assert_eq!(shelf.store.prune(Unwanted::Unused).unwrap(), Freed::default());
    assert_eq!(shelf.store.list().unwrap()[0].owners, ["pod-1_main"]);
    shelf.store.unpin("pod-1_main").unwrap();
    shelf.store.unpin("pod-1_main").unwrap();
    assert_eq!(shelf.store.prune(Unwanted::Unused).unwrap().images, [id]);
}

#[test]
fn pins_outlive_the_process() {
    let shelf = Shelf::new();
    let id = shelf.import(&Parts::of(&[layer("a", "1")], &json!({})), &["one"]).unwrap();
    shelf.store.pin("pod-1", &id).unwrap();
    let Shelf { folder, store } = shelf;
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.pins().unwrap(), [Pin { owner: "pod-1".into(), id: id.clone() }]);
    assert!(matches!(store.remove(&Target::Id(id)), Err(StoreError::InUse(_))));
}

#[test]
fn owners_are_no_paths_and_images_must_be_there() {
    let shelf = Shelf::new();
    let id = shelf.import(&Parts::of(&[], &json!({})), &["one"]).unwrap();
    for owner in ["", "../x", "a/b", "a b", &"x".repeat(201)] {
        assert!(matches!(shelf.store.pin(owner, &id), Err(StoreError::Owner(_))), "{owner}");
    }
    assert!(matches!(shelf.store.pin("x", &Digest::of(b"")), Err(StoreError::Unknown(_))));
}

#[test]
fn a_name_that_moved_on_leaves_an_image_to_prune() {
    let shelf = Shelf::new();
    let old = shelf.import(&Parts::of(&[layer("a", "old")], &json!({})), &["one"]).unwrap();
    let new = shelf.import(&Parts::of(&[layer("a", "new")], &json!({})), &["one"]).unwrap();
    assert_eq!(shelf.store.find(&reference("one")).unwrap().unwrap().id, new);
    assert_eq!(shelf.store.prune(Unwanted::Nameless).unwrap().images, [old]);
    assert_eq!(shelf.store.list().unwrap().len(), 1);
}

#[test]
fn an_import_under_way_keeps_what_it_relies_on() {
    let shelf = Shelf::new();
    let (limits, machine) = (Limits::default(), Platform::of_this_machine());
    shelf.import(&Parts::of(&[layer("a", "1")], &json!({})), &["one"]).unwrap();
    let second = Parts::of(&[layer("a", "1"), layer("b", "2")], &json!({}));
    let draft = Draft::new(second.manifest.clone(), second.config.clone(), &machine, &limits).unwrap();
    let import = Import::begin(Arc::clone(&shelf.store), draft, &limits);
    assert_eq!(import.missing(), [1]);
    removed(&shelf.store, "one").unwrap();
    import.add(1, &second.layers[1][..]).unwrap();
    let id = import.finish(&[]).unwrap();
    assert!(shelf.store.image(&id).unwrap().unwrap().layers[0].join("a").is_file());
}

#[test]
fn two_imports_of_one_image_at_a_time_are_one() {
    let shelf = Shelf::new();
    let parts = Parts::of(&[layer("a", "1"), layer("b", "2")], &json!({}));
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..4).map(|_| scope.spawn(|| shelf.import(&parts, &["one"]))).collect();
        assert!(running.into_iter().all(|it| it.join().unwrap().unwrap() == parts.id()));
    });
    assert_eq!((shelf.layers(), count(&shelf.folder.path().join("scratch"))), (2, 0));
}

#[test]
fn a_directory_that_a_layer_does_not_mention_looks_as_below_it() {
    use std::os::unix::fs::MetadataExt;
    let shelf = Shelf::new();
    let below = Tar::new().owned_by(7, 8).xattr("user.a", b"b").directory("tmp", 0o1777).finish();
    let above = Tar::new().file("tmp/x", "").file("new/y", "").finish();
    let id = shelf.import(&Parts::of(&[below, above.clone()], &json!({})), &[]).unwrap();
    let image = shelf.store.image(&id).unwrap().unwrap();
    let found = fs::metadata(image.layers[1].join("tmp")).unwrap();
    assert_eq!((found.mode() & 0o7777, found.uid(), found.gid()), (0o1777, 7, 8));
    assert_eq!(fs::metadata(image.layers[1].join("new")).unwrap().mode() & 0o7777, 0o755);
    let alone = shelf.import(&Parts::of(&[above], &json!({})), &[]).unwrap();
    let image = shelf.store.image(&alone).unwrap().unwrap();
    assert_eq!(fs::metadata(image.layers[0].join("tmp")).unwrap().mode() & 0o7777, 0o755);
}

#[test]
fn a_layer_that_hides_all_below_it_is_the_lowest() {
    let shelf = Shelf::new();
    let hiding = Tar::new().file(".wh..wh..opq", "").file("b", "").finish();
    let id = shelf.import(&Parts::of(&[layer("a", ""), hiding, layer("c", "")], &json!({})), &[]).unwrap();
    let layers = shelf.store.image(&id).unwrap().unwrap().layers;
    assert_eq!(layers.len(), 2);
    assert!(layers[0].join("b").exists());
}

#[test]
fn an_image_without_layers_has_an_empty_one() {
    let shelf = Shelf::new();
    let id = shelf.import(&Parts::of(&[], &json!({})), &[]).unwrap();
    let layers = shelf.store.image(&id).unwrap().unwrap().layers;
    assert_eq!((layers.len(), count(&layers[0])), (1, 0));
}

#[test]
fn a_layer_with_other_content_than_promised_is_refused_and_leaves_nothing() {
    let shelf = Shelf::new();
    let mut parts = Parts::of(&[layer("a", "1")], &json!({}));
    parts.layers[0] = layer("a", "2");
    let error = shelf.import(&parts, &["one"]).unwrap_err().to_string();
    assert!(error.contains("was expected"), "{error}");
    assert_eq!((shelf.layers(), count(&shelf.folder.path().join("scratch"))), (0, 0));
    assert!(shelf.store.list().unwrap().is_empty());
}

#[test]
fn a_configuration_with_other_content_than_promised_is_refused() {
    let parts = Parts::of(&[], &json!({}));
    let machine = Platform::of_this_machine();
    let draft = Draft::new(parts.manifest, b"{\"rootfs\":{}}".to_vec(), &machine, &Limits::default());
    assert!(matches!(draft, Err(InvalidImage::ConfigDigest { .. })));
}

#[test]
fn nothing_is_swept_while_a_record_is_damaged() {
    let shelf = Shelf::new();
    let id = shelf.import(&Parts::of(&[layer("a", "1")], &json!({})), &["one"]).unwrap();
    let Shelf { folder, store } = shelf;
    let record = store.record_path(&id);
    drop(store);
    fs::write(&record, "{").unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(count(&folder.path().join("layers")), 1);
    let complaint = store.image(&id).unwrap_err().to_string();
    assert!(complaint.ends_with("is damaged; remove it, and pull its image again"), "{complaint}");
}
