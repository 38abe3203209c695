//! Gives claims their volumes: directories of this machine, bound as Kubernetes' own controller binds, and removed or kept when
//! the claim goes. Also makes the claims that Pods bring along.
//!
//! [`work`] says what there is to do; every piece of it can be done again after a crash in its middle, because names follow from
//! the claims' uids and what was done shows in the objects.

mod apply;
mod work;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use self::apply::{Done, Worker};
use self::work::{Job, Told, jobs};
use crate::cache::Cache;
use crate::events::Events;
use crate::settings::Settings;
use crate::trash::Trash;
use crate::volumes::{Layout, claim, provisioner};

/// What could not be done is tried again after this long; what was decided too early, as soon as more shows.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot tidy up the volumes")]
    Sweep(#[from] crate::volumes::Error),
    #[error("cannot tidy up the volumes")]
    Ended(#[from] tokio::task::JoinError),
    #[error("cannot make the storage class {class}", class = claim::CLASS)]
    Class(#[source] kube::Error),
}

/// The claims, looked after for as long as this lives.
pub struct Claims {
    all: Cache<PersistentVolumeClaim>,
    volumes: Cache<PersistentVolume>,
    _task: AbortOnDropHandle<()>,
}

impl Claims {
    /// Returns once the default class is there, so that the first claim finds it.
    pub async fn start(
        client: Client,
        settings: &Settings,
        pods: Cache<Pod>,
        claims: Cache<PersistentVolumeClaim>,
        events: &Events,
        trash: &Arc<Trash>,
    ) -> Result<Self, Error> {
        let layout = Layout::new(&settings.root);
        let (volumes, classes) = (Cache::all_of(&client), Cache::all_of(&client));
        let (swept, trash) = (layout.clone(), Arc::clone(trash));
        tokio::task::spawn_blocking(move || provisioner::sweep(&swept, &trash)).await??;
        let events = events.speaking_as("persistentvolume-controller");
        let worker = Worker { client, layout, node: settings.name.clone(), events };
        worker.make_class().await.map_err(Error::Class)?;
        let (seen, made) = (claims.clone(), volumes.clone());
        let controller = Controller {
            pods,
            claims: seen,
            volumes: made,
            classes,
            worker,
            told: Told::default(),
            running: HashSet::new(),
            failed: HashMap::new(),
            done: HashMap::new(),
            tasks: JoinSet::new(),
        };
        Ok(Self { all: claims, volumes, _task: AbortOnDropHandle::new(tokio::spawn(controller.run())) })
    }

    /// The directory of a claim, once it is bound.
    pub fn bound(&self, namespace: &str, name: &str) -> Option<PathBuf> {
        let claim = self.all.get(namespace, name)?;
        let is_bound = claim.status.as_ref()?.phase.as_deref() == Some("Bound");
        let volume =
            self.volumes.get("", claim.spec.as_ref()?.volume_name.as_deref()?).filter(|_| is_bound)?;
        let is_ours = claim::holder(&volume)?.uid == claim.metadata.uid;
        claim::directory(&volume).filter(|_| is_ours)
    }

    /// Count up when [`Self::bound`] may answer otherwise.
    pub fn changes(&self) -> [watch::Receiver<u64>; 2] {
        [self.all.changes(), self.volumes.changes()]
    }
}

struct Controller {
    pods: Cache<Pod>,
    claims: Cache<PersistentVolumeClaim>,
    volumes: Cache<PersistentVolume>,
    classes: Cache<StorageClass>,
    worker: Worker,
    told: Told,
    /// What is being done, and what is not to be tried before a time, by the claim or volume that it is about.
    running: HashSet<String>,
    failed: HashMap<String, Instant>,
    /// What was done, and does not show yet.
    done: HashMap<String, Option<String>>,
    tasks: JoinSet<Done>,
}

impl Controller {
    async fn run(mut self) {
        self.pods.ready().await;
        self.claims.ready().await;
        self.volumes.ready().await;
        self.classes.ready().await;
        self.worker.clear_unused(&self.claims, &self.volumes).await;
        let mut changes =
            [self.pods.changes(), self.claims.changes(), self.volumes.changes(), self.classes.changes()];
        loop {
            self.look(Instant::now());
            let next = self.failed.values().min().copied();
            let news = futures::future::select_all(changes.iter_mut().map(|one| Box::pin(one.changed())));
            tokio::select! {
                _ = news => {}
                Some(done) = self.tasks.join_next() => self.settle(done),
                () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }

    fn look(&mut self, now: Instant) {
        self.failed.retain(|_, until| *until > now);
        let found = work::Found {
            pods: &self.pods.all(),
            claims: &self.claims.all(),
            volumes: &self.volumes.all(),
            classes: &self.classes.all(),
        };
        let jobs = jobs(&found, &mut self.told);
        let due: HashSet<String> = jobs.iter().map(Job::key).collect();
        self.done.retain(|key, _| due.contains(key));
        for job in jobs {
            let key = job.key();
            let is_done = self.done.get(&key).is_some_and(|version| *version == job.version());
            if !is_done && !self.failed.contains_key(&key) && self.running.insert(key) {
                let worker = self.worker.clone();
                self.tasks.spawn(worker.carry_out(job));
            }
        }
    }

    fn settle(&mut self, done: Result<Done, tokio::task::JoinError>) {
        // Those that are called off end with this controller.
        let Ok(Done { key, version, outcome }) = done else { return };
        self.running.remove(&key);
        match outcome {
            Ok(()) => {
                self.done.insert(key, version);
            }
            Err(error) if error.is_outdated() => {
                self.failed.insert(key, Instant::now() + PAUSE);
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    about = key,
                    "could not look after a claim"
                );
                self.failed.insert(key, Instant::now() + PATIENCE);
            }
        }
    }
}
