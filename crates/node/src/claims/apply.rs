//! Carries out what is to be done about claims: on disk, and in the API server. Each step can be done again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use asb_core::pod::status::events::PodEvent;
use asb_core::report::Severity;
use futures::FutureExt;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::task::spawn_blocking;

use super::work::Job;
use crate::cache::Cache;
use crate::events::Events;
use crate::volumes::provisioner::{self, Record};
use crate::volumes::{self, Layout, claim};

#[derive(Clone)]
pub(super) struct Worker {
    pub(super) client: Client,
    pub(super) layout: Layout,
    pub(super) node: String,
    pub(super) events: Events,
}

/// What became of a job.
pub(super) struct Done {
    pub(super) key: String,
    pub(super) version: Option<String>,
    pub(super) outcome: Result<(), Error>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot write to the API server")]
    Api(#[from] kube::Error),
    #[error("cannot prepare the directory")]
    Directory(#[from] volumes::Error),
    #[error("the work was ended")]
    Ended(#[from] tokio::task::JoinError),
    #[error("the claim is still there")]
    InUse,
    #[error("a bug stopped this work")]
    Bug,
}

impl Error {
    /// Whether another was first, or what was seen is not so any more: it is decided anew once that shows.
    pub(super) fn is_outdated(&self) -> bool {
        match self {
            Self::Api(kube::Error::Api(status)) => status.is_not_found() || status.code == 409,
            Self::InUse => true,
            _ => false,
        }
    }
}

impl Worker {
    /// Whatever becomes of it is told, also that a bug ended it: it is tried again like what failed.
    pub(super) async fn carry_out(self, job: Job) -> Done {
        let (key, version) = (job.key(), job.version());
        let outcome = AssertUnwindSafe(self.perform(job)).catch_unwind().await;
        Done { key, version, outcome: outcome.unwrap_or(Err(Error::Bug)) }
    }

    async fn perform(&self, job: Job) -> Result<(), Error> {
        match job {
            Job::Make(claim) => self.make(&claim).await,
            Job::Provision { claim, class, name, bytes } => {
                Box::pin(self.provision(&claim, &class, name, bytes)).await
            }
            Job::Bind { claim, volume } => Box::pin(self.bind(&claim, &volume)).await,
            Job::Grow { claim, volume, bytes } => Box::pin(self.grow(&claim, &volume, bytes)).await,
            Job::Phase { volume, phase } => self.set_phase(&volume, phase).await.map(drop),
            Job::Delete(volume) => Box::pin(self.delete(&volume)).await,
            Job::Tell { claim, reason, message } => {
                let is_usual = reason == claim::FIRST_CONSUMER;
                let severity = if is_usual { Severity::Normal } else { Severity::Warning };
                self.tell(&claim, severity, reason, message);
                Ok(())
            }
        }
    }

    /// Where no other class is the default one, ours is.
    pub(super) async fn make_class(&self) -> Result<(), kube::Error> {
        let classes: Api<StorageClass> = Api::all(self.client.clone());
        let others = classes.list(&kube::api::ListParams::default()).await?;
        let mut class = claim::storage_class();
        if others.iter().any(claim::is_default) {
            class.metadata.annotations = None;
        }
        match classes.create(&PostParams::default(), &class).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            other => other.map(drop),
        }
    }

    /// Directories of claims that went before their volumes came to be. What has content is never removed here: somebody may
    /// have deleted the object of a volume to keep what is in it.
    pub(super) async fn clear_unused(
        &self,
        claims: &Cache<PersistentVolumeClaim>,
        volumes: &Cache<PersistentVolume>,
    ) {
        let uids: Vec<_> = claims.all().iter().filter_map(|claim| claim.uid()).collect();
        let names: Vec<_> = volumes.all().iter().map(|volume| volume.name_any()).collect();
        let layout = self.layout.clone();
        let cleared = spawn_blocking(move || clear(&layout, &uids, &names));
        if let Ok(Err(error)) = cleared.await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "could not clear volumes that nobody has"
            );
        }
    }

    async fn make(&self, claim: &PersistentVolumeClaim) -> Result<(), Error> {
        let namespace = claim.namespace().unwrap_or_default();
        self.claims(&namespace).create(&PostParams::default(), claim).await?;
        Ok(())
    }

    async fn provision(
        &self,
        claim: &Arc<PersistentVolumeClaim>,
        class: &StorageClass,
        name: String,
        bytes: u64,
    ) -> Result<(), Error> {
        let record = Record {
            claim: format!("{}/{}", claim.namespace().unwrap_or_default(), claim.name_any()),
            claim_uid: claim.uid().unwrap_or_default(),
            bytes,
            project: None,
        };
        let (layout, folder) = (self.layout.clone(), name.clone());
        let made = spawn_blocking(move || provisioner::provision(&layout, &folder, &record)).await?;
        let made = made.inspect_err(|error| {
            self.tell(claim, Severity::Warning, "ProvisioningFailed", error.to_string());
        })?;
        let volume = claim::volume(claim, class, &made.data, &self.node);
        let volume = match self.volumes().create(&PostParams::default(), &volume).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => self.volumes().get(&name).await?,
            made => made.inspect(|_| {
                let message = format!("Successfully provisioned volume {name}");
                self.tell(claim, Severity::Normal, "ProvisioningSucceeded", message);
            })?,
        };
        Box::pin(self.bind(claim, &volume)).await
    }

    /// The disk first, then the volume, and last the claim, by which everybody sees it.
    async fn grow(
        &self,
        claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
        bytes: u64,
    ) -> Result<(), Error> {
        let (layout, name) = (self.layout.clone(), volume.name_any());
        spawn_blocking(move || provisioner::grow(&layout, &name, bytes)).await??;
        let capacity = json!({"storage": claim::request(claim)});
        let patch = Patch::Merge(json!({"metadata": {"uid": volume.uid()}, "spec": {"capacity": capacity}}));
        self.volumes().patch(&volume.name_any(), &PatchParams::default(), &patch).await?;
        let patch = Patch::Merge(json!({"metadata": {"uid": claim.uid()}, "status": {"capacity": capacity}}));
        let claims = self.claims(&claim.namespace().unwrap_or_default());
        claims.patch_status(&claim.name_any(), &PatchParams::default(), &patch).await?;
        self.tell(claim, Severity::Normal, "VolumeResizeSuccessful", "Resize volume succeeded".to_owned());
        Ok(())
    }

    /// The volume first, as with Kubernetes' controller: then no other claim gets it.
    async fn bind(&self, claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Result<(), Error> {
        let volume = self.take(claim, volume).await?;
        let volume = self.set_phase(&volume, "Bound").await?;
        let claims = self.claims(&claim.namespace().unwrap_or_default());
        let wanted = claim::bound(claim, &volume);
        let (name, parameters) = (claim.name_any(), PostParams::default());
        let mut named = claims.replace(&name, &parameters, &wanted).await?;
        named.status = wanted.status;
        claims.replace_status(&name, &parameters, &named).await?;
        Ok(())
    }

    /// Says in the volume which very claim has it.
    async fn take(
        &self,
        claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
    ) -> Result<PersistentVolume, Error> {
        if claim::holder(volume).is_some() {
            return Ok(volume.clone());
        }
        let mut taken = volume.clone();
        taken.spec.get_or_insert_default().claim_ref = Some(claim::reference(claim));
        Ok(self.volumes().replace(&volume.name_any(), &PostParams::default(), &taken).await?)
    }

    async fn set_phase(&self, volume: &PersistentVolume, phase: &str) -> Result<PersistentVolume, Error> {
        if volume.status.as_ref().and_then(|status| status.phase.as_deref()) == Some(phase) {
            return Ok(volume.clone());
        }
        let patch = Patch::Merge(json!({"metadata": {"uid": volume.uid()}, "status": {"phase": phase}}));
        Ok(self.volumes().patch_status(&volume.name_any(), &PatchParams::default(), &patch).await?)
    }

    /// The API server is asked once more before anything is lost.
    async fn delete(&self, volume: &PersistentVolume) -> Result<(), Error> {
        let Some(holder) = claim::holder(volume) else { return Ok(()) };
        let claims = self.claims(holder.namespace.as_deref().unwrap_or_default());
        let claim = claims.get_opt(holder.name.as_deref().unwrap_or_default()).await?;
        if claim.is_some_and(|claim| claim.metadata.uid == holder.uid) {
            return Err(Error::InUse);
        }
        self.set_phase(volume, "Released").await?;
        let (layout, name) = (self.layout.clone(), volume.name_any());
        spawn_blocking(move || provisioner::delete(&layout, &name)).await??;
        let meant = Preconditions { uid: volume.uid(), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(meant), ..DeleteParams::default() };
        self.volumes().delete(&volume.name_any(), &parameters).await?;
        Ok(())
    }

    fn tell(&self, claim: &PersistentVolumeClaim, severity: Severity, reason: &str, message: String) {
        let event = PodEvent { severity, reason: reason.to_owned(), message, field: None };
        self.events.tell_claim(claim, event);
    }

    fn claims(&self, namespace: &str) -> Api<PersistentVolumeClaim> {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn volumes(&self) -> Api<PersistentVolume> {
        Api::all(self.client.clone())
    }
}

fn clear(layout: &Layout, claims: &[String], volumes: &[String]) -> Result<(), volumes::Error> {
    for (name, record) in provisioner::list(layout)? {
        if !volumes.contains(&name) && !claims.contains(&record.claim_uid) {
            provisioner::delete_if_empty(layout, &name)?;
        }
    }
    Ok(())
}
