//! Keeps the directory of Sandboxes in step with the API server. While that cannot be reached, what was known last counts.

use std::collections::HashSet;
use std::sync::{Arc, RwLock};

use asb_core::object::Key;
use asb_core::route::{Directory, Entry, Loopback};
use asb_core::views::{self, SandboxView};
use asb_types::GROUP;
use futures::{StreamExt, pin_mut};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::settings::Settings;

/// The directory, and whether all Sandboxes were read into it.
#[derive(Clone)]
pub(crate) struct Followed {
    directory: Arc<RwLock<Directory>>,
    is_whole: watch::Receiver<bool>,
}

impl Followed {
    pub(crate) fn read<T>(&self, with: impl FnOnce(&Directory) -> T) -> T {
        with(&self.directory.read().expect("nobody panics with it"))
    }

    pub(crate) fn is_whole(&self) -> bool {
        *self.is_whole.borrow()
    }

    pub(crate) async fn wait_until_whole(mut self) {
        // It is dropped only when the router ends.
        let _ = self.is_whole.wait_for(|is_whole| *is_whole).await;
    }
}

/// Whoever keeps it: to be run for as long as the router runs.
pub(crate) struct Follower {
    sandboxes: Api<DynamicObject>,
    directory: Arc<RwLock<Directory>>,
    is_whole: watch::Sender<bool>,
    loopback: Loopback,
}

pub(crate) fn follow(client: Client, settings: &Settings) -> (Follower, Followed) {
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1beta1", "Sandbox"), "sandboxes");
    let sandboxes = match settings.namespace.as_deref() {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    };
    let directory = Arc::new(RwLock::new(Directory::default()));
    let (is_whole, seen) = watch::channel(false);
    let followed = Followed { directory: Arc::clone(&directory), is_whole: seen };
    (Follower { sandboxes, directory, is_whole, loopback: settings.loopback }, followed)
}

impl Follower {
    pub(crate) async fn run(self, stop: CancellationToken) {
        let events = watcher::watcher(self.sandboxes.clone(), watcher::Config::default()).default_backoff();
        pin_mut!(events);
        let mut listed = HashSet::new();
        while let Some(Some(event)) = stop.run_until_cancelled(events.next()).await {
            match event {
                Ok(event) => self.take(event, &mut listed),
                Err(error) => {
                    tracing::warn!(%error, "Sandboxes cannot be followed: what was known last counts");
                }
            }
        }
    }

    fn take(&self, event: Event<DynamicObject>, listed: &mut HashSet<Key>) {
        let mut directory = self.directory.write().expect("nobody panics with it");
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(object) => {
                if let Some(key) = put(&mut directory, &object, self.loopback) {
                    listed.insert(key);
                }
            }
            Event::InitDone => {
                directory.retain(|key| listed.contains(key));
                *listed = HashSet::new();
                self.is_whole.send_replace(true);
            }
            Event::Apply(object) => {
                put(&mut directory, &object, self.loopback);
            }
            Event::Delete(object) => {
                if let Some(key) = key(&object) {
                    directory.remove(&key);
                }
            }
        }
    }
}

/// One that cannot be read is not reached, and stops no other.
fn put(directory: &mut Directory, object: &DynamicObject, loopback: Loopback) -> Option<Key> {
    let key = key(object)?;
    let value = serde_json::to_value(object).ok()?;
    match views::read::<SandboxView>(&value) {
        Ok(Ok(sandbox)) => directory.put(key.clone(), Entry::of(&sandbox, loopback)),
        _ => directory.remove(&key),
    }
    Some(key)
}

fn key(object: &DynamicObject) -> Option<Key> {
    Some(Key::new(object.metadata.namespace.as_deref()?, object.metadata.name.as_deref()?))
}
