//! What Sandboxes use right now: from the metrics API where there is one, else from the nodes themselves.

mod reading;

use std::collections::{BTreeMap, BTreeSet};

use asb_types::v1beta1::Sandbox;
use http::Request;
use kube::ResourceExt;
use serde_json::Value;

use crate::client::Client;
use crate::error::Error;
use crate::pods::pod_name;

/// What one Pod uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Billionths of a processor.
    pub cpu_nano: u64,
    pub memory_bytes: u64,
}

/// By namespace and name of the Pod.
pub(crate) type Readings = BTreeMap<(String, String), Usage>;

impl Client {
    /// What each of these Sandboxes uses; nothing for one that does not run, or was not measured yet.
    pub async fn usage(&self, sandboxes: &[Sandbox]) -> Result<Vec<Option<Usage>>, Error> {
        let readings = match self.metered(sandboxes).await {
            Ok(readings) => readings,
            Err(missing) => self.summed_up(sandboxes, &missing).await?,
        };
        let key = |sandbox: &Sandbox| (sandbox.namespace().unwrap_or_default(), pod_name(sandbox));
        Ok(sandboxes.iter().map(|sandbox| readings.get(&key(sandbox)).copied()).collect())
    }

    async fn metered(&self, sandboxes: &[Sandbox]) -> Result<Readings, kube::Error> {
        let namespaces: BTreeSet<String> = sandboxes.iter().filter_map(ResourceExt::namespace).collect();
        let mut readings = Readings::new();
        for namespace in namespaces {
            let path = format!("/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods");
            readings.extend(reading::of_metrics(&self.ask(&path).await?));
        }
        Ok(readings)
    }

    /// Each node knows what its Pods use, and tells whoever may ask it.
    async fn summed_up(&self, sandboxes: &[Sandbox], missing: &kube::Error) -> Result<Readings, Error> {
        let names = sandboxes.iter().filter_map(|sandbox| Some(sandbox.status.as_ref()?.node_name.clone()));
        let nodes: BTreeSet<String> = names.filter(|name| !name.is_empty()).collect();
        let mut readings = Readings::new();
        for node in nodes {
            let summary = self.ask(&format!("/api/v1/nodes/{node}/proxy/stats/summary")).await;
            let summary = summary.map_err(|error| Error::NoMetrics { why: why(missing, &node, &error) })?;
            readings.extend(reading::of_summary(&summary));
        }
        Ok(readings)
    }

    async fn ask(&self, path: &str) -> Result<Value, kube::Error> {
        let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
        self.kube().request(request).await
    }
}

fn why(metrics: &kube::Error, node: &str, summary: &kube::Error) -> String {
    let said = |error: &kube::Error| match error {
        kube::Error::Api(status) => status.message.trim().to_owned(),
        other => other.to_string(),
    };
    format!("there is no metrics API ({}), and node {node} does not tell ({})", said(metrics), said(summary))
}
