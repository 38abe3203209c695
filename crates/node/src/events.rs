//! Tells people what happens to Pods and claims, as kubelet and scheduler do. Nobody waits for it: events go through a queue, and
//! are dropped when there are too many.

mod correlation;

use std::sync::Arc;

use asb_core::pod::status::events::PodEvent;
use futures::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, ObjectReference, PersistentVolumeClaim, Pod};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use self::correlation::{Correlation, Told, Write};

/// How many may wait. They are a help to people, not a record.
const WAITING: usize = 4096;
/// How many are written at once, so that they reach the disk together.
const TOGETHER: usize = 64;

/// Where events are handed in. The last handle that goes ends the work.
#[derive(Clone, Debug)]
pub struct Events {
    queue: mpsc::Sender<Told>,
    component: Arc<str>,
    host: Arc<str>,
    _task: Arc<AbortOnDropHandle<()>>,
}

impl Events {
    /// `component` tells: `kubelet`, `default-scheduler`. To be called within a runtime.
    pub fn start(client: Client, component: &str, host: &str) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING);
        let task = AbortOnDropHandle::new(tokio::spawn(write_all(client, waiting)));
        Self { queue, component: component.into(), host: host.into(), _task: Arc::new(task) }
    }

    /// The same queue, in another's name.
    #[must_use]
    pub fn speaking_as(&self, component: &str) -> Self {
        Self { component: component.into(), ..self.clone() }
    }

    pub fn tell(&self, pod: &Pod, event: PodEvent) {
        self.about(reference(&pod.metadata, "Pod", event.field.clone()), event);
    }

    pub fn tell_claim(&self, claim: &PersistentVolumeClaim, event: PodEvent) {
        self.about(reference(&claim.metadata, "PersistentVolumeClaim", None), event);
    }

    fn about(&self, regarding: ObjectReference, event: PodEvent) {
        let (component, host) = (Arc::clone(&self.component), Arc::clone(&self.host));
        let told = Told { regarding, event, component, host, at: Timestamp::now() };
        if self.queue.try_send(told).is_err() {
            tracing::debug!("too many events are waiting, dropped one");
        }
    }
}

fn reference(metadata: &kube::api::ObjectMeta, kind: &str, field: Option<String>) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some(kind.to_owned()),
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
        field_path: field,
    }
}

async fn write_all(client: Client, mut waiting: mpsc::Receiver<Told>) {
    let mut correlation = Correlation::default();
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, TOGETHER).await > 0 {
        let writes = correlation.take(batch.drain(..));
        join_all(writes.into_iter().map(|write| carry_out(&client, write))).await;
    }
}

async fn carry_out(client: &Client, Write { event, is_new }: Write) {
    let written = if is_new { create(client, &event).await } else { repeat(client, &event).await };
    if let Err(error) = written {
        tracing::debug!(%error, reason = event.reason, "could not record an event");
    }
}

async fn create(client: &Client, event: &Event) -> Result<(), kube::Error> {
    api(client, event).create(&PostParams::default(), event).await.map(drop)
}

/// Events are kept for an hour; one that is gone by then is told anew.
async fn repeat(client: &Client, event: &Event) -> Result<(), kube::Error> {
    let patch = json!({"count": event.count, "lastTimestamp": event.last_timestamp});
    let name = event.metadata.name.as_deref().unwrap_or_default();
    match api(client, event).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => create(client, event).await,
        other => other.map(drop),
    }
}

fn api(client: &Client, event: &Event) -> Api<Event> {
    Api::namespaced(client.clone(), event.metadata.namespace.as_deref().unwrap_or_default())
}
