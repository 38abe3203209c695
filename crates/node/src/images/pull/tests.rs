//! Whole pulls from a registry that misbehaves in every way there is.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use super::{
    Arc, Class, Digest, Keyring, Limits, Mutex, Platform, Progress, PullError, Pulled, Puller, Settings,
    Store, watch,
};
use crate::images::fixture::{Parts, Tar};
use crate::images::registry::stage::{Reply, Seen, Stage, reply};
use crate::images::registry::{Mirror, Registry, Retry};

struct Desk {
    _folder: TempDir,
    store: Arc<Store>,
    settings: Settings,
    keyring: Keyring,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let retry = Retry { attempts: 3, first_wait_milliseconds: 1, longest_wait_milliseconds: 5 };
        let settings = Settings { retry, stall_seconds: 5, ..Settings::default() };
        Self { _folder: folder, store, settings, keyring: Keyring::default() }
    }

    async fn pull(&self, reference: &str) -> Result<Pulled, PullError> {
        self.watched(reference).await.0
    }

    async fn watched(&self, reference: &str) -> (Result<Pulled, PullError>, Progress) {
        let platform = Platform::of_this_machine();
        let desk = Puller::new(Arc::clone(&self.store), self.settings.clone(), Limits::default(), platform);
        let (sender, receiver) = watch::channel(Progress::default());
        let pulled = desk.pull(&reference.parse().unwrap(), &self.keyring, &sender).await;
        (pulled, receiver.borrow().clone())
    }

    fn has(&self, reference: &str) -> bool {
        let image = self.store.find(&reference.parse().unwrap()).unwrap();
        image.is_some_and(|image| image.layers[0].join("a").is_file())
    }

    async fn class(&self, reference: &str) -> Class {
        self.pull(reference).await.unwrap_err().class()
    }
}

/// Two layers that do not compress, so that there is something to break off.
fn parts() -> Parts {
    let noise: Vec<u8> = (0u32..200_000)
        .flat_map(|number| Digest::of(&number.to_le_bytes()).hex().as_bytes()[..1].to_vec())
        .collect();
    Parts::of(&[Tar::new().file("a", &noise).finish(), Tar::new().file("b", "y").finish()], &json!({}))
}

fn large(parts: &Parts) -> Digest {
    Digest::of(&parts.layers[0])
}

fn is_for(seen: &Seen, digest: &Digest) -> bool {
    seen.path.contains(&format!("blobs/{digest}"))
}

async fn honest(parts: &Parts) -> Stage {
    Stage::with(parts, |_| None).await
}

#[tokio::test]
async fn an_image_is_pulled_with_its_progress() {
    let (desk, parts) = (Desk::new(), parts());
    let stage = honest(&parts).await;
    let (pulled, progress) = desk.watched(&stage.reference()).await;
    assert_eq!(pulled.unwrap(), Pulled { id: parts.id(), digest: parts.digest() });
    assert!(desk.has(&stage.reference()));
    assert!(
        progress.layers.iter().all(|layer| layer.stage == super::Stage::Done && layer.bytes == layer.total)
    );
    assert_eq!(progress.total(), parts.layers.iter().map(|layer| layer.len() as u64).sum::<u64>());
    assert!(!desk.store.partial(&large(&parts)).exists());
}

#[tokio::test]
async fn what_is_here_already_is_not_fetched_again() {
    let (desk, parts) = (Desk::new(), parts());
    let stage = honest(&parts).await;
    desk.pull(&stage.reference()).await.unwrap();
    let (_, progress) = desk.watched(&stage.reference()).await;
    assert_eq!(stage.asked(&large(&parts).to_string()).len(), 1);
    assert!(progress.layers.iter().all(|layer| layer.stage == super::Stage::Present));
}

#[tokio::test]
async fn a_download_goes_on_where_the_connection_broke() {
    let (desk, parts) = (Desk::new(), parts());
    let (victim, content) = (large(&parts), parts.layers[0].clone());
    let stage = Stage::with(&parts, move |seen| {
        (is_for(seen, &victim) && seen.header("range").is_empty())
            .then(|| reply(200, content.clone()).cut(70_000))
    })
    .await;
    desk.pull(&stage.reference()).await.unwrap();
    let asked = stage.asked(&large(&parts).to_string());
    assert_eq!(asked.len(), 2);
    let start: u64 = asked[1].header("range")["bytes=".len()..].trim_end_matches('-').parse().unwrap();
    assert!(start > 0 && start <= 70_000, "{start}");
    assert!(desk.has(&stage.reference()));
}

#[tokio::test]
async fn a_download_that_an_earlier_process_began_is_gone_on_with() {
    let (desk, parts) = (Desk::new(), parts());
    let stage = honest(&parts).await;
    fs::write(desk.store.partial(&large(&parts)), &parts.layers[0][..50_000]).unwrap();
    desk.pull(&stage.reference()).await.unwrap();
    assert_eq!(stage.asked(&large(&parts).to_string())[0].header("range"), "bytes=50000-");
    assert!(desk.has(&stage.reference()));
}

#[tokio::test]
async fn a_download_that_is_whole_is_not_asked_for() {
    let (desk, parts) = (Desk::new(), parts());
    let stage = honest(&parts).await;
    fs::write(desk.store.partial(&large(&parts)), &parts.layers[0]).unwrap();
    desk.pull(&stage.reference()).await.unwrap();
    assert!(stage.asked(&large(&parts).to_string()).is_empty());
}

#[tokio::test]
async fn a_damaged_beginning_is_fetched_again() {
    let parts = parts();
    for damage in [vec![0; 50_000], vec![0; 10_000_000], vec![0; parts.layers[0].len()]] {
        let desk = Desk::new();
        let stage = honest(&parts).await;
        fs::write(desk.store.partial(&large(&parts)), damage).unwrap();
        desk.pull(&stage.reference()).await.unwrap();
        assert!(desk.has(&stage.reference()));
    }
}

#[tokio::test]
async fn a_registry_that_knows_no_parts_gives_the_whole() {
    let parts = parts();
    for status in [200, 416] {
        let desk = Desk::new();
        let (victim, content) = (large(&parts), parts.layers[0].clone());
        let stage = Stage::with(&parts, move |seen| {
            let asks_for_part = is_for(seen, &victim) && !seen.header("range").is_empty();
            asks_for_part.then(|| if status == 200 { reply(200, content.clone()) } else { reply(416, "") })
        })
        .await;
        fs::write(desk.store.partial(&large(&parts)), &parts.layers[0][..50_000]).unwrap();
        desk.pull(&stage.reference()).await.unwrap();
        assert!(desk.has(&stage.reference()), "{status}");
    }
}

#[tokio::test]
async fn another_part_than_asked_for_is_refused() {
    let (desk, parts) = (Desk::new(), parts());
    let (victim, content) = (large(&parts), parts.layers[0].clone());
    let stage = Stage::with(&parts, move |seen| {
        is_for(seen, &victim).then(|| reply(206, &content[10..]).with("content-range", "bytes 10-20/30"))
    })
    .await;
    fs::write(desk.store.partial(&large(&parts)), &parts.layers[0][..50_000]).unwrap();
    assert_eq!(desk.class(&stage.reference()).await, Class::Unusable);
}

async fn with_layer(parts: &Parts, answer: Reply) -> Stage {
    let victim = large(parts);
    Stage::with(parts, move |seen| is_for(seen, &victim).then(|| answer.clone())).await
}

#[tokio::test]
async fn wrong_content_is_refused_and_not_kept() {
    let (desk, parts) = (Desk::new(), parts());
    let mut wrong = parts.layers[0].clone();
    wrong[1000] ^= 1;
    let stage = with_layer(&parts, reply(200, wrong)).await;
    let error = desk.pull(&stage.reference()).await.unwrap_err();
    assert_eq!(error.class(), Class::Unusable);
    assert!(error.to_string().contains(&format!("where {} was asked for", large(&parts))), "{error}");
    assert_eq!(fs::metadata(desk.store.partial(&large(&parts))).unwrap().len(), 0);
    assert!(!desk.has(&stage.reference()));
}

#[tokio::test]
async fn content_without_end_is_not_written_to_disk() {
    let (desk, parts) = (Desk::new(), parts());
    let stage = with_layer(&parts, reply(200, vec![0; 10_000_000])).await;
    let error = desk.pull(&stage.reference()).await.unwrap_err();
    assert!(error.to_string().contains("gave more than the"), "{error}");
    assert_eq!(fs::metadata(desk.store.partial(&large(&parts))).unwrap().len(), 0);
}

#[tokio::test]
async fn content_that_ends_too_soon_is_given_up_in_the_end() {
    let (desk, parts) = (Desk::new(), parts());
    let stage = with_layer(&parts, reply(200, &parts.layers[0][..1000])).await;
    assert_eq!(desk.class(&stage.reference()).await, Class::Unreachable);
}

#[tokio::test]
async fn failures_are_told_apart() {
    let (desk, parts) = (Desk::new(), parts());
    let stage = honest(&parts).await;
    let missing = format!("{}/app:2", stage.address);
    let error = desk.pull(&missing).await.unwrap_err();
    assert_eq!(error.class(), Class::NotFound);
    let said = error.to_string();
    assert!(
        said.starts_with(&format!("failed to pull image \"{missing}\": ")) && said.contains("not found"),
        "{said}"
    );
    let closed = Stage::new(|_: &Seen| reply(401, "")).await;
    assert_eq!(desk.class(&closed.reference()).await, Class::Unauthorized);
    let busy = Stage::new(|_: &Seen| reply(503, "")).await;
    assert_eq!(desk.class(&busy.reference()).await, Class::Unreachable);
    let gone = Stage::new(|_: &Seen| reply(200, "")).await.reference();
    assert_eq!(desk.class(&gone).await, Class::Unreachable);
    assert_eq!(desk.class("name.invalid/app").await, Class::Unreachable);
}

#[tokio::test]
async fn every_credential_is_tried() {
    let (mut desk, parts) = (Desk::new(), parts());
    let stage = Stage::with(&parts, |seen| match seen.header("authorization") {
        "Basic Z29vZDpwYXNz" => None,
        _ => Some(reply(401, "").with("www-authenticate", "Basic realm=x")),
    })
    .await;
    let host = stage.address.to_string();
    for (key, user) in [(format!("{host}/app"), "bad"), (host.clone(), "good")] {
        let file = json!({"auths": {key: {"username": user, "password": "pass"}}});
        desk.keyring.add(file.to_string().as_bytes()).unwrap();
    }
    desk.pull(&stage.reference()).await.unwrap();
    assert!(desk.has(&stage.reference()));
}

fn mirrored(desk: &mut Desk, origin: &str, mirrors: &[&str]) {
    let mirrors = mirrors
        .iter()
        .map(|address| Mirror { address: address.parse().unwrap(), security: None, authorities: None })
        .collect();
    desk.settings.registries.insert(origin.to_owned(), Registry { mirrors, ..Registry::default() });
}

#[tokio::test]
async fn a_mirror_is_asked_first_for_whom_it_stands() {
    let (mut desk, parts) = (Desk::new(), parts());
    let mirror = honest(&parts).await;
    mirrored(&mut desk, "registry.invalid", &[&mirror.address.to_string()]);
    desk.pull("registry.invalid/app:1").await.unwrap();
    assert!(mirror.seen()[0].path.ends_with("?ns=registry.invalid"));
    assert!(desk.has("registry.invalid/app:1"));
}

#[tokio::test]
async fn a_mirror_that_fails_leaves_the_registry_itself() {
    let (mut desk, parts) = (Desk::new(), parts());
    let origin = honest(&parts).await;
    let empty = Stage::new(|_: &Seen| reply(404, "")).await;
    let gone = Stage::new(|_: &Seen| reply(200, "")).await.address.to_string();
    mirrored(&mut desk, &origin.address.to_string(), &[&gone, &empty.address.to_string()]);
    desk.pull(&origin.reference()).await.unwrap();
    assert!(desk.has(&origin.reference()));
    assert!(!empty.seen().is_empty());
}

#[tokio::test]
async fn a_mirror_that_lies_leaves_the_registry_itself() {
    let (mut desk, parts) = (Desk::new(), parts());
    let origin = honest(&parts).await;
    let liar = with_layer(&parts, reply(200, vec![0; parts.layers[0].len()])).await;
    mirrored(&mut desk, &origin.address.to_string(), &[&liar.address.to_string()]);
    desk.pull(&origin.reference()).await.unwrap();
    assert!(desk.has(&origin.reference()));
    assert_eq!(origin.asked(&large(&parts).to_string()).len(), 1);
}

#[tokio::test]
async fn a_mirror_never_sees_the_registrys_credentials() {
    let (mut desk, parts) = (Desk::new(), parts());
    let mirror = Stage::new(|_: &Seen| reply(401, "").with("www-authenticate", "Basic realm=x")).await;
    let origin = honest(&parts).await;
    mirrored(&mut desk, &origin.address.to_string(), &[&mirror.address.to_string()]);
    let file = json!({"auths": {origin.address.to_string(): {"username": "me", "password": "secret"}}});
    desk.keyring.add(file.to_string().as_bytes()).unwrap();
    desk.pull(&origin.reference()).await.unwrap();
    assert!(
        !mirror.seen().is_empty() && mirror.seen().iter().all(|seen| seen.header("authorization").is_empty())
    );
}

fn index(parts: &Parts, architecture: &str) -> String {
    json!({"schemaVersion": 2, "manifests": [
        {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": Digest::of(b"other"), "size": 5,
         "platform": {"os": "plan9", "architecture": "vax"}},
        {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": parts.digest(),
         "size": parts.manifest.len(), "platform": {"os": "linux", "architecture": architecture}},
    ]})
    .to_string()
}

#[tokio::test]
async fn the_variant_for_this_machine_is_pulled() {
    let (desk, parts) = (Desk::new(), parts());
    let index = index(&parts, &Platform::of_this_machine().architecture);
    let digest = Digest::of(index.as_bytes());
    let stage = Stage::with(&parts, move |seen| {
        seen.path.ends_with("manifests/1").then(|| reply(200, index.clone()))
    })
    .await;
    assert_eq!(desk.pull(&stage.reference()).await.unwrap(), Pulled { id: parts.id(), digest });
}

#[tokio::test]
async fn an_image_without_a_variant_for_this_machine_is_refused() {
    let (desk, parts) = (Desk::new(), parts());
    let index = index(&parts, "pdp11");
    let stage = Stage::with(&parts, move |seen| {
        seen.path.ends_with("manifests/1").then(|| reply(200, index.clone()))
    })
    .await;
    let error = desk.pull(&stage.reference()).await.unwrap_err();
    assert_eq!(error.class(), Class::Unusable);
    assert!(error.to_string().contains("no variant for linux/"), "{error}");
}

#[tokio::test]
async fn a_hostile_layer_is_refused_and_leaves_nothing() {
    let desk = Desk::new();
    let parts = Parts::of(&[Tar::new().file("../a", "x").finish()], &json!({}));
    let stage = honest(&parts).await;
    let error = desk.pull(&stage.reference()).await.unwrap_err();
    assert_eq!(error.class(), Class::Unusable);
    assert!(error.to_string().contains("`../a` climbs out of the image by `..`"), "{error}");
    assert!(desk.store.list().unwrap().is_empty());
}

type Meeting = (Mutex<(usize, usize)>, std::sync::Condvar);

/// Counts how many are here at once, and the most there ever were.
fn meet((counts, changed): &Meeting) {
    let mut here = counts.lock().unwrap();
    here.0 += 1;
    here.1 = here.1.max(here.0);
    changed.notify_all();
    let wait = Duration::from_millis(500);
    let (mut here, _) = changed.wait_timeout_while(here, wait, |here| here.1 < 2).unwrap();
    here.0 -= 1;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn layers_are_fetched_at_the_same_time_but_not_too_many() {
    let mut desk = Desk::new();
    desk.settings.parallel_layers = 2;
    let layers: Vec<_> = (0..6).map(|number| Tar::new().file("a", format!("{number}")).finish()).collect();
    let parts = Parts::of(&layers, &json!({}));
    let barrier = Arc::new(Meeting::default());
    let shared = Arc::clone(&barrier);
    let config = parts.id();
    let stage = Stage::with(&parts, move |seen| {
        if seen.path.contains("/blobs/") && !is_for(seen, &config) {
            // Answers only when another layer is being asked for too, or the time is up.
            tokio::task::block_in_place(|| meet(&shared));
        }
        None
    });
    let stage = stage.await;
    desk.pull(&stage.reference()).await.unwrap();
    assert_eq!(barrier.0.lock().unwrap().1, 2);
}
