//! Whether what arrives at the loopback of the router's Pod can only have been forwarded by the API server. It can, where nothing
//! but the router lives in that network.

use k8s_openapi::api::core::v1::{Pod, PodSpec};

/// Why a connection to the loopback says nothing about whoever made it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    #[error("the router shares its network with its node")]
    HostNetwork,
    #[error("the router shares its Pod with the container `{0}`")]
    Company(String),
    #[error("the Pod has no container")]
    Empty,
}

/// Fails for a Pod of the router in whose network anybody else is. Containers that only prepare it have ended by now; those that
/// somebody adds later, to look into it, count from when they are asked for.
pub fn is_private(pod: &Pod) -> Result<(), Doubt> {
    let spec = pod.spec.as_ref().ok_or(Doubt::Empty)?;
    if spec.host_network == Some(true) {
        return Err(Doubt::HostNetwork);
    }
    let mut names = company(spec);
    names.next().ok_or(Doubt::Empty)?;
    names.next().map_or(Ok(()), |name| Err(Doubt::Company(name.to_owned())))
}

/// All that run at a time, the router first.
fn company(spec: &PodSpec) -> impl Iterator<Item = &str> {
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let visitors = spec.ephemeral_containers.iter().flatten();
    let containers = spec.containers.iter().chain(sidecars).map(|container| container.name.as_str());
    containers.chain(visitors.map(|container| container.name.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn judged(spec: Value) -> Result<(), Doubt> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "router"}, "spec": spec});
        is_private(&serde_json::from_value(pod).expect("a Pod"))
    }

    fn company(name: &str) -> Result<(), Doubt> {
        Err(Doubt::Company(name.to_owned()))
    }

    #[test]
    fn a_router_alone_in_its_pod_is_private() {
        let init = json!([{"name": "prepares"}]);
        assert_eq!(judged(json!({"containers": [{"name": "router"}], "initContainers": init})), Ok(()));
    }

    #[test]
    fn whoever_else_lives_there_could_be_the_one_who_connects() {
        let router = json!({"name": "router"});
        assert_eq!(judged(json!({"containers": [router, {"name": "proxy"}]})), company("proxy"));
        let sidecar = json!([{"name": "mesh", "restartPolicy": "Always"}]);
        assert_eq!(judged(json!({"containers": [router], "initContainers": sidecar})), company("mesh"));
        let visitor = json!([{"name": "debugger"}]);
        assert_eq!(
            judged(json!({"containers": [router], "ephemeralContainers": visitor})),
            company("debugger")
        );
        assert_eq!(judged(json!({"containers": [router], "hostNetwork": true})), Err(Doubt::HostNetwork));
        assert_eq!(judged(json!({"containers": []})), Err(Doubt::Empty));
    }
}
