//! What a container finds mounted: its volumes, the Pod's files, and the Pod's shared memory.

use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::{Container, VolumeMount};

use super::environment::Variables;
use super::expansion::expand;
use super::sandbox::SHARED_MEMORY;
use super::{Error, Place, Resolved};
use crate::shim::plan::{Mount, Source};

/// In the order in which they are mounted: those further up before those that lie in them.
pub(super) fn of(
    resolved: &Resolved<'_>,
    container: &Container,
    variables: &Variables,
    read_only_root: bool,
) -> Result<Vec<Mount>, Error> {
    if let Some(device) = container.volume_devices.iter().flatten().next() {
        return Err(Error::Device(device.name.clone()));
    }
    let mut mounts = Vec::new();
    for asked in container.volume_mounts.iter().flatten() {
        mounts.push(volume(resolved, container, asked, variables)?);
    }
    for mount in files(resolved, read_only_root) {
        if !mounts.iter().any(|asked| asked.target == mount.target) {
            mounts.push(mount);
        }
    }
    mounts.sort_by_key(|mount| mount.target.components().count());
    Ok(mounts)
}

/// Theirs to write, as long as their own files are; what they write is gone with the Pod.
fn files(resolved: &Resolved<'_>, read_only: bool) -> Vec<Mount> {
    let files = resolved.files;
    let own = [
        ("/etc/hosts", &files.hosts),
        ("/etc/hostname", &files.hostname),
        ("/etc/resolv.conf", &files.resolver),
    ];
    let file = |(target, path): (&str, &PathBuf)| Mount {
        source: Source::Path { path: path.clone(), sub_path: None, recursive: false },
        target: target.into(),
        read_only,
    };
    let memory = Mount {
        source: Source::Memory { volume: SHARED_MEMORY.to_owned(), sub_path: None },
        target: "/dev/shm".into(),
        read_only: false,
    };
    own.into_iter().map(file).chain([memory]).collect()
}

fn volume(
    resolved: &Resolved<'_>,
    container: &Container,
    mount: &VolumeMount,
    variables: &Variables,
) -> Result<Mount, Error> {
    let missing = || Error::NoVolume { volume: mount.name.clone(), container: container.name.clone() };
    let place = resolved.volumes.get(&mount.name).ok_or_else(missing)?;
    if !matches!(mount.mount_propagation.as_deref(), None | Some("" | "None")) {
        return Err(Error::Propagation(mount.name.clone()));
    }
    let is_recursive = matches!(mount.recursive_read_only.as_deref(), Some("Enabled" | "IfPossible"));
    let asked = mount.read_only == Some(true);
    if is_recursive && !asked {
        return Err(Error::Recursive(mount.name.clone()));
    }
    let sub_path = sub_path(mount, variables)?;
    let (source, forced) = match place {
        Place::Memory => (Source::Memory { volume: mount.name.clone(), sub_path }, false),
        Place::Path { path, read_only, recursive } => {
            (Source::Path { path: path.clone(), sub_path, recursive: *recursive }, *read_only)
        }
    };
    Ok(Mount { source, target: target(mount)?, read_only: asked || forced })
}

/// A path without dots. One that climbs is nobody's honest wish.
fn target(mount: &VolumeMount) -> Result<PathBuf, Error> {
    let path = Path::new("/").join(&mount.mount_path);
    let climbs = path.components().any(|part| part == Component::ParentDir);
    let cleaned: PathBuf = path.components().collect();
    if climbs || cleaned == Path::new("/") {
        return Err(Error::MountPath(mount.name.clone()));
    }
    if is_the_kernels(&cleaned) { Err(Error::KernelPath(mount.name.clone(), cleaned)) } else { Ok(cleaned) }
}

/// Where the kernel's own files are in a container. Volumes may be mounted among devices, and not over them.
pub(super) fn is_the_kernels(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/sys") || path == Path::new("/dev")
}

fn sub_path(mount: &VolumeMount, variables: &Variables) -> Result<Option<PathBuf>, Error> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let path = match (given(&mount.sub_path_expr), given(&mount.sub_path)) {
        (Some(expression), _) => expanded(&expression, variables)?,
        (None, Some(path)) => path,
        (None, None) => return Ok(None),
    };
    let refused = |reason| Error::SubPath { path: path.clone(), mount: mount.mount_path.clone(), reason };
    if path.is_empty() {
        return Ok(None);
    }
    if path.starts_with('/') {
        return Err(refused("must not be an absolute path"));
    }
    if path.split('/').any(|part| part == "..") {
        return Err(refused("must not contain '..'"));
    }
    if path.contains('\0') {
        return Err(refused("must not contain a NUL byte"));
    }
    Ok(Some(PathBuf::from(path)))
}

/// Here, unlike elsewhere, every name must be known.
fn expanded(expression: &str, variables: &Variables) -> Result<String, Error> {
    let mut missing = None;
    let text = expand(expression, |name| {
        let value = variables.get(name);
        if value.is_none() {
            missing = Some(name.to_owned());
        }
        value
    });
    missing.map_or(Ok(text), |name| Err(Error::MissingValue(name)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::blueprint::environment;
    use crate::blueprint::fixtures::Case;

    fn mounted(container: Value) -> Result<Vec<Mount>, Error> {
        let case = Case::with(container).volume("data", "/d", false).volume("cfg", "/c", true).memory("mem");
        let variables = environment::variables(&case.resolved(), case.container()).unwrap();
        of(&case.resolved(), case.container(), &variables, false)
    }

    fn refusal(mount: Value) -> String {
        let mut whole = json!({"name": "data", "mountPath": "/m"});
        whole.as_object_mut().unwrap().extend(mount.as_object().unwrap().clone());
        let error = mounted(json!({"volumeMounts": [whole]})).unwrap_err();
        assert_eq!(error.reason(), "CreateContainerConfigError");
        error.to_string()
    }

    #[test]
    fn volumes_and_files_are_mounted_from_above_to_below() {
        let mounts = mounted(json!({
            "env": [{"name": "WHO", "value": "ann"}],
            "volumeMounts": [
                {"name": "data", "mountPath": "/a/b/c/", "subPathExpr": "users/$(WHO)"},
                {"name": "mem", "mountPath": "cache", "subPath": "x"},
                {"name": "cfg", "mountPath": "/etc/hosts", "subPath": "hosts"},
                {"name": "data", "mountPath": "/a", "readOnly": true, "recursiveReadOnly": "Enabled"},
            ],
        }));
        insta::assert_yaml_snapshot!(mounts.unwrap());
    }

    #[test]
    fn paths_that_lead_out_are_refused_and_named() {
        insta::assert_snapshot!(
            [
                refusal(json!({"subPath": "/etc"})),
                refusal(json!({"subPath": "a/../../b"})),
                refusal(json!({"subPathExpr": "$(NOBODY)"})),
                refusal(json!({"mountPath": "/a/../b"})),
                refusal(json!({"mountPath": "/"})),
                refusal(json!({"name": "none"})),
                refusal(json!({"mountPropagation": "Bidirectional"})),
                refusal(json!({"recursiveReadOnly": "Enabled"})),
            ]
            .join("\n")
        );
    }

    #[test]
    fn a_variable_cannot_smuggle_a_path_that_climbs() {
        let env = json!([{"name": "WHO", "value": "../../etc"}]);
        let mounts = json!([{"name": "data", "mountPath": "/m", "subPathExpr": "$(WHO)"}]);
        let error = mounted(json!({"env": env, "volumeMounts": mounts})).unwrap_err();
        assert_eq!(error.to_string(), "subPath \"../../etc\" of the mount at /m: must not contain '..'");
    }

    #[test]
    fn block_devices_are_refused() {
        let error =
            mounted(json!({"volumeDevices": [{"name": "data", "devicePath": "/dev/x"}]})).unwrap_err();
        assert_eq!(error, Error::Device("data".into()));
    }
}
