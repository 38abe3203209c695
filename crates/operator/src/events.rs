//! Tells people what happened, without making anybody wait: events go through a queue, behind everything else, and are
//! dropped when there are too many.

use std::sync::Arc;

use asb_core::event::Reporter;
use asb_core::object::Metadata;
use asb_core::report::Event;
use asb_core::write::Kind;
use kube::Client;
use kube::api::PostParams;
use kube::core::Request;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::clock::{Clock, Dice};
use crate::traffic::{Class, Traffic};

/// How many events may wait. They are a help to people, not a record.
const WAITING: usize = 1000;

/// Where events are handed in.
#[derive(Clone)]
pub(crate) struct Recorder {
    queue: mpsc::Sender<Value>,
    clock: Arc<dyn Clock>,
    dice: Arc<Dice>,
    instance: Arc<str>,
}

impl Recorder {
    /// A recorder, and the task that sends what is handed to it.
    pub(crate) fn new(
        client: Client,
        traffic: Arc<Traffic>,
        clock: Arc<dyn Clock>,
        dice: Arc<Dice>,
        instance: &str,
    ) -> (Self, impl Future<Output = ()> + use<>) {
        let (queue, waiting) = mpsc::channel(WAITING);
        (Self { queue, clock, dice, instance: instance.into() }, send_all(client, traffic, waiting))
    }

    pub(crate) fn record(&self, event: &Event, kind: Kind, about: &Metadata) {
        let reporter = Reporter { controller: controller(kind), instance: &self.instance };
        let event = event.about(kind, about, &reporter, self.dice.roll(), self.clock.now());
        if self.queue.try_send(event).is_err() {
            tracing::debug!(object = %about.key, "too many events are waiting, dropped one");
        }
    }
}

async fn send_all(client: Client, traffic: Arc<Traffic>, mut waiting: mpsc::Receiver<Value>) {
    while let Some(event) = waiting.recv().await {
        let _permit = traffic.pass(Class::Housekeeping).await;
        if let Err(error) = send(&client, &event).await {
            tracing::debug!(%error, event = %event, "could not record an event");
        }
    }
}

async fn send(client: &Client, event: &Value) -> Result<(), kube::Error> {
    let namespace = event["metadata"]["namespace"].as_str().unwrap_or_default();
    let events = Request::new(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"));
    let request = events
        .create(&PostParams::default(), event.to_string().into_bytes())
        .map_err(kube::Error::BuildRequest)?;
    client.request::<Value>(request).await.map(drop)
}

/// The names that every implementation of this operator reports under.
fn controller(kind: Kind) -> &'static str {
    match kind {
        Kind::SandboxClaim | Kind::ShorthandClaim => "sandboxclaim-controller",
        Kind::SandboxTemplate | Kind::ShorthandTemplate => "sandboxtemplate-controller",
        Kind::SandboxWarmPool | Kind::ShorthandPool => "sandboxwarmpool-controller",
        _ => "sandbox-controller",
    }
}
