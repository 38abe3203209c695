//! A sandbox as its user knows it: what was acknowledged about it, and whether that is so.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use asb_tests::{objects, wait};
use asb_types::phase::SandboxPhase;
use asb_types::v1beta1;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{AttachParams, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::reach::{PATIENCE, Reach};
use crate::words::Words;

const NAMESPACE: &str = "default";
/// Counts its starts where they are kept, and ends as soon as it is told to.
const SCRIPT: &str = "echo start >> /data/starts; trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done";
/// A command that takes longer was forgotten.
const COMMAND: Duration = Duration::from_secs(20);

pub(crate) struct Sandbox {
    pub(crate) name: String,
    uid: String,
    pub(crate) mode: Mode,
    words: Words,
    /// How often its container was to be started.
    starts: usize,
    count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Running,
    Suspended,
}

pub(crate) fn api(client: Client) -> Api<v1beta1::Sandbox> {
    Api::namespaced(client, NAMESPACE)
}

pub(crate) fn pods(client: Client) -> Api<Pod> {
    Api::namespaced(client, NAMESPACE)
}

/// One with a volume and with this machine's own programs.
pub(crate) fn spec(more: Value) -> Value {
    let mut container = json!({
        "name": "main", "image": "asb.local/host", "command": ["sh", "-c", SCRIPT],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    });
    if let (Some(container), Value::Object(more)) = (container.as_object_mut(), more) {
        container.extend(more);
    }
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}});
    json!({
        "podTemplate": {"spec": {"containers": [container], "terminationGracePeriodSeconds": 5}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    })
}

impl Sandbox {
    /// Returns when it was acknowledged.
    pub(crate) async fn create(reach: &Reach, name: &str, spec: Value) -> Result<Self> {
        let wanted: v1beta1::Sandbox = objects::object(name, spec);
        let created = reach.ask(format!("{name} to be created"), |client| {
            let wanted = wanted.clone();
            async move { api(client).create(&PostParams::default(), &wanted).await }
        });
        let created = match created.await? {
            Ok(created) => created,
            // An answer was lost before.
            Err(status) if status.is_already_exists() => {
                let found =
                    reach.ask(name.to_owned(), |client| async move { api(client).get(name).await }).await?;
                found.map_err(|status| anyhow::anyhow!("{name} was there already, and is not: {status:?}"))?
            }
            Err(status) => bail!("{name} is refused: {status:?}"),
        };
        let uid = created.uid().context("a uid")?;
        Ok(Self {
            name: name.to_owned(),
            uid,
            mode: Mode::Running,
            words: Words::default(),
            starts: 1,
            count: 0,
        })
    }

    /// The object, which must be the one that was acknowledged.
    async fn get(&self, client: Client) -> Result<Option<v1beta1::Sandbox>> {
        match api(client).get(&self.name).await {
            Ok(found) => {
                let uid = found.uid();
                ensure!(
                    uid.as_deref() == Some(self.uid.as_str()),
                    "{} is another one: {uid:?}, and was {}",
                    self.name,
                    self.uid
                );
                Ok(Some(found))
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {
                bail!("{} was acknowledged, and is gone", self.name)
            }
            Err(_) => Ok(None),
        }
    }

    async fn until(
        &self,
        reach: &Reach,
        what: &str,
        wanted: impl Fn(&v1beta1::Sandbox) -> bool,
    ) -> Result<()> {
        let last = Mutex::new(None);
        let looked = wait::until(PATIENCE, what, || async {
            match self.get(reach.client().await.ok()?).await {
                Ok(Some(found)) if wanted(&found) => Some(Ok(())),
                Ok(found) => {
                    *last.lock().unwrap_or_else(PoisonError::into_inner) =
                        found.and_then(|found| found.status);
                    None
                }
                Err(error) => Some(Err(error)),
            }
        });
        looked.await.with_context(|| format!("{}: {last:?}", self.name))?
    }

    pub(crate) async fn ready(&self, reach: &Reach) -> Result<()> {
        self.until(reach, &format!("{} to be ready", self.name), |sandbox| {
            let conditions = sandbox.status.iter().flat_map(|status| &status.conditions);
            conditions.into_iter().any(|it| it.type_ == "Ready" && it.status == "True")
        })
        .await
    }

    /// Writes words into its volume until one is acknowledged.
    pub(crate) async fn write(&mut self, reach: &Reach) -> Result<()> {
        let begun = std::time::Instant::now();
        loop {
            self.count += 1;
            let word = format!("{}.{}", self.name, self.count);
            let script = format!("echo {word} >> /data/words");
            let told = exec(&reach.client().await?, &self.name, &["sh", "-ec", &script]).await;
            let acknowledged = told.is_ok();
            self.words.note(word, acknowledged);
            if acknowledged {
                return Ok(());
            }
            ensure!(begun.elapsed() < PATIENCE, "{}: no command ends well: {told:?}", self.name);
        }
    }

    async fn set_mode(&mut self, reach: &Reach, mode: Mode) -> Result<()> {
        let name = &self.name;
        let patch = json!({"spec": {"operatingMode": format!("{mode:?}")}});
        let set = reach.ask(format!("{name} to become {mode:?}"), |client| {
            let patch = Patch::Merge(patch.clone());
            async move { api(client).patch(name, &PatchParams::default(), &patch).await }
        });
        set.await?.map_err(|status| anyhow::anyhow!("{name} does not become {mode:?}: {status:?}"))?;
        self.mode = mode;
        Ok(())
    }

    /// Returns when nothing of it runs.
    pub(crate) async fn suspend(&mut self, reach: &Reach) -> Result<()> {
        self.set_mode(reach, Mode::Suspended).await?;
        let is_suspended = |sandbox: &v1beta1::Sandbox| {
            sandbox.status.as_ref().and_then(|status| status.phase) == Some(SandboxPhase::Suspended)
        };
        self.until(reach, &format!("{} to be suspended", self.name), is_suspended).await
    }

    pub(crate) async fn resume(&mut self, reach: &Reach) -> Result<()> {
        self.set_mode(reach, Mode::Running).await?;
        self.starts += 1;
        self.ready(reach).await
    }

    /// Returns when it is gone.
    pub(crate) async fn delete(self, reach: &Reach) -> Result<()> {
        let name = &self.name;
        let deleted = reach.ask(format!("{name} to be deleted"), |client| async move {
            api(client).delete(name, &DeleteParams::default()).await.map(drop)
        });
        if let Err(status) = deleted.await? {
            ensure!(status.code == 404, "{name} is not deleted: {status:?}");
        }
        let what = format!("{name} to be gone");
        let gone = wait::until(PATIENCE, &what, || async {
            match api(reach.client().await.ok()?).get_opt(name).await {
                Ok(found) => found.is_none().then_some(()),
                Err(_) => None,
            }
        });
        Ok(gone.await?)
    }

    /// Everything that was acknowledged is there. `deaths` is how often its container died by our hand.
    pub(crate) async fn verify(&mut self, reach: &Reach, deaths: usize) -> Result<()> {
        if self.mode == Mode::Suspended {
            self.resume(reach).await?;
        }
        self.ready(reach).await?;
        self.words.check(&self.read(reach, "words").await?).with_context(|| self.name.clone())?;
        let starts = self.read(reach, "starts").await?.lines().count();
        let expected = self.starts..=self.starts + deaths;
        ensure!(expected.contains(&starts), "{} was started {starts} times, not {expected:?}", self.name);
        Ok(())
    }
}

impl Sandbox {
    /// A file of its volume, as soon as it can be read: it may be said to be ready a moment after it was killed.
    async fn read(&self, reach: &Reach, file: &str) -> Result<String> {
        let path = format!("/data/{file}");
        let what = format!("{path} of {} to be read", self.name);
        let read = wait::until(PATIENCE, &what, || async {
            exec(&reach.client().await.ok()?, &self.name, &["cat", &path]).await.ok()
        });
        Ok(read.await?)
    }
}

/// What a command says in the container `main`; an error where it was not seen to end well.
pub(crate) async fn exec(client: &Client, pod: &str, words: &[&str]) -> Result<String> {
    let run = async {
        let parameters = AttachParams::default().container("main").stdin(false);
        let mut process = pods(client.clone()).exec(pod, words.iter().copied(), &parameters).await?;
        let status = process.take_status().context("a status")?;
        let (mut out, mut err) = (String::new(), String::new());
        let (stdout, stderr) = (process.stdout(), process.stderr());
        let (mut stdout, mut stderr) = (stdout.context("stdout")?, stderr.context("stderr")?);
        let (one, other) = tokio::join!(stdout.read_to_string(&mut out), stderr.read_to_string(&mut err));
        one.and(other)?;
        let is_well = status.await.and_then(|status| status.status).as_deref() == Some("Success");
        ensure!(is_well, "{words:?} failed in {pod}: {out}{err}");
        Ok(out)
    };
    timeout(COMMAND, run).await.with_context(|| format!("{words:?} goes on in {pod}"))?
}
