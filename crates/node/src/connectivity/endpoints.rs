//! Keeps the EndpointSlices of Services, as kube-controller-manager does: what they should say is decided in
//! [`asb_core::network::slices`].
//!
//! A plan made of caches that lag behind would write twice. So they only tell which Services to look at; what is written
//! follows from the slices that the API server has at that moment.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use asb_core::network::services;
use asb_core::network::slices::{Plan, Seen, plan};
use asb_core::object::Key;
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use tokio::time::{Instant, sleep, sleep_until};

use super::followed::Followed;
use super::objects::Caches;

/// How many Services are written about at once, so that their writes reach the disk together.
const TOGETHER: usize = 16;
/// Changes that come close together are looked at together.
const PACE: Duration = Duration::from_millis(10);
/// How soon after a failure the next attempt comes, at first and at last.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Never returns.
pub(super) async fn keep(client: kube::Client, caches: Caches) {
    let mut controller = Controller {
        pods: Followed::new(caches.pods),
        services: Followed::new(caches.services),
        slices: Followed::new(caches.slices),
        client,
        seen: Seen::default(),
        failed: BTreeSet::new(),
        failures: 0,
        again: Instant::now(),
    };
    controller.ready().await;
    loop {
        controller.changed().await;
        controller.turn().await;
        sleep(PACE).await;
    }
}

struct Controller {
    client: kube::Client,
    pods: Followed<Pod>,
    services: Followed<Service>,
    slices: Followed<EndpointSlice>,
    seen: Seen,
    /// Services that could not be written about, and are tried again.
    failed: BTreeSet<Key>,
    failures: u32,
    /// When.
    again: Instant,
}

impl Controller {
    /// Endpoints are not taken for gone before their Pods have been read.
    async fn ready(&self) {
        self.pods.cache.ready().await;
        self.services.cache.ready().await;
        self.slices.cache.ready().await;
    }

    async fn changed(&mut self) {
        let again = self.again;
        let has_failed = !self.failed.is_empty();
        tokio::select! {
            () = self.pods.changed() => {}
            () = self.services.changed() => {}
            () = self.slices.changed() => {}
            () = sleep_until(again), if has_failed => {}
        }
    }

    async fn turn(&mut self) {
        self.pods.look();
        self.services.look();
        self.slices.look();
        let (pods, slices) = (self.pods.cache.all(), self.slices.cache.all());
        let mut wanted = self.seen.look(&pods, &self.services.cache.all(), &slices);
        if self.again <= Instant::now() {
            wanted.append(&mut self.failed);
        }
        let wanted = wanted.into_iter().filter_map(|key| {
            let service = self.services.cache.get(&key.namespace, &key.name)?;
            let planned = plan(&service, pods.iter().map(Arc::as_ref), slices.iter().map(Arc::as_ref));
            (!planned.is_empty()).then_some((key, service))
        });
        let wanted: Vec<_> = wanted.collect();
        let (client, pods) = (&self.client, &pods);
        let written =
            stream::iter(wanted)
                .map(|(key, service)| async move {
                    write(client, &service, pods).await.map_err(|error| (key, error))
                })
                .buffer_unordered(TOGETHER);
        let failed: Vec<_> = written.filter_map(|outcome| async { outcome.err() }).collect().await;
        self.try_again(failed);
    }

    fn try_again(&mut self, failed: Vec<(Key, kube::Error)>) {
        self.failures = if failed.is_empty() { 0 } else { self.failures + 1 };
        if !failed.is_empty() {
            self.again = Instant::now() + RETRY.0.saturating_mul(1 << self.failures.min(10)).min(RETRY.1);
        }
        for (key, error) in failed {
            tracing::debug!(%error, service = %key, "endpoints are written later");
            self.failed.insert(key);
        }
    }
}

async fn write(client: &kube::Client, service: &Service, pods: &[Arc<Pod>]) -> Result<(), kube::Error> {
    let Some(key) = services::key(service) else { return Ok(()) };
    let api = Api::<EndpointSlice>::namespaced(client.clone(), &key.namespace);
    let own = ListParams::default().labels(&format!("kubernetes.io/service-name={}", key.name));
    let slices = api.list(&own).await?.items;
    let Plan { create, update, delete } = plan(service, pods.iter().map(Arc::as_ref), slices.iter());
    for slice in create {
        api.create(&PostParams::default(), &slice).await?;
    }
    for slice in update {
        let name = slice.metadata.name.clone().unwrap_or_default();
        api.replace(&name, &PostParams::default(), &slice).await?;
    }
    for key in delete {
        let deleted = api.delete(&key.name, &DeleteParams::default()).await;
        deleted.map(drop).or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) })?;
    }
    Ok(())
}

fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
