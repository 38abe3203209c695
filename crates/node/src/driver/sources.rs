//! News of the ConfigMaps and Secrets that files of Pods follow: which one has changed, not what it says.

use std::fmt::Debug;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{PartialObjectMeta, Resource};
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// As many as wait to be passed on; further ones make the watch wait.
const WAITING: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) kind: Kind,
    pub(super) namespace: String,
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ConfigMap,
    Secret,
}

/// Tells of changes as long as it is there.
pub(super) struct Changes {
    news: mpsc::Receiver<Change>,
    _watches: JoinSet<()>,
}

impl Changes {
    /// To be called within a runtime.
    pub(super) fn follow(client: &Client) -> Self {
        let (sender, news) = mpsc::channel(WAITING);
        let mut watches = JoinSet::new();
        watches.spawn(pass_on::<ConfigMap>(Api::all(client.clone()), Kind::ConfigMap, sender.clone()));
        watches.spawn(pass_on::<Secret>(Api::all(client.clone()), Kind::Secret, sender));
        Self { news, _watches: watches }
    }

    pub(super) async fn next(&mut self) -> Option<Change> {
        self.news.recv().await
    }
}

/// What was there when the watch began is no news: whoever needs it has read it, or looks once a minute.
async fn pass_on<K>(api: Api<PartialObjectMeta<K>>, kind: Kind, sender: mpsc::Sender<Change>)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut events = std::pin::pin!(watcher(api, Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(object)) => {
                if sender.send(change(kind, &object)).await.is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, ?kind, "lost the thread of a kind"),
        }
    }
}

fn change<K>(kind: Kind, object: &PartialObjectMeta<K>) -> Change {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Change { kind, namespace: text(&object.metadata.namespace), name: text(&object.metadata.name) }
}
