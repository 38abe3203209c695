//! Which files a volume has that follows objects: ConfigMaps, Secrets, the Pod itself, tokens. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{
    ConfigMap, DownwardAPIVolumeFile, KeyToPath, Pod, PodSpec, ProjectedVolumeSource, Secret,
    ServiceAccountTokenProjection, Volume, VolumeProjection,
};

use super::names::{self, Refused};
use super::token::{Tokens, Wish};
use crate::blueprint::{self, Whereabouts, pod_field, resource_field};
use crate::quantity::List;

/// Where nothing else is said.
const MODE: i32 = 0o644;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct File {
    pub content: Vec<u8>,
    pub mode: u32,
    /// As the container sees them.
    pub uid: u32,
    pub gid: u32,
}

/// By path in the volume.
pub type Payload = BTreeMap<PathBuf, File>;

/// What the files are made of.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    pub pod: &'a Pod,
    /// Of the Pod's namespace, by name: those that exist.
    pub config_maps: &'a BTreeMap<String, ConfigMap>,
    pub secrets: &'a BTreeMap<String, Secret>,
    pub whereabouts: Whereabouts<'a>,
    pub allocatable: &'a List,
    pub tokens: &'a Tokens,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("configmap {0:?} not found")]
    NoConfigMap(String),
    #[error("secret {0:?} not found")]
    NoSecret(String),
    #[error("configmap references non-existent config key: {0}")]
    NoConfigKey(String),
    #[error("references non-existent secret key: {0}")]
    NoSecretKey(String),
    #[error("there is no token yet for {0:?}")]
    NoToken(PathBuf),
    #[error("the file {0:?} is neither a field nor a resource")]
    NoSource(String),
    #[error("{0:?} cannot be both a file and a directory")]
    Both(PathBuf),
    #[error("{0} are not projected by this node")]
    Unsupported(&'static str),
    #[error(transparent)]
    Field(#[from] blueprint::Error),
    #[error(transparent)]
    Path(#[from] Refused),
}

/// The files of a volume; nothing for one that does not follow objects.
pub fn of(volume: &Volume, sources: &Sources<'_>) -> Result<Option<Payload>, Error> {
    let mut files = Files { sources, payload: Payload::new(), mode: MODE };
    if let Some(source) = &volume.config_map {
        files.mode = source.default_mode.unwrap_or(MODE);
        files.config_map(&source.name, source.items.as_deref(), source.optional)?;
    } else if let Some(source) = &volume.secret {
        files.mode = source.default_mode.unwrap_or(MODE);
        files.secret(
            source.secret_name.as_deref().unwrap_or_default(),
            source.items.as_deref(),
            source.optional,
        )?;
    } else if let Some(source) = &volume.downward_api {
        files.mode = source.default_mode.unwrap_or(MODE);
        files.downward(source.items.as_deref().unwrap_or_default())?;
    } else if let Some(source) = &volume.projected {
        files.projected(source)?;
    } else {
        return Ok(None);
    }
    check(&files.payload)?;
    Ok(Some(with_group(files.payload, group(sources.pod))))
}

/// The Pod's group for volumes.
pub fn group(pod: &Pod) -> Option<u32> {
    let group = pod.spec.as_ref()?.security_context.as_ref()?.fs_group?;
    u32::try_from(group).ok()
}

struct Files<'a> {
    sources: &'a Sources<'a>,
    payload: Payload,
    mode: i32,
}

impl Files<'_> {
    fn projected(&mut self, source: &ProjectedVolumeSource) -> Result<(), Error> {
        self.mode = source.default_mode.unwrap_or(MODE);
        source.sources.iter().flatten().try_for_each(|projection| self.projection(projection))
    }

    /// A later one replaces files of an earlier.
    fn projection(&mut self, projection: &VolumeProjection) -> Result<(), Error> {
        if let Some(source) = &projection.config_map {
            self.config_map(&source.name, source.items.as_deref(), source.optional)?;
        }
        if let Some(source) = &projection.secret {
            self.secret(&source.name, source.items.as_deref(), source.optional)?;
        }
        if let Some(source) = &projection.downward_api {
            self.downward(source.items.as_deref().unwrap_or_default())?;
        }
        if let Some(source) = &projection.service_account_token {
            self.token(source)?;
        }
        if projection.cluster_trust_bundle.is_some() {
            return Err(Error::Unsupported("certificates of signers"));
        }
        if projection.pod_certificate.is_some() {
            return Err(Error::Unsupported("certificates of Pods"));
        }
        Ok(())
    }

    fn config_map(
        &mut self,
        name: &str,
        items: Option<&[KeyToPath]>,
        optional: Option<bool>,
    ) -> Result<(), Error> {
        let object = self.sources.config_maps.get(name);
        if object.is_none() && optional != Some(true) {
            return Err(Error::NoConfigMap(name.to_owned()));
        }
        let mut keys: BTreeMap<&str, &[u8]> = BTreeMap::new();
        if let Some(object) = object {
            let binary = object.binary_data.iter().flatten();
            keys.extend(binary.map(|(key, value)| (key.as_str(), value.0.as_slice())));
            keys.extend(object.data.iter().flatten().map(|(key, value)| (key.as_str(), value.as_bytes())));
        }
        self.keys(&keys, items, optional, Error::NoConfigKey)
    }

    fn secret(
        &mut self,
        name: &str,
        items: Option<&[KeyToPath]>,
        optional: Option<bool>,
    ) -> Result<(), Error> {
        let object = self.sources.secrets.get(name);
        if object.is_none() && optional != Some(true) {
            return Err(Error::NoSecret(name.to_owned()));
        }
        let data = object.and_then(|object| object.data.as_ref()).into_iter().flatten();
        let keys = data.map(|(key, value)| (key.as_str(), value.0.as_slice())).collect();
        self.keys(&keys, items, optional, Error::NoSecretKey)
    }

    /// All keys under their own names, or those that are listed, where they are to be.
    fn keys(
        &mut self,
        keys: &BTreeMap<&str, &[u8]>,
        items: Option<&[KeyToPath]>,
        optional: Option<bool>,
        missing: fn(String) -> Error,
    ) -> Result<(), Error> {
        let items = items.unwrap_or_default();
        if items.is_empty() {
            return keys.iter().try_for_each(|(key, value)| self.add(key, value, None));
        }
        for item in items {
            match keys.get(item.key.as_str()) {
                Some(value) => self.add(&item.path, value, item.mode)?,
                None if optional == Some(true) => {}
                None => return Err(missing(item.key.clone())),
            }
        }
        Ok(())
    }

    fn downward(&mut self, items: &[DownwardAPIVolumeFile]) -> Result<(), Error> {
        for item in items {
            let text = self.field(item)?;
            self.add(&item.path, text.as_bytes(), item.mode)?;
        }
        Ok(())
    }

    fn field(&self, item: &DownwardAPIVolumeFile) -> Result<String, Error> {
        let Sources { pod, whereabouts, allocatable, .. } = self.sources;
        if let Some(field) = &item.field_ref {
            return Ok(pod_field(pod, &field.field_path, whereabouts)?);
        }
        match (&item.resource_field_ref, &pod.spec) {
            (Some(selector), Some(spec)) => Ok(resource_field(spec, selector, "", allocatable)?),
            _ => Err(Error::NoSource(item.path.clone())),
        }
    }

    /// Nobody but those who need it can read it: the Pod's one user, or else the Pod's group.
    fn token(&mut self, source: &ServiceAccountTokenProjection) -> Result<(), Error> {
        let path = names::item(&source.path)?;
        let token = self.sources.tokens.get(&Wish::of(source)).ok_or_else(|| Error::NoToken(path.clone()))?;
        let user = self.sources.pod.spec.as_ref().and_then(only_user);
        let is_close = user.is_some() || group(self.sources.pod).is_some();
        let mode = if is_close { 0o600 } else { mode(self.mode) };
        let content = token.text.clone().into_bytes();
        self.payload.insert(path, File { content, mode, uid: user.unwrap_or(0), gid: 0 });
        Ok(())
    }

    fn add(&mut self, path: &str, content: &[u8], own: Option<i32>) -> Result<(), Error> {
        let mode = mode(own.unwrap_or(self.mode));
        self.payload.insert(names::item(path)?, File { content: content.to_vec(), mode, uid: 0, gid: 0 });
        Ok(())
    }
}

fn mode(mode: i32) -> u32 {
    u32::try_from(mode).unwrap_or_default() & 0o777
}

/// The user of all containers, where they have but one.
fn only_user(spec: &PodSpec) -> Option<u32> {
    let of_pod = spec.security_context.as_ref().and_then(|context| context.run_as_user);
    let containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    let mut users = containers
        .map(|container| container.security_context.as_ref().and_then(|own| own.run_as_user).or(of_pod));
    let first = users.next()??;
    users.all(|user| user == Some(first)).then_some(first).and_then(|user| u32::try_from(user).ok())
}

/// The group may read what it owns. Files of these volumes are nobody's to write.
fn with_group(mut payload: Payload, group: Option<u32>) -> Payload {
    if let Some(gid) = group {
        for file in payload.values_mut() {
            (file.gid, file.mode) = (gid, file.mode | 0o440);
        }
    }
    payload
}

fn check(payload: &Payload) -> Result<(), Error> {
    let above = |path: &Path| path.ancestors().skip(1).any(|above| payload.contains_key(above));
    match payload.keys().find(|path| above(path)) {
        Some(path) => Err(Error::Both(path.parent().unwrap_or(path).to_owned())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
