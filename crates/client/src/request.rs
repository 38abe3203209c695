//! A Sandbox as somebody asks for it: an image, a command, amounts; and the object that this is. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use asb_types::blueprint::PodTemplate;
use asb_types::v1beta1::{Sandbox, SandboxSpec, SandboxTemplate, SandboxTemplateSpec};
use k8s_openapi::api::core::v1::{
    Container, EnvVar, HostPathVolumeSource, PodSpec, ResourceRequirements, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::ObjectMeta;

/// The name of the container in Sandboxes made here.
const CONTAINER: &str = "main";
/// What generated names begin with.
const PREFIX: &str = "run-";

/// A Sandbox to be made.
///
/// ```
/// use asb_client::NewSandbox;
///
/// let wanted = NewSandbox {
///     name: Some("box".to_owned()),
///     image: "python:3.14".to_owned(),
///     command: vec!["python3".to_owned(), "-c".to_owned(), "print(6*7)".to_owned()],
///     memory: Some("512Mi".to_owned()),
///     ..NewSandbox::default()
/// };
/// assert_eq!(wanted.sandbox().metadata.name.as_deref(), Some("box"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSandbox {
    /// Without one, the server makes one up.
    pub name: Option<String>,
    pub image: String,
    /// Without one, the image's own.
    pub command: Vec<String>,
    pub env: Vec<(String, String)>,
    /// The most it may use, as Kubernetes writes amounts: `500m`, `2`.
    pub cpu: Option<String>,
    /// The most it may use, as Kubernetes writes amounts: `512Mi`.
    pub memory: Option<String>,
    pub mounts: Vec<Mount>,
    /// A RuntimeClass: what it is isolated by.
    pub runtime_class: Option<String>,
    /// How long it may run, from the moment that a node has taken it.
    pub deadline: Option<Duration>,
    /// Whether somebody is going to type into it. Its input ends when they leave.
    pub stdin: bool,
    pub tty: bool,
    /// Whether its command is started again when it has ended.
    pub restarts: bool,
}

/// A directory or file of the machine that runs the Sandbox, inside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    pub host: String,
    pub path: String,
    pub read_only: bool,
}

impl NewSandbox {
    /// The object to create.
    pub fn sandbox(&self) -> Sandbox {
        let spec = SandboxSpec { pod_template: self.pod_template(), ..SandboxSpec::default() };
        Sandbox { metadata: named(self.name.clone(), PREFIX), spec, status: None }
    }

    /// A template of the same, for pools.
    pub fn template(&self) -> SandboxTemplate {
        let spec =
            SandboxTemplateSpec { pod_template: self.pod_template(), ..SandboxTemplateSpec::default() };
        SandboxTemplate { metadata: named(self.name.clone(), PREFIX), spec, status: None }
    }

    fn pod_template(&self) -> PodTemplate {
        PodTemplate { spec: self.pod_spec(), ..PodTemplate::default() }
    }

    fn pod_spec(&self) -> PodSpec {
        PodSpec {
            containers: vec![self.container()],
            volumes: some(self.mounts.iter().enumerate().map(|(at, mount)| mount.volume(at)).collect()),
            restart_policy: Some(if self.restarts { "Always" } else { "Never" }.to_owned()),
            runtime_class_name: self.runtime_class.clone(),
            active_deadline_seconds: self.deadline.map(seconds),
            // What runs in a sandbox is not trusted with the API.
            automount_service_account_token: Some(false),
            // As long as others give a container that is told to stop.
            termination_grace_period_seconds: Some(10),
            ..PodSpec::default()
        }
    }

    fn container(&self) -> Container {
        Container {
            name: CONTAINER.to_owned(),
            image: Some(self.image.clone()),
            command: some(self.command.clone()),
            env: some(self.env.iter().map(variable).collect()),
            resources: self.resources(),
            volume_mounts: some(self.mounts.iter().enumerate().map(|(at, mount)| mount.point(at)).collect()),
            stdin: self.stdin.then_some(true),
            stdin_once: self.stdin.then_some(true),
            tty: self.tty.then_some(true),
            ..Container::default()
        }
    }

    fn resources(&self) -> Option<ResourceRequirements> {
        let amounts = [("cpu", &self.cpu), ("memory", &self.memory)];
        let given = amounts.into_iter().filter_map(|(name, amount)| Some((name, amount.clone()?)));
        let limits: BTreeMap<String, Quantity> =
            given.map(|(name, amount)| (name.to_owned(), Quantity(amount))).collect();
        (!limits.is_empty())
            .then(|| ResourceRequirements { limits: Some(limits), ..ResourceRequirements::default() })
    }
}

impl Mount {
    fn volume(&self, at: usize) -> Volume {
        let host_path = HostPathVolumeSource { path: self.host.clone(), type_: None };
        Volume { name: volume_name(at), host_path: Some(host_path), ..Volume::default() }
    }

    fn point(&self, at: usize) -> VolumeMount {
        let read_only = self.read_only.then_some(true);
        let (mount_path, name) = (self.path.clone(), volume_name(at));
        VolumeMount { mount_path, name, read_only, ..VolumeMount::default() }
    }
}

fn volume_name(at: usize) -> String {
    format!("mount-{at}")
}

fn variable((name, value): &(String, String)) -> EnvVar {
    EnvVar { name: name.clone(), value: Some(value.clone()), ..EnvVar::default() }
}

/// A given name, or one that the server makes up.
pub(crate) fn named(name: Option<String>, prefix: &str) -> ObjectMeta {
    let generate_name = name.is_none().then(|| prefix.to_owned());
    ObjectMeta { generate_name, name, ..ObjectMeta::default() }
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}

/// Kubernetes counts in whole seconds, and takes none for a mistake.
fn seconds(time: Duration) -> i64 {
    let whole = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    i64::try_from(whole.max(1)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_an_image() {
        let wanted = NewSandbox { image: "busybox".to_owned(), ..NewSandbox::default() };
        insta::assert_yaml_snapshot!(wanted.sandbox());
    }

    #[test]
    fn all_of_it_ends_up_in_the_object() {
        let wanted = NewSandbox {
            name: Some("box".to_owned()),
            image: "asb.local/host".to_owned(),
            command: vec!["sh".to_owned(), "-c".to_owned(), "echo hi".to_owned()],
            env: vec![("A".to_owned(), "b=c".to_owned())],
            cpu: Some("500m".to_owned()),
            memory: Some("512Mi".to_owned()),
            mounts: vec![Mount { host: "/src".to_owned(), path: "/work".to_owned(), read_only: true }],
            runtime_class: Some("gvisor".to_owned()),
            deadline: Some(Duration::from_millis(1500)),
            stdin: true,
            tty: true,
            restarts: false,
        };
        insta::assert_yaml_snapshot!(wanted.sandbox());
    }

    #[test]
    fn a_deadline_is_rounded_up_to_whole_seconds() {
        assert_eq!([0, 1, 1000, 1001].map(|milli| seconds(Duration::from_millis(milli))), [1, 1, 1, 2]);
    }
}
