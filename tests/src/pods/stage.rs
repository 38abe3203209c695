//! A namespace of the test's own, and what a test does in it: Pods that are made, waited for, asked and heard.

use std::fmt::Debug;

use anyhow::{Context, Result};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ContainerStatus, Event, Pod};
use kube::api::{AttachParams, AttachedProcess, LogParams, PostParams};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::spec::With;
use crate::{Cluster, Namespace, wait};

pub struct Stage {
    pub cluster: Cluster,
    pub namespace: Namespace,
}

impl Stage {
    pub async fn set() -> Result<Self> {
        let cluster = Cluster::connect().await?;
        Ok(Self { namespace: cluster.namespace().await?, cluster })
    }

    pub fn pods(&self) -> Api<Pod> {
        self.namespace.api()
    }

    /// Any object of this namespace.
    pub async fn put<K>(&self, name: &str, rest: Value) -> Result<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
    {
        let object = json!({"metadata": {"name": name}}).with(rest);
        let object = serde_json::from_value(object).context("a well-formed object")?;
        Ok(self.namespace.api::<K>().create(&PostParams::default(), &object).await?)
    }

    pub async fn create(&self, name: &str, spec: Value) -> Result<Pod> {
        self.put(name, json!({"spec": spec})).await
    }

    pub async fn until(&self, name: &str, what: &str, wanted: impl Fn(&Pod) -> bool) -> Result<Pod> {
        Ok(wait::for_object(&self.pods(), name, what, wanted).await?)
    }

    /// Makes a Pod and waits until it is Ready.
    pub async fn start(&self, name: &str, spec: Value) -> Result<Pod> {
        self.create(name, spec).await?;
        self.until(name, "ready", is_ready).await
    }

    /// Makes a Pod, waits until it has ended well, and returns what its container `main` said.
    pub async fn run(&self, name: &str, spec: Value) -> Result<String> {
        let (said, phase) = self.end(name, spec).await?;
        anyhow::ensure!(phase == "Succeeded", "{name} ended as {phase}, and said: {said}");
        Ok(said)
    }

    /// The same however it ends: what it said, and its phase.
    pub async fn end(&self, name: &str, spec: Value) -> Result<(String, String)> {
        self.create(name, spec).await?;
        let pod = self.until(name, "ended", has_ended).await?;
        Ok((self.logs(name, "main").await?, phase(&pod).to_owned()))
    }

    pub async fn logs(&self, name: &str, container: &str) -> Result<String> {
        let parameters = LogParams { container: Some(container.to_owned()), ..LogParams::default() };
        let said = self.pods().logs(name, &parameters).await;
        Ok(said.with_context(|| format!("logs of {name}"))?.trim_end().to_owned())
    }

    /// What a shell script says in the container `main`.
    pub async fn exec(&self, name: &str, script: &str) -> Result<String> {
        self.exec_in(name, "main", script).await
    }

    pub async fn exec_in(&self, name: &str, container: &str, script: &str) -> Result<String> {
        let parameters = AttachParams::default().container(container);
        let process = self.pods().exec(name, ["sh", "-ec", script], &parameters).await?;
        let (out, err, is_well) = finish(process).await?;
        anyhow::ensure!(is_well, "{script:?} failed in {name}: {out}{err}");
        Ok(out.trim_end().to_owned())
    }

    /// Asks until a script in the container `main` says something.
    pub async fn exec_until(&self, name: &str, script: &str, wanted: &str) -> Result<()> {
        let ask = || async { self.exec(name, script).await.ok().filter(|said| said == wanted) };
        wait::until(wait::DEADLINE, &format!("{script:?} to say {wanted:?} in {name}"), ask).await?;
        Ok(())
    }

    /// The message of an event about a Pod, as soon as it is told.
    pub async fn event(&self, name: &str, reason: &str) -> Result<String> {
        let is_it = |event: &&Event| {
            event.involved_object.name.as_deref() == Some(name) && event.reason.as_deref() == Some(reason)
        };
        let events = self.namespace.api::<Event>();
        let told = |events: &[&Event]| events.iter().copied().find(|event| is_it(event)).is_some();
        let all = wait::for_objects(&events, "", &format!("{reason} of {name}"), told).await?;
        let found = all.iter().find(|event| is_it(event)).context("it was told")?;
        Ok(found.message.clone().unwrap_or_default())
    }

    pub async fn finish(self) -> Result<()> {
        self.namespace.finish().await;
        Ok(())
    }
}

/// Reads a process to its end.
pub async fn finish(mut process: AttachedProcess) -> Result<(String, String, bool)> {
    let (mut out, mut err) = (String::new(), String::new());
    let (stdout, stderr, status) = (process.stdout(), process.stderr(), process.take_status());
    let read_out = async {
        match stdout {
            Some(mut stream) => stream.read_to_string(&mut out).await.map(drop),
            None => Ok(()),
        }
    };
    let read_err = async {
        match stderr {
            Some(mut stream) => stream.read_to_string(&mut err).await.map(drop),
            None => Ok(()),
        }
    };
    let (first, second) = tokio::join!(read_out, read_err);
    first.and(second).context("read what it says")?;
    let status = status.context("a status")?.await;
    Ok((out, err, status.and_then(|status| status.status).as_deref() == Some("Success")))
}

pub fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

pub fn has_ended(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

pub fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|(status, _)| status == "True")
}

/// Status and reason of a condition.
pub fn condition<'a>(pod: &'a Pod, of: &str) -> Option<(&'a str, &'a str)> {
    let mut all = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let found = all.find(|condition| condition.type_ == of)?;
    Some((&found.status, found.reason.as_deref().unwrap_or_default()))
}

/// Of a container or an init container.
pub fn status<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    let status = pod.status.as_ref()?;
    let lists = [&status.container_statuses, &status.init_container_statuses];
    lists.into_iter().flat_map(|list| list.iter().flatten()).find(|status| status.name == container)
}

pub fn restarts(pod: &Pod) -> i32 {
    status(pod, "main").map_or(0, |status| status.restart_count)
}

/// Why the container `main` waits.
pub fn waiting(pod: &Pod) -> &str {
    let waiting = status(pod, "main").and_then(|status| status.state.as_ref()?.waiting.as_ref());
    waiting.and_then(|waiting| waiting.reason.as_deref()).unwrap_or_default()
}

/// Exit code, reason and message of the container `main`.
pub fn exit(pod: &Pod) -> Option<(i32, &str, &str)> {
    let ended = status(pod, "main")?.state.as_ref()?.terminated.as_ref()?;
    let (reason, message) = (ended.reason.as_deref(), ended.message.as_deref());
    Some((ended.exit_code, reason.unwrap_or_default(), message.unwrap_or_default()))
}

/// How it ended before it was restarted.
pub fn last_exit(pod: &Pod) -> Option<(i32, &str)> {
    let ended = status(pod, "main")?.last_state.as_ref()?.terminated.as_ref()?;
    Some((ended.exit_code, ended.reason.as_deref().unwrap_or_default()))
}
