//! A release of the chart on the cluster under test, from its installation to its removal.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::DeleteParams;

use crate::helm::{chart, helm};
use crate::{Cluster, wait};

/// Pods of real containers take their time, and two operators have to agree first.
const PATIENCE: Duration = Duration::from_mins(2);

pub const NAMESPACE: &str = "agent-sandbox-system";
const OPERATOR: &str = "agent-sandbox-controller";
const ROUTER: &str = "sandbox-router";
const RELEASE: [&str; 3] = ["agent-sandbox", "--namespace", NAMESPACE];
/// The image was loaded onto the node, and there is nowhere to pull it from.
const VALUES: &str = "controller.extensions=true,image.pullPolicy=Never";

pub struct Installation {
    deployments: Api<Deployment>,
    leases: Api<Lease>,
    pods: Api<Pod>,
    namespaces: Api<Namespace>,
    definitions: Api<CustomResourceDefinition>,
}

impl Installation {
    /// Over definitions that are there already, as on a cluster that is taken over; with further values.
    pub async fn make(cluster: &Cluster, values: &str) -> Result<Self> {
        let chart = chart().display().to_string();
        let install = ["install", &chart, "--create-namespace", "--take-ownership", "--force-conflicts"];
        let values = ["--set", VALUES, "--set", values];
        helm(&[&install[..1], &RELEASE, &install[1..], &values].concat()).await?;
        let client = cluster.client();
        Ok(Self {
            deployments: Api::namespaced(client.clone(), NAMESPACE),
            leases: Api::namespaced(client.clone(), NAMESPACE),
            pods: Api::namespaced(client.clone(), NAMESPACE),
            namespaces: Api::all(client.clone()),
            definitions: Api::all(client),
        })
    }

    /// Waits until so many operators are ready, as they were last changed.
    pub async fn available(&self, replicas: i32) -> Result<()> {
        self.deployed(OPERATOR, replicas).await
    }

    /// Waits until the router is ready.
    pub async fn is_open(&self) -> Result<()> {
        self.deployed(ROUTER, 1).await
    }

    async fn deployed(&self, name: &str, replicas: i32) -> Result<()> {
        let are_ready = |deployment: &Deployment| {
            let Some(status) = &deployment.status else { return false };
            let counts = [status.replicas, status.updated_replicas, status.available_replicas];
            status.observed_generation == deployment.metadata.generation && counts == [Some(replicas); 3]
        };
        wait::for_object_within(PATIENCE, &self.deployments, name, "available", are_ready).await?;
        Ok(())
    }

    /// Kills the replica that acts, and waits until another does.
    pub async fn lose_the_leader(&self) -> Result<()> {
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

    pub async fn upgrade(&self, values: &str) -> Result<()> {
        let chart = chart().display().to_string();
        let values = ["--set", VALUES, "--set", values];
        helm(&[&["upgrade"], &RELEASE[..], &[&chart], &values].concat()).await?;
        Ok(())
    }

    /// Uninstalls it. The definitions stay, and so all objects.
    pub async fn remove(&self) -> Result<()> {
        let deployment = self.deployments.get(OPERATOR).await?;
        helm(&[&["uninstall"], &RELEASE[..]].concat()).await?;
        wait::for_gone(&self.deployments, &deployment).await?;
        self.definitions.get("sandboxes.agents.x-k8s.io").await?;
        self.namespaces.delete(NAMESPACE, &DeleteParams::background()).await?;
        // Whoever needs one of that name next cannot use one that is going.
        let gone = || async { self.namespaces.get_opt(NAMESPACE).await.ok()?.is_none().then_some(()) };
        Ok(wait::until(PATIENCE, "the namespace to go", gone).await?)
    }
}
