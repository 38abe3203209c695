//! What the containers of a Pod share.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodSpec, Volume};

use super::{Error, Resolved, limits};
use crate::quantity::{counted, units};
use crate::shim::plan::{Limits, MemoryVolume, SandboxPlan, Sharing};

/// The Pod's `/dev/shm`. No volume can have this name.
pub(super) const SHARED_MEMORY: &str = "_shm";
const SHARED_MEMORY_BYTES: u64 = 64 << 20;

/// Those that are the Pod's own, by their namespaces; others would be the machine's.
const NAMESPACED: [&str; 4] = ["net.", "kernel.shm", "kernel.msg", "fs.mqueue."];

pub(super) fn plan(resolved: &Resolved<'_>) -> Result<SandboxPlan, Error> {
    let spec = resolved.spec()?;
    let uid = resolved.pod.metadata.uid.clone().unwrap_or_default();
    let limits = limits::of_pod(resolved.pod, spec, resolved.node.pids_per_pod);
    Ok(SandboxPlan {
        hostname: resolved.names()?.hostname,
        ids: resolved.ids,
        namespaces: sharing(spec),
        sysctls: sysctls(spec, resolved.ids.count)?,
        cgroup: resolved.node.cgroup.join(format!("pod{uid}")),
        memory_volumes: memory_volumes(resolved, spec, &limits)?,
        limits,
        runtime: resolved.runtime.clone(),
        uid,
    })
}

fn sharing(spec: &PodSpec) -> Sharing {
    Sharing {
        host_network: spec.host_network == Some(true),
        host_ipc: spec.host_ipc == Some(true),
        pod_processes: spec.share_process_namespace == Some(true),
    }
}

/// Low ports and `ping` for everybody in it, as on other nodes.
fn usual(spec: &PodSpec, ids: u32) -> BTreeMap<String, String> {
    if sharing(spec).host_network {
        return BTreeMap::new();
    }
    let last = ids.saturating_sub(1);
    let usual = [("ip_unprivileged_port_start", "0".to_owned()), ("ping_group_range", format!("0 {last}"))];
    usual.into_iter().map(|(name, value)| (format!("net.ipv4.{name}"), value)).collect()
}

/// The usual ones, and the Pod's own before them. Which of them a Pod may set was decided before; here it matters that none
/// is the machine's.
fn sysctls(spec: &PodSpec, ids: u32) -> Result<BTreeMap<String, String>, Error> {
    let asked = spec.security_context.iter().flat_map(|context| context.sysctls.iter().flatten());
    let own = |name: &str| match name {
        "kernel.sem" => !sharing(spec).host_ipc,
        name if name.starts_with("net.") => !sharing(spec).host_network,
        name => NAMESPACED.iter().any(|prefix| name.starts_with(prefix)) && !sharing(spec).host_ipc,
    };
    let pair = |name: &str, value: &str| {
        // `net/ipv4/…` is another way to write it.
        let name = name.replace('/', ".");
        if own(&name) && !name.contains("..") {
            Ok((name, value.to_owned()))
        } else {
            Err(Error::Sysctl(name))
        }
    };
    let mut all = usual(spec, ids);
    for sysctl in asked {
        let (name, value) = pair(&sysctl.name, &sysctl.value)?;
        all.insert(name, value);
    }
    Ok(all)
}

fn memory_volumes(
    resolved: &Resolved<'_>,
    spec: &PodSpec,
    limits: &Limits,
) -> Result<Vec<MemoryVolume>, Error> {
    let group = spec.security_context.as_ref().and_then(|context| context.fs_group);
    let count = resolved.ids.count;
    let gid = match group {
        Some(id) => {
            u32::try_from(id).ok().filter(|id| *id < count).ok_or(Error::Id { what: "group", id, count })?
        }
        None => 0,
    };
    let mode = if group.is_some() { 0o2777 } else { 0o777 };
    let most =
        [limits.memory, Some(counted(Some(&resolved.node.allocatable), "memory")).filter(|size| *size > 0)];
    let asked = spec.volumes.iter().flatten().filter(|volume| is_in_memory(volume)).map(|volume| {
        let wanted = volume.empty_dir.as_ref().and_then(|source| source.size_limit.as_ref()).map(units);
        let size = most.into_iter().chain([wanted.filter(|size| *size > 0)]).flatten().min();
        MemoryVolume { name: volume.name.clone(), size, mode, gid }
    });
    let shared = MemoryVolume {
        name: SHARED_MEMORY.to_owned(),
        size: Some(SHARED_MEMORY_BYTES),
        mode: 0o1777,
        gid: 0,
    };
    Ok(asked.chain([shared]).collect())
}

fn is_in_memory(volume: &Volume) -> bool {
    volume.empty_dir.as_ref().and_then(|source| source.medium.as_deref()) == Some("Memory")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::blueprint::fixtures::Case;

    fn with_sysctl(name: &str, spec: (&str, Value)) -> Result<BTreeMap<String, String>, Error> {
        let context = json!({"sysctls": [{"name": name, "value": "1"}]});
        let case = Case::with(json!({})).spec("securityContext", context).spec(spec.0, spec.1);
        plan(&case.resolved()).map(|plan| plan.sysctls)
    }

    #[test]
    fn everything_shared_is_planned() {
        let case = Case::with(json!({"resources": {"limits": {"memory": "1Gi", "cpu": "1"}}}))
            .spec("shareProcessNamespace", json!(true))
            .spec("securityContext", json!({"fsGroup": 70, "sysctls": [{"name": "net/ipv4/tcp_syncookies", "value": "1"}]}))
            .spec("volumes", json!([{"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}, {"name": "d", "emptyDir": {}}]));
        insta::assert_yaml_snapshot!(plan(&case.resolved()).unwrap());
    }

    #[test]
    fn what_the_pod_sets_goes_before_what_is_usual() {
        let own = with_sysctl("net.ipv4.ip_unprivileged_port_start", ("hostname", json!("p"))).unwrap();
        assert_eq!(own["net.ipv4.ip_unprivileged_port_start"], "1");
        assert_eq!(own["net.ipv4.ping_group_range"], "0 65535");
        let on_host = Case::with(json!({})).spec("hostNetwork", json!(true));
        assert!(plan(&on_host.resolved()).unwrap().sysctls.is_empty());
    }

    #[test]
    fn sysctls_of_the_machine_are_refused() {
        let nothing = || ("hostname", json!("p"));
        assert!(with_sysctl("net.ipv4.tcp_syncookies", nothing()).is_ok());
        assert!(with_sysctl("kernel.shm_rmid_forced", nothing()).is_ok());
        for name in ["kernel.panic", "vm.swappiness", "kernel.hostname", "net.ipv4...panic"] {
            assert_eq!(with_sysctl(name, nothing()).unwrap_err(), Error::Sysctl(name.into()));
        }
        assert!(with_sysctl("net.ipv4.tcp_syncookies", ("hostNetwork", json!(true))).is_err());
        assert!(with_sysctl("kernel.shmmax", ("hostIPC", json!(true))).is_err());
    }
}
