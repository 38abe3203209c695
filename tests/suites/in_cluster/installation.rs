//! A release of the chart on the cluster under test, from its installation to its removal.

use anyhow::{Context, Result};
use asb_tests::helm::{chart, helm};
use asb_tests::{Cluster, wait};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::DeleteParams;

use crate::PATIENCE;

const NAMESPACE: &str = "agent-sandbox-system";
const NAME: &str = "agent-sandbox-controller";
const RELEASE: [&str; 3] = ["agent-sandbox", "--namespace", NAMESPACE];
/// The image was loaded onto the node, and there is nowhere to pull it from.
const VALUES: [&str; 2] = ["--set", "controller.extensions=true,replicaCount=2,image.pullPolicy=Never"];

pub(crate) struct Installation {
    deployments: Api<Deployment>,
    leases: Api<Lease>,
    pods: Api<Pod>,
    namespaces: Api<Namespace>,
    definitions: Api<CustomResourceDefinition>,
}

impl Installation {
    /// Over definitions that are there already, as on a cluster that is taken over.
    pub(crate) async fn make(cluster: &Cluster) -> Result<Self> {
        let chart = chart().display().to_string();
        let install = ["install", &chart, "--create-namespace", "--take-ownership", "--force-conflicts"];
        helm(&[&install[..1], &RELEASE, &install[1..], &VALUES].concat()).await?;
        let client = cluster.client();
        Ok(Self {
            deployments: Api::namespaced(client.clone(), NAMESPACE),
            leases: Api::namespaced(client.clone(), NAMESPACE),
            pods: Api::namespaced(client.clone(), NAMESPACE),
            namespaces: Api::all(client.clone()),
            definitions: Api::all(client),
        })
    }

    /// Waits until so many replicas are ready, of the Deployment as it was last changed.
    pub(crate) async fn available(&self, replicas: i32) -> Result<()> {
        let are_ready = |deployment: &Deployment| {
            let Some(status) = &deployment.status else { return false };
            let counts = [status.replicas, status.updated_replicas, status.available_replicas];
            status.observed_generation == deployment.metadata.generation && counts == [Some(replicas); 3]
        };
        wait::for_object_within(PATIENCE, &self.deployments, NAME, "available", are_ready).await?;
        Ok(())
    }

    /// Kills the replica that acts, and waits until another does.
    pub(crate) async fn lose_the_leader(&self) -> Result<()> {
        let holder = |lease: &Lease| lease.spec.as_ref()?.holder_identity.clone().filter(|it| !it.is_empty());
        let leads = |lease: &Lease| holder(lease).is_some();
        let lease = wait::for_object(&self.leases, asb_operator::LEASE, "held", leads).await?;
        let before = holder(&lease).context("it is held")?;
        let pod = before.split('_').next().context("a holder names its Pod")?;
        self.pods.delete(pod, &DeleteParams::default()).await?;
        let is_other = |lease: &Lease| holder(lease).is_some_and(|now| now != before);
        wait::for_object_within(PATIENCE, &self.leases, asb_operator::LEASE, "held by another", is_other)
            .await?;
        Ok(())
    }

    pub(crate) async fn upgrade(&self, more: &[&str]) -> Result<()> {
        let chart = chart().display().to_string();
        helm(&[&["upgrade"], &RELEASE[..], &[&chart], &VALUES, more].concat()).await?;
        Ok(())
    }

    /// Uninstalls it. The definitions stay, and so all objects.
    pub(crate) async fn remove(&self) -> Result<()> {
        let deployment = self.deployments.get(NAME).await?;
        helm(&[&["uninstall"], &RELEASE[..]].concat()).await?;
        wait::for_gone(&self.deployments, &deployment).await?;
        self.definitions.get("sandboxes.agents.x-k8s.io").await?;
        self.namespaces.delete(NAMESPACE, &DeleteParams::background()).await?;
        // Whoever needs one of that name next cannot use one that is going.
        let gone = || async { self.namespaces.get_opt(NAMESPACE).await.ok()?.is_none().then_some(()) };
        Ok(wait::until(PATIENCE, "the namespace to go", gone).await?)
    }
}
