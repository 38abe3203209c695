//! Work on the images of a node: asked for by `asb image`, done by the daemon that has them open, or by the command itself where
//! no daemon runs.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use asb_node::images::Images;
use asb_node::images::digest::Digest;
use asb_node::images::pull::Progress;
use asb_node::images::reference::Reference;
use asb_node::images::registry::Keyring;
use asb_node::images::store::{Freed, Store, StoreError, Target, Unwanted};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

/// How often progress is told.
const PACE: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "task", deny_unknown_fields)]
pub(crate) enum Task {
    List,
    Pull {
        reference: String,
        /// As Docker's `config.json` has them.
        credentials: Option<Value>,
    },
    /// A path of this machine, from its root.
    Load {
        path: PathBuf,
    },
    Remove {
        name: String,
        force: bool,
    },
    Prune {
        all: bool,
    },
}

/// How far a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Step {
    /// Zero as long as the image is looked for.
    pub(crate) layers: usize,
    pub(crate) bytes: u64,
    pub(crate) total: u64,
}

impl From<&Progress> for Step {
    fn from(progress: &Progress) -> Self {
        Self { layers: progress.layers.len(), bytes: progress.bytes(), total: progress.total() }
    }
}

/// Does it, tells how it goes, and returns what is to be shown.
pub(crate) async fn perform(images: &Images, task: Task, steps: mpsc::Sender<Step>) -> Result<Value> {
    match task {
        Task::List => Ok(serde_json::to_value(on_store(images, Store::list).await?)?),
        Task::Pull { reference, credentials } => pull(images, &reference, credentials.as_ref(), steps).await,
        Task::Load { path } => load(images, path).await,
        Task::Remove { name, force } => remove(images, &name, force).await,
        Task::Prune { all } => {
            let unwanted = if all { Unwanted::Unused } else { Unwanted::Nameless };
            freed(&on_store(images, move |store| store.prune(unwanted)).await?)
        }
    }
}

async fn pull(
    images: &Images,
    reference: &str,
    credentials: Option<&Value>,
    steps: mpsc::Sender<Step>,
) -> Result<Value> {
    let reference: Reference = reference.parse()?;
    let mut keyring = Keyring::default();
    if let Some(credentials) = credentials {
        keyring.add(&serde_json::to_vec(credentials)?).context("the credentials for registries")?;
    }
    let (progress, seen) = watch::channel(Progress::default());
    let told = tell(seen, steps);
    let pulled = tokio::select! {
        pulled = images.pull(&reference, &keyring, &progress) => pulled?,
        never = told => match never {},
    };
    Ok(json!({"reference": reference, "id": pulled.id, "digest": pulled.digest}))
}

/// Tells the latest now and then, and never ends by itself.
async fn tell(mut seen: watch::Receiver<Progress>, steps: mpsc::Sender<Step>) -> Infallible {
    while seen.changed().await.is_ok() {
        let step = Step::from(&*seen.borrow_and_update());
        // Who does not listen any more misses nothing.
        let _ = steps.send(step).await;
        tokio::time::sleep(PACE).await;
    }
    std::future::pending().await
}

async fn load(images: &Images, path: PathBuf) -> Result<Value> {
    let loaded = images.load(path).await?;
    let shown = loaded.iter().map(|image| json!({"id": image.id, "references": image.references}));
    Ok(shown.collect())
}

async fn remove(images: &Images, name: &str, force: bool) -> Result<Value> {
    let target = match name.parse::<Digest>() {
        Ok(id) => Target::Id(id),
        Err(_) => match short_id(images, name).await? {
            Some(id) => Target::Id(id),
            None => Target::Name(name.parse()?),
        },
    };
    let removed = on_store(images, move |store| match store.remove(&target) {
        Err(StoreError::InUse(_)) if force => store.forget_names(&target),
        other => other,
    });
    freed(&removed.await?)
}

/// The beginning of an id, as lists show it, if it can mean only one image.
async fn short_id(images: &Images, text: &str) -> Result<Option<Digest>> {
    let is_short = text.len() >= 6 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_short {
        return Ok(None);
    }
    let mut alike: Vec<Digest> = on_store(images, Store::list).await?.into_iter().map(|it| it.id).collect();
    alike.retain(|id| id.hex().starts_with(text));
    match alike.as_slice() {
        [] => Ok(None),
        [id] => Ok(Some(id.clone())),
        _ => anyhow::bail!("{text} is the beginning of several ids; write more of it"),
    }
}

fn freed(freed: &Freed) -> Result<Value> {
    Ok(serde_json::to_value(freed)?)
}

/// The store blocks.
async fn on_store<T: Send + 'static>(
    images: &Images,
    work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
) -> Result<T> {
    let store = std::sync::Arc::clone(images.store());
    Ok(tokio::task::spawn_blocking(move || work(&store)).await??)
}
