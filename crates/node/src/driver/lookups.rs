//! What a Pod refers to, found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use k8s_openapi::api::core::v1::{ConfigMap, Container, PodSpec, Secret, Service};
use kube::{Api, Client};
use serde::de::DeserializeOwned;

use super::sources::{Change, Kind};
use super::work::Work;
use crate::blueprint::{Files, Place, Resolved};
use crate::shim::plan::{IdRange, Runtime};
use crate::volumes::places::places;

/// Everything that plans for a Pod are made of.
pub(super) struct Found {
    pub(super) config_maps: BTreeMap<String, ConfigMap>,
    pub(super) secrets: BTreeMap<String, Secret>,
    services: Vec<Service>,
    pub(super) claims: BTreeMap<String, PathBuf>,
    volumes: BTreeMap<String, Place>,
    pub(super) files: Files,
    /// Only those who start something need one.
    runtime: Result<Runtime, String>,
    pub(super) addresses: Vec<String>,
    ids: IdRange,
}

impl Found {
    pub(super) fn resolved<'a>(&'a self, work: &'a Work) -> Result<Resolved<'a>, String> {
        Ok(Resolved {
            pod: &work.pod,
            node: &work.tools.node,
            ids: self.ids,
            runtime: self.runtime.as_ref().map_err(Clone::clone)?,
            addresses: &self.addresses,
            config_maps: &self.config_maps,
            secrets: &self.secrets,
            services: &self.services,
            volumes: &self.volumes,
            files: &self.files,
        })
    }
}

/// Looks everything up. What is missing is missed by those who need it, with its name.
pub(super) async fn find(work: &Work) -> Result<Found, String> {
    let Some(spec) = work.pod.spec.as_ref() else { return Err("the Pod has no spec".to_owned()) };
    let names = names(spec);
    let namespace = work.namespace();
    let claims = claims(work, spec);
    let layout = work.tools.layout();
    let folder = layout.files(&work.uid).map_err(|error| error.to_string())?;
    Ok(Found {
        config_maps: objects(&work.tools.client, namespace, &names.config_maps).await?,
        secrets: objects(&work.tools.client, namespace, &names.secrets).await?,
        services: services(work, spec),
        volumes: places(&work.pod, &layout, &claims).map_err(|error| error.to_string())?,
        claims,
        files: Files {
            hosts: folder.join("hosts"),
            hostname: folder.join("hostname"),
            resolver: folder.join("resolv.conf"),
        },
        runtime: work.runtime().await,
        addresses: work.addresses(spec),
        ids: work.ids.ok_or_else(|| super::ids::NoIds.to_string())?,
    })
}

async fn objects<K>(
    client: &Client,
    namespace: &str,
    names: &BTreeSet<String>,
) -> Result<BTreeMap<String, K>, String>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let mut found = BTreeMap::new();
    for name in names {
        let object = api.get_opt(name).await.map_err(|error| error.to_string())?;
        found.extend(object.map(|object| (name.clone(), object)));
    }
    Ok(found)
}

/// Those of the Pod's namespace, and `kubernetes` of the default one.
fn services(work: &Work, spec: &PodSpec) -> Vec<Service> {
    let namespace = work.namespace();
    let is_seen = |service: &Service| {
        let of = service.metadata.namespace.as_deref();
        let is_api = of == Some("default") && service.metadata.name.as_deref() == Some("kubernetes");
        is_api || (of == Some(namespace) && spec.enable_service_links != Some(false))
    };
    let all = work.tools.services.all();
    all.iter().filter(|service| is_seen(service)).map(|service| Service::clone(service)).collect()
}

/// The directories of the bound claims that the Pod names or brings along.
fn claims(work: &Work, spec: &PodSpec) -> BTreeMap<String, PathBuf> {
    let named = spec.volumes.iter().flatten().filter_map(|volume| {
        let own = || asb_core::pod::ephemeral_volume::claim_name(&work.pod, &volume.name);
        let claim = volume.persistent_volume_claim.as_ref().map(|source| source.claim_name.clone());
        claim.or_else(|| volume.ephemeral.as_ref().map(|_| own()))
    });
    let bound = named.filter_map(|name| {
        let directory = work.tools.claims.bound(work.namespace(), &name)?;
        Some((name, directory))
    });
    bound.collect()
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Names {
    config_maps: BTreeSet<String>,
    secrets: BTreeSet<String>,
}

/// Whether an object is one of those that a Pod is made of.
pub(super) fn follows(spec: &PodSpec, change: &Change) -> bool {
    let names = names(spec);
    match change.kind {
        Kind::ConfigMap => names.config_maps.contains(&change.name),
        Kind::Secret => names.secrets.contains(&change.name),
    }
}

/// The objects that environments and volumes are made of.
fn names(spec: &PodSpec) -> Names {
    let mut names = Names::default();
    for container in spec.init_containers.iter().flatten().chain(&spec.containers) {
        names.add_environment(container);
    }
    for volume in spec.volumes.iter().flatten() {
        names.config_maps.extend(volume.config_map.iter().map(|source| source.name.clone()));
        names.secrets.extend(volume.secret.iter().filter_map(|source| source.secret_name.clone()));
        let projected = volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten());
        for source in projected {
            names.config_maps.extend(source.config_map.iter().map(|source| source.name.clone()));
            names.secrets.extend(source.secret.iter().map(|source| source.name.clone()));
        }
    }
    names
}

impl Names {
    fn add_environment(&mut self, container: &Container) {
        for source in container.env_from.iter().flatten() {
            self.config_maps.extend(source.config_map_ref.iter().map(|source| source.name.clone()));
            self.secrets.extend(source.secret_ref.iter().map(|source| source.name.clone()));
        }
        for source in container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
            self.config_maps.extend(source.config_map_key_ref.iter().map(|source| source.name.clone()));
            self.secrets.extend(source.secret_key_ref.iter().map(|source| source.name.clone()));
        }
    }
}

/// The Secrets that hold credentials for registries.
pub(super) async fn pull_secrets(work: &Work) -> Result<Vec<Secret>, String> {
    let spec = work.pod.spec.as_ref();
    let references = spec.iter().flat_map(|spec| spec.image_pull_secrets.iter().flatten());
    let names = references.map(|reference| reference.name.clone()).collect();
    let found = objects::<Secret>(&work.tools.client, work.namespace(), &names).await?;
    Ok(found.into_values().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_that_environments_and_volumes_name_is_looked_up() {
        let spec = json!({
            "containers": [{"name": "a",
                "envFrom": [{"configMapRef": {"name": "c1"}}, {"secretRef": {"name": "s1"}}],
                "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s2", "key": "k"}}}]}],
            "initContainers": [{"name": "b",
                "env": [{"name": "Y", "valueFrom": {"configMapKeyRef": {"name": "c2", "key": "k"}}}]}],
            "volumes": [
                {"name": "v1", "configMap": {"name": "c3"}},
                {"name": "v2", "secret": {"secretName": "s3"}},
                {"name": "v3", "projected": {"sources": [{"configMap": {"name": "c4"}}, {"secret": {"name": "s4"}}]}},
            ],
        });
        let names = names(&serde_json::from_value(spec).unwrap());
        assert_eq!(names.config_maps, ["c1", "c2", "c3", "c4"].map(str::to_owned).into());
        assert_eq!(names.secrets, ["s1", "s2", "s3", "s4"].map(str::to_owned).into());
    }

    #[test]
    fn a_pod_hears_of_its_own_objects_alone() {
        let spec = json!({"containers": [], "volumes": [{"name": "v", "configMap": {"name": "mine"}}]});
        let spec = serde_json::from_value(spec).unwrap();
        let change = |kind, name: &str| Change { kind, namespace: "n".into(), name: name.into() };
        assert!(follows(&spec, &change(Kind::ConfigMap, "mine")));
        assert!(!follows(&spec, &change(Kind::Secret, "mine")));
        assert!(!follows(&spec, &change(Kind::ConfigMap, "other")));
    }
}
