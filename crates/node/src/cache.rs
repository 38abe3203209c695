//! All objects of one kind as the API server has them, followed from when somebody first asks.

use std::fmt::Debug;
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;

use futures::{Stream, StreamExt};
use kube::Api;
use kube::api::Resource;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt, watcher};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// A copy that is kept up to date until the last handle to it goes.
pub struct Cache<K: Resource + 'static>
where
    K::DynamicType: Eq + Hash,
{
    store: Store<K>,
    changes: watch::Receiver<u64>,
    /// Whether everything that there was has been read once.
    ready: watch::Receiver<bool>,
    task: Arc<Following>,
}

/// Ends the work when it goes.
struct Following(AbortHandle);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<K> Clone for Cache<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            changes: self.changes.clone(),
            ready: self.ready.clone(),
            task: Arc::clone(&self.task),
        }
    }
}

impl<K> Cache<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    /// Begins to follow. To be called within a runtime.
    pub fn follow(api: Api<K>, config: watcher::Config) -> Self {
        Self::taking(watcher(api, config).default_backoff())
    }

    fn taking(events: impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send + 'static) -> Self {
        let (store, writer) = reflector::store();
        let (counter, changes) = watch::channel(0);
        let (complete, ready) = watch::channel(false);
        let follow = async move {
            let mut events = pin!(reflector::reflector(writer, events));
            while let Some(event) = events.next().await {
                match event {
                    Ok(event) => {
                        if matches!(event, watcher::Event::InitDone) {
                            complete.send_replace(true);
                        }
                        counter.send_modify(|count| *count += 1);
                    }
                    Err(error) => tracing::warn!(%error, kind = %K::kind(&()), "lost the thread of a kind"),
                }
            }
        };
        let task = tokio::spawn(follow).abort_handle();
        Self { store, changes, ready, task: Arc::new(Following(task)) }
    }

    /// These and no others, for as long as it is there: for tests. To be called within a runtime.
    pub fn holding(objects: impl IntoIterator<Item = K>) -> Self {
        let (store, mut writer) = reflector::store();
        writer.apply_watcher_event(&watcher::Event::Init);
        for object in objects {
            writer.apply_watcher_event(&watcher::Event::InitApply(object));
        }
        writer.apply_watcher_event(&watcher::Event::InitDone);
        let (counter, changes) = watch::channel(0);
        let keep = async move {
            let _both = (writer, counter);
            std::future::pending::<()>().await;
        };
        let task = tokio::spawn(keep).abort_handle();
        let (_, ready) = watch::channel(true);
        Self { store, changes, ready, task: Arc::new(Following(task)) }
    }

    /// All of the kind, in every namespace.
    pub fn all_of(client: &kube::Client) -> Self {
        Self::follow(Api::all(client.clone()), watcher::Config::default())
    }

    /// Returns when everything that there was has been read once.
    pub async fn ready(&self) {
        // Not by the store's own means: of several who wait there, only the last is woken. The sender lives as long as this
        // handle does.
        let _ = self.ready.clone().wait_for(|ready| *ready).await;
    }

    /// Empty for a kind without namespaces.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        let reference = ObjectRef::new(name);
        let reference = if namespace.is_empty() { reference } else { reference.within(namespace) };
        self.store.get(&reference)
    }

    pub fn all(&self) -> Vec<Arc<K>> {
        self.store.state()
    }

    /// Counts up with every change; a clone of its own for everybody who waits.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::core::v1::Pod;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn everybody_who_waits_for_the_beginning_is_told() {
        let (sender, events) = futures::channel::mpsc::unbounded();
        let cache = Cache::<Pod>::taking(events);
        let wait = |_| {
            let cache = cache.clone();
            tokio::spawn(async move { cache.ready().await })
        };
        let waiting: Vec<_> = (0..3).map(wait).collect();
        // All of them wait before there is anything.
        tokio::task::yield_now().await;
        for event in [watcher::Event::Init, watcher::Event::InitDone] {
            sender.unbounded_send(Ok(event)).unwrap();
        }
        let told = timeout(Duration::from_secs(5), futures::future::join_all(waiting)).await;
        assert!(told.is_ok(), "somebody was forgotten");
    }
}
