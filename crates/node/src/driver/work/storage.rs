//! How much of the disk a Pod takes, for those that may take only so much.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::Work;
use crate::quantity::units;
use crate::volumes::Error;
use crate::volumes::usage::{self, Usage};

const RESOURCE: &str = "ephemeral-storage";

/// Whether anything of it is to be measured.
pub(in crate::driver) fn is_limited(spec: &PodSpec) -> bool {
    let volumes = spec.volumes.iter().flatten().filter_map(|volume| volume.empty_dir.as_ref());
    let mut sizes = volumes.filter(|source| source.medium.as_deref() != Some("Memory"));
    sizes.any(|source| source.size_limit.is_some()) || containers(spec).any(|it| limit(it).is_some())
}

fn containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().flatten().chain(&spec.containers)
}

fn limit(container: &Container) -> Option<&Quantity> {
    container.resources.as_ref()?.limits.as_ref()?.get(RESOURCE)
}

/// Why the Pod has to go; nothing as long as it keeps its limits.
pub(in crate::driver) async fn excess(work: &Work) -> Option<String> {
    let work = work.clone();
    tokio::task::spawn_blocking(move || measure(&work)).await.ok().flatten()
}

fn measure(work: &Work) -> Option<String> {
    let spec = work.pod.spec.as_ref()?;
    let mut total = 0;
    for volume in spec.volumes.iter().flatten() {
        let Some(source) = volume.empty_dir.as_ref().filter(|it| it.medium.as_deref() != Some("Memory"))
        else {
            continue;
        };
        let measured = usage::measure(&work.tools.layout().volume(&work.uid, &volume.name).ok()?);
        if let Some(message) = usage::excess(&volume.name, source.size_limit.as_ref(), &measured) {
            return Some(message);
        }
        total = u64::saturating_add(total, bytes(measured));
    }
    // The Pod's own files are every container's to write.
    let shared = work.tools.layout().files(&work.uid).map_or(0, |files| bytes(usage::measure(&files)));
    for container in containers(spec) {
        let used = of_container(work, &container.name).saturating_add(shared);
        total = total.saturating_add(used);
        if let Some(limit) = limit(container).filter(|limit| used > units(limit)) {
            let name = &container.name;
            return Some(format!(
                "Container {name} exceeded its local ephemeral storage limit {:?}. ",
                limit.0
            ));
        }
    }
    of_pod(spec, total)
}

/// All containers together may take what each of them may.
fn of_pod(spec: &PodSpec, total: u64) -> Option<String> {
    let limits: Option<Vec<u64>> = containers(spec).map(|it| limit(it).map(units)).collect();
    let most: u64 = limits?.iter().sum();
    let message =
        || format!("Pod ephemeral local storage usage exceeds the total limit of containers {most}. ");
    (total > most).then(message)
}

/// What it wrote to its own layers, and its logs.
fn of_container(work: &Work, name: &str) -> u64 {
    let logs = work.tools.node.logs_of(&work.pod).join(name);
    let attempts = work.directory().root().join("containers").join(name);
    let layers = children(&attempts).into_iter().flat_map(|attempt| {
        let overlays = children(&attempt.join("overlays")).into_iter().map(|overlay| overlay.join("upper"));
        let own = [attempt.join("upper"), attempt.join("termination-message")];
        own.into_iter().chain(overlays).collect::<Vec<_>>()
    });
    layers.chain([logs]).map(|path| of_path(&path)).fold(0, u64::saturating_add)
}

fn of_path(path: &Path) -> u64 {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => bytes(usage::measure(path)),
        Ok(found) => found.blocks().saturating_mul(512),
        Err(_) => 0,
    }
}

/// What is too deep to be measured was made so that it cannot, and is more than anybody may have.
fn bytes(measured: Result<Usage, Error>) -> u64 {
    match measured {
        Ok(usage) => usage.bytes,
        Err(Error::TooDeep(_)) => u64::MAX,
        Err(_) => 0,
    }
}

fn children(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory);
    entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn sidecars_are_measured_too() {
        let limited = json!({"name": "side", "resources": {"limits": {"ephemeral-storage": "10Mi"}}});
        let spec = json!({"containers": [{"name": "main"}], "initContainers": [limited]});
        assert!(is_limited(&serde_json::from_value(spec).unwrap()));
        assert!(!is_limited(&serde_json::from_value(json!({"containers": [{"name": "main"}]})).unwrap()));
    }

    #[test]
    fn what_cannot_be_measured_for_its_depth_is_too_much() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), vec![1; 1 << 16]).unwrap();
        assert!(of_path(folder.path()) >= 1 << 16);
        assert!(of_path(&folder.path().join("f")) >= 1 << 16);
        fs::create_dir_all(folder.path().join("d/".repeat(1500))).unwrap();
        assert_eq!(of_path(folder.path()), u64::MAX);
        crate::volumes::removal::remove(folder.path()).unwrap();
    }
}
