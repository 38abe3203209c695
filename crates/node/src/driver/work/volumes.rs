//! The Pod's volumes: made before anything runs, kept up to date while it does, and removed after.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, PodSpec, ServiceAccount, Volume};
use kube::Api;
use kube::api::PostParams;

use super::{Work, blocking, full};
use crate::blueprint::Whereabouts;
use crate::driver::lookups::{self, Found};
use crate::volumes::ownership::{self, Policy};
use crate::volumes::payload::{self, Sources};
use crate::volumes::refresh::{Refresh, Written, refresh as decide};
use crate::volumes::token::{Token, Wish};
use crate::volumes::{Error, Layout, empty, host_path, removal, writer};

pub(in crate::driver) async fn prepare(work: &Work) -> Result<(), String> {
    let found = lookups::find(work).await?;
    renew_tokens(work).await?;
    for step in decisions(work, &found).await {
        match step {
            Refresh::Write { volume, payload } => write(work, &volume, payload).await?,
            Refresh::Keep { volume, error } => return Err(format!("volume {volume:?}: {}", full(&error))),
        }
    }
    let (pod, layout, claims) = (work.pod.clone(), work.tools.layout(), found.claims);
    blocking(move || make(&pod, &layout, &claims)).await
}

/// What follows objects is written anew where they have changed. What is missing leaves the files as they are.
pub(in crate::driver) async fn refresh(work: &Work) {
    let refreshed = async {
        if !follows_anything(&work.pod) {
            return Ok(());
        }
        renew_tokens(work).await?;
        let found = lookups::find(work).await?;
        for step in decisions(work, &found).await {
            match step {
                Refresh::Write { volume, payload } => write(work, &volume, payload).await?,
                Refresh::Keep { volume, error } => {
                    tracing::debug!(pod = work.uid, volume, %error, "a volume stays as it is");
                }
            }
        }
        Ok::<(), String>(())
    };
    if let Err(error) = refreshed.await {
        tracing::warn!(pod = work.uid, error, "cannot refresh the volumes of a Pod");
    }
}

fn follows_anything(pod: &Pod) -> bool {
    let mut volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.any(|volume| {
        let Volume { config_map, secret, projected, downward_api, .. } = volume;
        config_map.is_some() || secret.is_some() || projected.is_some() || downward_api.is_some()
    })
}

async fn decisions(work: &Work, found: &Found) -> Vec<Refresh> {
    let tokens = work.tokens.lock().await;
    let sources = Sources {
        pod: &work.pod,
        config_maps: &found.config_maps,
        secrets: &found.secrets,
        whereabouts: Whereabouts { pod: &found.addresses, node: &work.tools.node.addresses },
        allocatable: &work.tools.node.allocatable,
        tokens: &tokens,
    };
    // The writer sees what is there already.
    decide(&Written::new(), &sources)
}

async fn write(work: &Work, volume: &str, payload: payload::Payload) -> Result<(), String> {
    let path = work.tools.layout().volume(&work.uid, volume).map_err(|error| full(&error))?;
    let group = payload::group(&work.pod);
    blocking(move || writer::write(&path, &payload, group, Timestamp::now())).await.map(drop)
}

fn make(pod: &Pod, layout: &Layout, claims: &BTreeMap<String, PathBuf>) -> Result<(), Error> {
    let Some(spec) = &pod.spec else { return Ok(()) };
    for volume in spec.volumes.iter().flatten() {
        make_one(pod, spec, volume, layout, claims)?;
    }
    Ok(())
}

fn make_one(
    pod: &Pod,
    spec: &PodSpec,
    volume: &Volume,
    layout: &Layout,
    claims: &BTreeMap<String, PathBuf>,
) -> Result<(), Error> {
    let group = payload::group(pod);
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    if let Some(source) = &volume.empty_dir {
        let in_memory = source.medium.as_deref() == Some("Memory");
        return if in_memory { Ok(()) } else { empty::make(&layout.volume(uid, &volume.name)?, group) };
    }
    if let Some(source) = &volume.host_path {
        return host_path::check(source.path.as_ref(), source.type_.as_deref());
    }
    let own = || asb_core::pod::ephemeral_volume::claim_name(pod, &volume.name);
    let claim = volume.persistent_volume_claim.as_ref().map(|source| source.claim_name.clone());
    let claim = claim.or_else(|| volume.ephemeral.as_ref().map(|_| own()));
    let directory = claim.and_then(|claim| claims.get(&claim));
    if let Some((directory, group)) = directory.zip(group) {
        let context = spec.security_context.as_ref();
        let policy = context.and_then(|context| context.fs_group_change_policy.as_deref());
        ownership::apply(directory, group, Policy::read(policy))?;
    }
    Ok(())
}

/// Asks for the tokens that are missing or due.
async fn renew_tokens(work: &Work) -> Result<(), String> {
    let mut tokens = work.tokens.lock().await;
    for wish in tokens.needed(&work.pod, work.tools.token_age, Timestamp::now()) {
        let token = request(work, &wish).await.map_err(|error| full(&error))?;
        tokens.insert(wish, token);
    }
    Ok(())
}

async fn request(work: &Work, wish: &Wish) -> Result<Token, kube::Error> {
    let api: Api<ServiceAccount> = Api::namespaced(work.tools.client.clone(), work.namespace());
    let account = work.pod.spec.as_ref().and_then(|spec| spec.service_account_name.clone());
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            audiences: wish.audience.clone().map(|audience| vec![audience]),
            expiration_seconds: Some(wish.seconds),
            bound_object_ref: Some(BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: work.pod.metadata.name.clone(),
                uid: work.pod.metadata.uid.clone(),
            }),
        }),
        ..TokenRequest::default()
    };
    let issued = Timestamp::now();
    let account = account.as_deref().filter(|name| !name.is_empty()).unwrap_or("default");
    let answer = api.create_token_request(account, &PostParams::default(), &request).await?;
    let status = answer.status.unwrap_or_default();
    let expires = status.expiration_timestamp.map_or(issued, |time| time.0);
    Ok(Token { text: status.token.unwrap_or_default(), issued, expires })
}

/// Nothing is mounted any more: the sandbox is gone.
pub(in crate::driver) async fn release(work: &Work) -> Result<(), String> {
    let (layout, uid) = (work.tools.layout(), work.uid.clone());
    blocking(move || {
        removal::remove(&layout.of_pod(&uid)?)?;
        removal::remove(&layout.files(&uid)?)
    })
    .await
}
