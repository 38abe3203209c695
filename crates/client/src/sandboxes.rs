//! Sandboxes: list, make, wait for, suspend, resume, delete.

use asb_types::v1beta1::{OperatingMode, Sandbox};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::client::Client;
use crate::error::Error;
use crate::objects;
use crate::pods::{Ending, pod_name};
use crate::progress::{Outlook, of_sandbox};
use crate::request::NewSandbox;
use crate::sights::Snapshot;

/// How something is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deletion {
    /// Give the Pod no time to end by itself.
    pub at_once: bool,
    /// Do not wait until it is gone.
    pub without_waiting: bool,
}

impl Client {
    /// The Sandboxes of one namespace, or of all.
    pub async fn sandboxes(&self, namespace: Option<&str>) -> Result<Vec<Sandbox>, Error> {
        self.list(namespace, "list Sandboxes").await
    }

    /// The Sandbox of that name.
    pub async fn sandbox(&self, namespace: &str, name: &str) -> Result<Sandbox, Error> {
        self.get(namespace, name, "Sandbox").await
    }

    /// Makes a Sandbox in the client's namespace.
    pub async fn create_sandbox(&self, wanted: &NewSandbox) -> Result<Sandbox, Error> {
        let sandboxes = self.api::<Sandbox>(self.namespace());
        let created = sandboxes.create(&PostParams::default(), &wanted.sandbox()).await;
        created.map_err(|source| Error::api("create the Sandbox", source))
    }

    /// Waits until it is Ready, and tells of each change on the way.
    pub async fn wait_until_ready(
        &self,
        sandbox: &Sandbox,
        mut tell: impl FnMut(&Outlook),
    ) -> Result<(), Error> {
        let mut steps = self.steps(sandbox);
        while let Some(outlook) = steps.next().await {
            let outlook = outlook?;
            tell(&outlook);
            match outlook {
                Outlook::Ready => return Ok(()),
                Outlook::Stuck(obstacle) => return Err(Error::Stuck { obstacle }),
                Outlook::Ended => return Err(Error::Ended { name: sandbox.name_any() }),
                Outlook::Underway { .. } | Outlook::Suspended => {}
            }
        }
        Err(Error::Gone { what: "Sandbox", name: sandbox.name_any() })
    }

    /// Waits until a container of its has begun, which it may well have ended by then.
    pub async fn wait_until_started(
        &self,
        sandbox: &Sandbox,
        container: &str,
        mut tell: impl FnMut(&Outlook),
    ) -> Result<Snapshot, Error> {
        let (mut last, mut sights) = (None, self.follow(sandbox));
        while let Some(snapshot) = sights.next().await {
            let snapshot = snapshot?;
            let outlook = of_sandbox(&snapshot);
            if last.as_ref() != Some(&outlook) {
                tell(&outlook);
            }
            // The operator may know of the end before we have seen the Pod that tells how.
            if snapshot.has_started(container) || snapshot.ending(container).is_some() {
                return Ok(snapshot);
            }
            if let Outlook::Stuck(obstacle) = outlook {
                return Err(Error::Stuck { obstacle });
            }
            last = Some(outlook);
        }
        Err(Error::Gone { what: "Sandbox", name: sandbox.name_any() })
    }

    /// Waits until a container of its has ended, and says how.
    pub async fn wait_until_ended(&self, sandbox: &Sandbox, container: &str) -> Result<Ending, Error> {
        let mut sights = self.follow(sandbox);
        while let Some(snapshot) = sights.next().await {
            if let Some(ending) = snapshot?.ending(container) {
                return Ok(ending);
            }
        }
        Err(Error::Gone { what: "Sandbox", name: sandbox.name_any() })
    }

    /// Takes the Pod away and keeps name and volumes.
    pub async fn suspend(&self, sandbox: &Sandbox) -> Result<Sandbox, Error> {
        self.set_mode(sandbox, OperatingMode::Suspended, "suspend").await
    }

    /// Gives a suspended Sandbox a Pod again.
    pub async fn resume(&self, sandbox: &Sandbox) -> Result<Sandbox, Error> {
        self.set_mode(sandbox, OperatingMode::Running, "resume").await
    }

    /// Waits until a Sandbox that is to be suspended is.
    pub async fn wait_until_suspended(&self, sandbox: &Sandbox) -> Result<(), Error> {
        let mut steps = self.steps(sandbox);
        while let Some(outlook) = steps.next().await {
            match outlook? {
                Outlook::Suspended => return Ok(()),
                Outlook::Stuck(obstacle) => return Err(Error::Stuck { obstacle }),
                _ => {}
            }
        }
        Err(Error::Gone { what: "Sandbox", name: sandbox.name_any() })
    }

    /// Deletes this very Sandbox, and not one that has its name by now.
    pub async fn delete_sandbox(&self, sandbox: &Sandbox, how: Deletion) -> Result<(), Error> {
        let namespace = sandbox.namespace().unwrap_or_default();
        let pods = self.api::<Pod>(&namespace);
        let pod = pods.get_opt(&pod_name(sandbox)).await.ok().flatten();
        objects::delete(&self.api::<Sandbox>(&namespace), sandbox, "delete the Sandbox").await?;
        if let (true, Some(pod)) = (how.at_once, &pod) {
            let at_once = DeleteParams::default().grace_period(0).preconditions(objects::only(pod));
            // It may be gone already, which is what is wanted.
            let _ = pods.delete(&pod.name_any(), &at_once).await;
        }
        if how.without_waiting {
            return Ok(());
        }
        objects::wait_until_gone(&self.api::<Sandbox>(&namespace), sandbox).await?;
        match pod.filter(|pod| is_owned(pod, sandbox)) {
            Some(pod) => objects::wait_until_gone(&pods, &pod).await,
            None => Ok(()),
        }
    }

    async fn set_mode(&self, sandbox: &Sandbox, mode: OperatingMode, doing: &str) -> Result<Sandbox, Error> {
        let sandboxes = self.api::<Sandbox>(&sandbox.namespace().unwrap_or_default());
        let patch = json!({"metadata": {"uid": sandbox.uid()}, "spec": {"operatingMode": mode}});
        let patched =
            sandboxes.patch(&sandbox.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.map_err(|source| Error::api(format!("{doing} Sandbox {:?}", sandbox.name_any()), source))
    }
}

fn is_owned(pod: &Pod, sandbox: &Sandbox) -> bool {
    let uid = sandbox.uid().unwrap_or_default();
    pod.owner_references().iter().any(|owner| owner.uid == uid)
}
