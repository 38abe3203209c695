//! One attempt at a container: planned, built and started; and cleared away.

use std::fs;
use std::path::Path;

use asb_core::pod::observed::{TroubleReason, User};

use super::{Work, attempt, blocking, full};
use crate::blueprint::{self, Account, Image};
use crate::driver::lookups;
use crate::images::digest::Digest;
use crate::images::store::Image as Stored;
use crate::images::users;
use crate::shim::client::Client;
use crate::shim::plan::{ContainerPlan, Overlay, Source};
use crate::shim::protocol::{Phase, Request};
use crate::volumes::{removal, sub_path};

type Trouble = (TroubleReason, String);

/// Builds and starts it. What becomes of it then is told by the shim.
pub(in crate::driver) async fn start(
    work: &Work,
    name: &str,
    number: u32,
    image: &str,
) -> Result<User, Trouble> {
    let creation = |message: String| (TroubleReason::Creation, message);
    let plan = plan(work, name, number, image).await?;
    let user = User {
        uid: plan.process.user.uid.into(),
        gid: plan.process.user.gid.into(),
        groups: plan.process.user.groups.iter().map(|id| i64::from(*id)).collect(),
    };
    let key = attempt(name, number);
    let mut shim = Client::connect(&work.directory()).await.map_err(|error| creation(full(&error)))?;
    if let Err(error) = shim.create_container(&key, plan).await {
        // The next attempt has the same number.
        let _ = shim.done(Request::RemoveContainer { attempt: key }).await;
        return Err(creation(full(&error)));
    }
    if let Err(error) = shim.start_container(&key).await
        && !is_told(&mut shim, name, number).await
    {
        return Err((TroubleReason::Run, full(&error)));
    }
    Ok(user)
}

/// Whether the shim itself says how it ended.
async fn is_told(shim: &mut Client, name: &str, number: u32) -> bool {
    let state = shim.state(None).await.unwrap_or_default();
    let mut of_it = state.containers.iter().filter(|container| container.attempt == attempt(name, number));
    of_it.any(|container| matches!(container.phase, Phase::Exited(_)))
}

async fn plan(work: &Work, name: &str, number: u32, id: &str) -> Result<ContainerPlan, Trouble> {
    let configuration = |message: String| (TroubleReason::Configuration, message);
    let found = lookups::find(work).await.map_err(configuration)?;
    let stored = pinned(work, name, id).await.map_err(|message| (TroubleReason::Creation, message))?;
    let container = work.container(name).map_err(configuration)?;
    let Some(spec) = work.pod.spec.as_ref() else {
        return Err(configuration("the Pod has no spec".to_owned()));
    };
    let question = blueprint::whom_to_look_up(spec, container, &stored.config.user);
    let layers = stored.layers.clone();
    let account = blocking(move || users::look_up(&layers, &question)).await;
    let account = account.map_err(|message| (TroubleReason::Creation, message))?;
    let account = Account { uid: account.uid, gid: account.gid, groups: account.groups, home: account.home };
    let resolved = found.resolved(work).map_err(configuration)?;
    let plan = blueprint::container(&resolved, name, &image(stored), &account, number);
    let plan = plan.map_err(|error| {
        let is_creation = error.reason() == TroubleReason::Creation.as_str();
        let reason = if is_creation { TroubleReason::Creation } else { TroubleReason::Configuration };
        (reason, full(&error))
    })?;
    make_room(&plan).await.map_err(|message| (TroubleReason::Creation, message))?;
    Ok(plan)
}

/// The image, which stays here from now on as long as the Pod does.
async fn pinned(work: &Work, name: &str, id: &str) -> Result<Stored, String> {
    let id: Digest = id.parse().map_err(|error| full(&error))?;
    let (store, owner) = (work.tools.images.store().clone(), owner(&work.uid, name));
    blocking(move || {
        store.pin(&owner, &id)?;
        store.image(&id)?.ok_or_else(|| crate::images::store::StoreError::Unknown(id.to_string()))
    })
    .await
}

/// Who keeps the image of a container.
pub(in crate::driver) fn owner(uid: &str, container: &str) -> String {
    format!("{uid}.{container}")
}

/// The Pod for whom an owner keeps an image: there is no dot in a uid.
pub(crate) fn owned_by(owner: &str) -> &str {
    owner.split('.').next().unwrap_or_default()
}

fn image(stored: Stored) -> Image {
    let overlay =
        |overlay: crate::images::store::SubOverlay| Overlay { target: overlay.at, layers: overlay.layers };
    Image {
        layers: stored.layers,
        overlays: stored.overlays.into_iter().map(overlay).collect(),
        entrypoint: stored.config.entrypoint,
        cmd: stored.config.cmd,
        env: stored.config.env,
        user: stored.config.user,
        working_dir: stored.config.working_dir,
    }
}

/// The directories that the plan speaks of.
async fn make_room(plan: &ContainerPlan) -> Result<(), String> {
    let log = plan.log.as_ref().and_then(|log| log.path.parent().map(Path::to_owned));
    let inner: Vec<_> = plan
        .mounts
        .iter()
        .filter_map(|mount| match &mount.source {
            Source::Path { path, sub_path: Some(inner), .. } => Some((path.clone(), inner.clone())),
            _ => None,
        })
        .collect();
    let log = move || log.map_or(Ok(()), fs::create_dir_all);
    blocking(log).await?;
    blocking(move || inner.iter().try_for_each(|(volume, inner)| sub_path::make(volume, inner))).await
}

/// Its cgroup and directory go, and with the last one its image may; its log stays until the Pod goes.
pub(in crate::driver) async fn remove(work: &Work, name: &str, number: u32) -> Result<(), String> {
    let key = attempt(name, number);
    if let Ok(mut shim) = Client::connect(&work.directory()).await {
        match shim.done(Request::RemoveContainer { attempt: key.clone() }).await {
            Ok(_) => return Ok(()),
            Err(error) => tracing::debug!(pod = work.uid, %error, "the shim does not clear an attempt away"),
        }
    }
    let directory = work.directory().attempt(&key);
    blocking(move || removal::clear(&directory)).await
}
