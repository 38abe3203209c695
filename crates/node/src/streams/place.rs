//! Which container of which Pod is meant, and where it is.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodSpec};

use super::error::Error;
use super::{Streams, Target};
use crate::shim::client::Client;
use crate::shim::directory::Directory;
use crate::shim::protocol::{Attempt, Phase, State};

/// Names the container that is meant when none is named.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// A container that the Pod has, whether it runs or not.
pub(super) struct Place {
    pub(super) pod: Arc<Pod>,
    pub(super) container: String,
    pub(super) directory: Directory,
}

impl Streams {
    pub(super) fn place(&self, target: &Target) -> Result<Place, Error> {
        let pod = self.pod(&target.namespace, &target.pod)?;
        let container = choose(&pod, target.container.as_deref())?;
        let directory = self.directory(&pod);
        Ok(Place { pod, container, directory })
    }

    pub(super) fn pod(&self, namespace: &str, name: &str) -> Result<Arc<Pod>, Error> {
        self.pods.get(namespace, name).ok_or_else(|| Error::NoPod(name.to_owned()))
    }

    pub(super) fn directory(&self, pod: &Pod) -> Directory {
        Directory::new(self.root.join("pods").join(pod.metadata.uid.as_deref().unwrap_or_default()))
    }

    /// Whether there is a container to talk to, before anybody is asked to begin.
    pub async fn check(&self, target: &Target) -> Result<(), Error> {
        self.place(target)?.running().await.map(drop)
    }
}

impl Place {
    pub(super) fn pod_name(&self) -> String {
        name(&self.pod)
    }

    /// The shim, and the attempt that runs.
    pub(super) async fn running(&self) -> Result<(Client, Attempt), Error> {
        if !is_scheduled(&self.pod) {
            return Err(Error::NotScheduled(self.pod_name()));
        }
        let not_running = || Error::NotRunning(self.container.clone());
        // A Pod that has no shim has no containers.
        let mut client = Client::connect(&self.directory).await.map_err(|_| not_running())?;
        let state = client.state(None).await?;
        let attempt = newest_running(&state, &self.container).ok_or_else(not_running)?;
        Ok((client, attempt))
    }
}

pub(super) fn name(pod: &Pod) -> String {
    pod.metadata.name.clone().unwrap_or_default()
}

pub(super) fn is_scheduled(pod: &Pod) -> bool {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    node.is_some_and(|node| !node.is_empty())
}

fn newest_running(state: &State, container: &str) -> Option<Attempt> {
    let ours = state.containers.iter().filter(|known| known.attempt.container == container);
    let running = ours.filter(|known| matches!(known.phase, Phase::Running { .. }));
    running.map(|known| &known.attempt).max().cloned()
}

/// As the API server chooses, and with the default that kubectl reads by itself.
pub(super) fn choose(pod: &Pod, wanted: Option<&str>) -> Result<String, Error> {
    let nothing = PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&nothing);
    let names = names(spec);
    if let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) {
        let unknown = || Error::NoSuchContainer { container: wanted.to_owned(), pod: name(pod) };
        return names.into_iter().find(|name| name == wanted).ok_or_else(unknown);
    }
    let annotations = pod.metadata.annotations.as_ref();
    let default = annotations.and_then(|all| all.get(DEFAULT_CONTAINER)).filter(|name| names.contains(name));
    match (default, &spec.containers[..]) {
        (Some(default), _) => Ok(default.clone()),
        (None, [only]) => Ok(only.name.clone()),
        (None, _) => Err(Error::Ambiguous { pod: name(pod), names }),
    }
}

/// All that can be named, in the order in which Kubernetes lists them.
fn names(spec: &PodSpec) -> Vec<String> {
    let init = spec.init_containers.iter().flatten().map(|container| &container.name);
    let main = spec.containers.iter().map(|container| &container.name);
    let ephemeral = spec.ephemeral_containers.iter().flatten().map(|container| &container.name);
    init.chain(main).chain(ephemeral).cloned().collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Container;

    use super::*;

    fn pod(init: &[&str], main: &[&str]) -> Pod {
        let containers = |names: &[&str]| -> Vec<Container> {
            names.iter().map(|name| Container { name: (*name).to_owned(), ..Container::default() }).collect()
        };
        let spec = PodSpec {
            init_containers: Some(containers(init)),
            containers: containers(main),
            ..PodSpec::default()
        };
        let mut pod = Pod { spec: Some(spec), ..Pod::default() };
        pod.metadata.name = Some("box".to_owned());
        pod
    }

    fn chosen(pod: &Pod, wanted: Option<&str>) -> String {
        choose(pod, wanted).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn the_only_container_needs_no_name() {
        assert_eq!(chosen(&pod(&["first"], &["main"]), None), "main");
        assert_eq!(chosen(&pod(&["first"], &["main"]), Some("")), "main");
        assert_eq!(chosen(&pod(&["first"], &["main"]), Some("first")), "first");
    }

    #[test]
    fn among_several_the_pod_may_say_which_is_meant() {
        let mut several = pod(&["first"], &["main", "proxy"]);
        assert_eq!(
            chosen(&several, None),
            "a container name must be specified for pod box, choose one of: [first main proxy]"
        );
        let annotations = [(DEFAULT_CONTAINER.to_owned(), "proxy".to_owned())];
        several.metadata.annotations = Some(annotations.into());
        assert_eq!(chosen(&several, None), "proxy");
    }

    #[test]
    fn a_container_of_another_pod_is_refused_as_kubernetes_does() {
        assert_eq!(chosen(&pod(&[], &["main"]), Some("web")), "container web is not valid for pod box");
    }
}
