//! Watch → plan → apply, in one task: events and results go into [`Pods`], and the writes it asks for are made
//! side by side up to a limit.

use std::future::pending;
use std::pin::pin;

use futures::stream::FuturesUnordered;
use futures::{Stream, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::{Error as WatchError, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use tokio::sync::oneshot;

use super::Tally;
use super::apply::{Applied, Work, apply};
use super::plan::Action;
use super::pods::Pods;

pub(super) struct Driver {
    pub(super) client: Client,
    pub(super) pods: Pods,
    /// How many writes may be under way at a time.
    pub(super) concurrency: usize,
    pub(super) tally: Tally,
}

type Written = (Work, Result<Applied, kube::Error>);

impl Driver {
    /// Runs until told to stop, and then only ends the writes under way.
    pub(super) async fn run(
        mut self,
        watch: impl Stream<Item = Result<Event<Pod>, WatchError>>,
        mut stop: oneshot::Receiver<()>,
    ) -> Tally {
        let mut watch = pin!(watch);
        let mut writes = FuturesUnordered::new();
        loop {
            while let Some(work) = self.next(writes.len()) {
                writes.push(write(self.client.clone(), work));
            }
            tokio::select! {
                _ = &mut stop => break,
                Some(event) = watch.next() => self.event(event),
                Some(written) = writes.next() => self.written(written),
                () = reached(self.pods.next_look()), if writes.len() < self.concurrency => {}
            }
        }
        while let Some(written) = writes.next().await {
            self.written(written);
        }
        self.tally
    }

    fn next(&mut self, under_way: usize) -> Option<Work> {
        if under_way < self.concurrency { self.pods.work(Timestamp::now()) } else { None }
    }

    fn event(&mut self, event: Result<Event<Pod>, WatchError>) {
        match event {
            Ok(event) => self.pods.event(event, Timestamp::now()),
            // The watcher starts anew by itself.
            Err(error) => tracing::warn!(%error, "the fake kubelet's watch broke off"),
        }
    }

    fn written(&mut self, (work, result): Written) {
        self.tally.count(&work.action, &result);
        if let Err(error) = &result {
            tracing::warn!(pod = work.name, namespace = work.namespace, %error, "a fake kubelet's write failed");
        }
        self.pods.applied(&work.uid, result.ok(), Timestamp::now());
    }
}

/// The Pods to follow: all that may need this node, or only those it has when others do the scheduling.
pub(super) fn watch(
    pods: Api<Pod>,
    only_on_node: Option<&str>,
) -> impl Stream<Item = Result<Event<Pod>, WatchError>> + use<> {
    let config = only_on_node.map_or_else(watcher::Config::default, |node| {
        watcher::Config::default().fields(&format!("spec.nodeName={node}"))
    });
    watcher(pods, config).modify(|pod| pod.metadata.managed_fields = None).default_backoff()
}

async fn write(client: Client, work: Work) -> Written {
    let result = apply(&client, &work).await;
    (work, result)
}

async fn reached(time: Option<Timestamp>) {
    let Some(time) = time else { return pending().await };
    let left = time.duration_since(Timestamp::now());
    tokio::time::sleep(left.try_into().unwrap_or_default()).await;
}

impl Tally {
    fn count(&mut self, action: &Action, result: &Result<Applied, kube::Error>) {
        match (result, action) {
            (Err(error), _) => self.errors.push(error.to_string()),
            (Ok(Applied::Overtaken), _) => self.overtaken += 1,
            (Ok(_), Action::Bind) => self.bindings += 1,
            (Ok(_), Action::SetStatus(_)) => self.statuses += 1,
            (Ok(_), Action::Remove) => self.removals += 1,
        }
    }
}
