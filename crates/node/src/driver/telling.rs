//! What the API is told of a Pod: its status, events, and at last that it is gone.

use std::sync::Arc;

use asb_core::pod::status::{events, report};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kube::Api;
use kube::api::{DeleteParams, PostParams, Preconditions};

use super::keeper::Keeper;
use super::outcome::Outcome;
use super::work::Work;

impl Keeper {
    /// Events of what happened since the last time, and the status if it is another. One write at a time: what changes
    /// meanwhile is told with the next.
    pub(super) fn tell(&mut self) {
        for event in events::since(&self.story, self.sight()) {
            self.tools.events.tell(&self.pod, event);
        }
        self.story = self.journal.observed.clone();
        if self.is_telling || self.is_gone {
            return;
        }
        let status = kept(report(self.sight(), &self.tools.node.addresses), self.pod.status.as_ref());
        if self.told.as_ref() == Some(&status) {
            return;
        }
        self.is_telling = true;
        self.told = Some(status.clone());
        let (api, mut pod) = (self.api(), Pod::clone(&self.pod));
        pod.status = Some(status);
        let name = self.journal.name.clone();
        self.spawn(async move {
            Outcome::Told(api.replace_status(&name, &PostParams::default(), &pod).await.map(Box::new))
        });
    }

    fn api(&self) -> Api<Pod> {
        Api::namespaced(self.tools.client.clone(), &self.journal.namespace)
    }

    pub(super) fn note_told(&mut self, result: Result<Box<Pod>, kube::Error>) {
        self.is_telling = false;
        match result {
            Ok(pod) => self.learn(Arc::from(pod)),
            Err(error) => {
                self.told = None;
                self.look_again(error);
            }
        }
    }

    /// Somebody else has written, or the API server could not: the newest is read, after a moment where it is in trouble.
    fn look_again(&mut self, error: kube::Error) {
        let is_quick = matches!(&error, kube::Error::Api(status) if [404, 409].contains(&status.code));
        if !is_quick {
            tracing::warn!(%error, pod = %self.journal.name, "cannot report a Pod");
        }
        let (api, name, uid) = (self.api(), self.journal.name.clone(), self.uid.clone());
        self.is_telling = true;
        self.spawn(async move {
            if !is_quick {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
            let found = api.get_opt(&name).await;
            let found = found.map(|pod| pod.filter(|pod| pod.metadata.uid.as_deref() == Some(uid.as_str())));
            Outcome::Reread(found.map(|pod| pod.map(Box::new)))
        });
    }

    pub(super) fn note_reread(&mut self, result: Result<Option<Box<Pod>>, kube::Error>) {
        self.is_telling = false;
        match result {
            Ok(Some(pod)) => self.learn(Arc::from(pod)),
            Ok(None) => self.let_go(),
            Err(error) => self.look_again(error),
        }
    }

    /// The object is gone with everything of it, or is tried again with the next news.
    pub(super) fn note_deleted(&mut self, result: Result<(), kube::Error>) {
        self.leaving.remove(&(String::new(), 0));
        match result {
            Ok(()) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => self.let_go(),
            Err(error) => self.look_again(error),
        }
    }
}

/// What is not ours to tell stays as it was.
fn kept(status: PodStatus, before: Option<&PodStatus>) -> PodStatus {
    let nominated_node_name = before.and_then(|before| before.nominated_node_name.clone());
    PodStatus { nominated_node_name, ..status }
}

impl Work {
    /// Only the Pod that this keeper keeps: another may have its name by now.
    pub(super) async fn delete_pod(&self) -> Result<(), kube::Error> {
        let metadata = &self.pod.metadata;
        let api: Api<Pod> =
            Api::namespaced(self.tools.client.clone(), metadata.namespace.as_deref().unwrap_or_default());
        let preconditions = Preconditions { uid: metadata.uid.clone(), resource_version: None };
        let parameters = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(preconditions),
            ..DeleteParams::default()
        };
        api.delete(metadata.name.as_deref().unwrap_or_default(), &parameters).await.map(drop)
    }
}
