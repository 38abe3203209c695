//! Loads images from archives built in memory, and refuses those that are not what they say.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::images::fixture::{Parts, Tar, gzip};

struct Desk {
    folder: TempDir,
    loader: Loader,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(&folder.path().join("store")).unwrap());
        let loader = Loader::new(store, Limits::default(), Platform::of_this_machine());
        Self { folder, loader }
    }

    fn load(&self, archive: &[u8]) -> Result<Vec<Loaded>, LoadError> {
        let path = self.folder.path().join("archive");
        fs::write(&path, archive).unwrap();
        let loaded = self.loader.load(&path);
        assert_eq!(fs::read_dir(self.folder.path().join("store/scratch")).unwrap().count(), 0);
        loaded
    }

    fn content(&self, name: &str) -> String {
        let image = self.loader.store.find(&name.parse().unwrap()).unwrap().unwrap();
        fs::read_to_string(image.layers[0].join("a")).unwrap()
    }

    fn complaint(&self, archive: &[u8]) -> String {
        self.load(archive).unwrap_err().to_string()
    }
}

fn parts(content: &str) -> Parts {
    Parts::of(&[Tar::new().file("a", content).finish()], &json!({"Cmd": ["sh"]}))
}

fn blob(tar: Tar, content: &[u8]) -> Tar {
    tar.records(&[("path", layout::place(&Digest::of(content)).as_bytes())]).file("blob", content)
}

fn described(parts: &Parts, annotations: &Value) -> Value {
    json!({
        "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": parts.digest(),
        "size": parts.manifest.len(), "annotations": annotations,
    })
}

/// A layout as an archive, with the index first, as it comes, or last.
fn layout(images: &[(&Parts, Value)]) -> Tar {
    let entries: Vec<Value> =
        images.iter().map(|(parts, annotations)| described(parts, annotations)).collect();
    let index = json!({"schemaVersion": 2, "manifests": entries});
    let tar = Tar::new()
        .file("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#)
        .file("index.json", index.to_string());
    images.iter().fold(tar, |tar, (parts, _)| {
        let tar = blob(blob(tar, &parts.manifest), &parts.config);
        parts.layers.iter().fold(tar, |tar, layer| blob(tar, layer))
    })
}

fn named(name: &str) -> Value {
    json!({"org.opencontainers.image.ref.name": name})
}

fn saved(parts: &Parts, tags: &Value, layer: &[u8]) -> Tar {
    let list = json!([{"Config": "config.json", "RepoTags": tags, "Layers": ["one/layer.tar"]}]);
    Tar::new()
        .file("one/layer.tar", layer)
        .file("config.json", &parts.config)
        .file("manifest.json", list.to_string())
}

#[test]
fn a_layout_is_loaded_from_an_archive_however_it_is_compressed() {
    let archive = layout(&[(&parts("x"), named("example.com/a:1"))]).finish();
    let zstd = ruzstd::encoding::compress_to_vec(&archive[..], ruzstd::encoding::CompressionLevel::Fastest);
    for packed in [archive.clone(), gzip(&archive), zstd] {
        let desk = Desk::new();
        assert_eq!(desk.load(&packed).unwrap()[0].id, parts("x").id());
        assert_eq!(desk.content("example.com/a:1"), "x");
    }
}

#[test]
fn a_layout_is_loaded_from_a_directory() {
    let desk = Desk::new();
    let parts = parts("x");
    let root = desk.folder.path().join("layout");
    fs::create_dir_all(root.join("blobs/sha256")).unwrap();
    let index = json!({"schemaVersion": 2, "manifests": [described(&parts, &named("example.com/a:1"))]});
    fs::write(root.join("index.json"), index.to_string()).unwrap();
    for content in [&parts.manifest, &parts.config, &parts.layers[0]] {
        fs::write(root.join(layout::place(&Digest::of(content))), content).unwrap();
    }
    assert_eq!(desk.loader.load(&root).unwrap().len(), 1);
    assert_eq!(desk.content("example.com/a:1"), "x");
}

#[test]
fn a_directory_is_not_left_through_its_links() {
    let desk = Desk::new();
    let root = desk.folder.path().join("layout");
    fs::create_dir(&root).unwrap();
    fs::write(desk.folder.path().join("secret"), "{}").unwrap();
    std::os::unix::fs::symlink("../secret", root.join("index.json")).unwrap();
    let complaint = desk.loader.load(&root).unwrap_err().to_string();
    assert!(complaint.contains("leads out of the directory"), "{complaint}");
}

#[test]
fn what_docker_saves_is_loaded() {
    let desk = Desk::new();
    let plain = Tar::new().file("a", "x").finish();
    for layer in [plain.clone(), gzip(&plain)] {
        let loaded = desk.load(&gzip(&saved(&parts("x"), &json!(["a:1", "b:2"]), &layer).finish())).unwrap();
        assert_eq!(loaded[0].references.len(), 2);
        assert_eq!(desk.content("b:2"), "x");
    }
}

#[test]
fn layers_that_docker_saves_once_are_found_through_links() {
    let desk = Desk::new();
    let parts = parts("x");
    let list = json!([{"Config": "config.json", "RepoTags": ["a"], "Layers": ["two/layer.tar"]}]);
    let tar = Tar::new()
        .file("one/layer.tar", &parts.layers[0])
        .symlink("two/layer.tar", "../one/layer.tar")
        .file("./config.json", &parts.config)
        .file("manifest.json", list.to_string());
    desk.load(&tar.finish()).unwrap();
    assert_eq!(desk.content("a"), "x");
}

#[test]
fn an_archive_of_both_kinds_has_the_names_of_both() {
    let desk = Desk::new();
    let parts = parts("x");
    let place = layout::place(&parts.id());
    let list = json!([{"Config": place, "RepoTags": ["a:1"], "Layers": []}]);
    let archive = layout(&[(&parts, named("latest"))]).file("manifest.json", list.to_string()).finish();
    let loaded = desk.load(&archive).unwrap();
    assert_eq!(loaded[0].references, ["a:1".parse().unwrap()]);
}

#[test]
fn many_images_and_many_names_come_at_once() {
    let desk = Desk::new();
    let (one, two) = (parts("1"), parts("2"));
    let images = [(&one, named("a:1")), (&two, named("b:1")), (&one, named("c:1"))];
    let loaded = desk.load(&layout(&images).finish()).unwrap();
    assert_eq!(loaded.iter().map(|it| it.references.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!((desk.content("b:1"), desk.content("c:1")), ("2".to_owned(), "1".to_owned()));
}

#[test]
fn an_image_without_a_name_is_loaded_all_the_same() {
    let desk = Desk::new();
    let loaded = desk.load(&layout(&[(&parts("x"), json!({}))]).finish()).unwrap();
    assert_eq!(loaded, [Loaded { id: parts("x").id(), references: vec![] }]);
}

#[test]
fn what_holds_no_images_is_said_to_hold_none() {
    let desk = Desk::new();
    assert!(desk.complaint(&Tar::new().file("a", "b").finish()).contains("holds no images"));
    assert!(matches!(desk.loader.load(desk.folder.path()), Err(LoadError::Nothing(_))));
    assert!(matches!(desk.load(b"no archive at all, and longer than nothing"), Err(LoadError::Read { .. })));
    assert!(matches!(desk.loader.load(&desk.folder.path().join("x")), Err(LoadError::Read { .. })));
}

#[test]
fn blobs_that_are_not_what_they_are_named_are_refused() {
    for damage in 0..3 {
        let mut parts = parts("x");
        let honest = layout(&[(&parts, named("a"))]).finish();
        let victim = [parts.manifest.clone(), parts.config.clone(), parts.layers.remove(0)][damage].clone();
        let at = honest.windows(victim.len()).rposition(|window| window == victim).unwrap();
        let mut archive = honest;
        archive[at + victim.len() - 3] ^= 1;
        let complaint = Desk::new().complaint(&archive);
        assert!(complaint.contains("expected") || complaint.contains("reading"), "{damage}: {complaint}");
    }
}

#[test]
fn blobs_that_are_missing_are_named() {
    let parts = parts("x");
    let index = json!({"schemaVersion": 2, "manifests": [described(&parts, &named("a"))]});
    let complaint = Desk::new().complaint(&Tar::new().file("index.json", index.to_string()).finish());
    assert!(complaint.contains(&format!("lacks `{}`", layout::place(&parts.digest()))), "{complaint}");
}

#[test]
fn small_files_that_are_not_small_are_refused() {
    let large = vec![b' '; 5 << 20];
    assert!(Desk::new().complaint(&Tar::new().file("index.json", &large).finish()).contains("larger than"));
    assert!(
        Desk::new().complaint(&Tar::new().file("manifest.json", &large).finish()).contains("larger than")
    );
}

#[test]
fn an_image_for_other_machines_only_is_refused() {
    let inner = json!({"schemaVersion": 2, "manifests": [{
        "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": Digest::of(b"x"), "size": 1,
        "platform": {"os": "plan9", "architecture": "vax"},
    }]})
    .to_string();
    let index = json!({"schemaVersion": 2, "manifests": [{
        "mediaType": "application/vnd.oci.image.index.v1+json", "digest": Digest::of(inner.as_bytes()),
        "size": inner.len(),
    }]});
    let archive = blob(Tar::new().file("index.json", index.to_string()), inner.as_bytes()).finish();
    assert!(matches!(Desk::new().load(&archive), Err(LoadError::Platform(_))));
}

#[test]
fn names_that_are_none_are_refused() {
    let plain = Tar::new().file("a", "x").finish();
    let complaint = Desk::new().complaint(&saved(&parts("x"), &json!(["../evil"]), &plain).finish());
    assert!(complaint.contains("invalid reference format"), "{complaint}");
}

#[test]
fn configurations_outside_of_the_archive_are_not_read() {
    let list = json!([{"Config": "/etc/passwd", "RepoTags": [], "Layers": []}]);
    let complaint = Desk::new().complaint(&Tar::new().file("manifest.json", list.to_string()).finish());
    assert!(complaint.contains("lacks `/etc/passwd`"), "{complaint}");
}
