//! A Pod as the network sees it: an address, labels, and ports that have names.

use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};

use super::selector::Labels;
use crate::object::{Key, Uid};

/// What the kernel calls it by number, and Kubernetes by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
}

impl Protocol {
    /// Kubernetes means TCP where nothing is said.
    pub fn read(name: Option<&str>) -> Option<Self> {
        match name {
            None | Some("" | "TCP") => Some(Self::Tcp),
            Some("UDP") => Some(Self::Udp),
            Some("SCTP") => Some(Self::Sctp),
            Some(_) => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }

    /// The number that IP carries.
    pub fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
            Self::Sctp => 132,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPort {
    pub name: String,
    pub protocol: Protocol,
    pub number: u16,
}

/// A Pod with a link of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub key: Key,
    pub uid: Uid,
    pub address: Ipv4Addr,
    pub labels: Labels,
    pub ports: Vec<NamedPort>,
    /// Whether it is given a token for the API server.
    pub has_token: bool,
}

impl Member {
    /// Nothing for a Pod in the host's network, and for one that has ended and lost its address.
    pub fn of(pod: &Pod, address: Ipv4Addr) -> Option<Self> {
        let metadata = &pod.metadata;
        let spec = pod.spec.as_ref()?;
        if spec.host_network == Some(true) || has_ended(pod) {
            return None;
        }
        Some(Self {
            key: Key::new(metadata.namespace.as_deref()?, metadata.name.as_deref()?),
            uid: metadata.uid.as_deref()?.into(),
            address,
            labels: metadata.labels.clone().unwrap_or_default(),
            ports: named_ports(spec),
            has_token: has_token(spec),
        })
    }

    /// The number behind a port's name, which may be another for each protocol.
    pub fn port(&self, name: &str, protocol: Protocol) -> Option<u16> {
        let mut ports = self.ports.iter();
        ports.find(|port| port.name == name && port.protocol == protocol).map(|port| port.number)
    }
}

pub(super) fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// A token for somebody else says so.
fn has_token(spec: &PodSpec) -> bool {
    let volumes = spec.volumes.iter().flatten().filter_map(|volume| volume.projected.as_ref());
    let sources = volumes.flat_map(|volume| volume.sources.iter().flatten());
    let mut tokens = sources.filter_map(|source| source.service_account_token.as_ref());
    tokens.any(|token| token.audience.as_deref().unwrap_or_default().is_empty())
}

/// Those of containers come first, then those of sidecars; of two with one name the first counts.
pub(super) fn named_ports(spec: &PodSpec) -> Vec<NamedPort> {
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    spec.containers.iter().chain(sidecars).flat_map(ports_of).collect()
}

fn ports_of(container: &Container) -> impl Iterator<Item = NamedPort> {
    container.ports.iter().flatten().filter_map(|port| {
        Some(NamedPort {
            name: port.name.clone()?,
            protocol: Protocol::read(port.protocol.as_deref())?,
            number: u16::try_from(port.container_port).ok()?,
        })
    })
}

/// What the host's end of a Pod's link is called: fifteen characters at most, and always the same for one Pod.
pub fn interface(prefix: &str, uid: &Uid) -> String {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash =
        uid.as_str().bytes().fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("{prefix}{:010x}", (hash >> 40) ^ (hash & 0xff_ffff_ffff))
}

/// Whether a name is one that [`interface`] gives: other interfaces may begin in the same way.
pub fn is_interface(prefix: &str, name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.strip_prefix(prefix).is_some_and(|rest| rest.len() == 10 && rest.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);

    fn pod(spec: serde_json::Value, phase: &str) -> Option<Member> {
        let pod = json!({
            "metadata": {"namespace": "default", "name": "web", "uid": "u1"},
            "spec": spec, "status": {"phase": phase},
        });
        Member::of(&serde_json::from_value(pod).unwrap(), ADDRESS)
    }

    #[test]
    fn ports_of_sidecars_have_names_too_and_those_of_other_init_containers_do_not() {
        let member = pod(
            json!({
                "containers": [{"name": "main", "ports": [{"name": "http", "containerPort": 80}]}],
                "initContainers": [
                    {"name": "side", "restartPolicy": "Always",
                     "ports": [{"name": "dns", "containerPort": 53, "protocol": "UDP"}]},
                    {"name": "once", "ports": [{"name": "gone", "containerPort": 1}]},
                ],
            }),
            "Running",
        );
        let member = member.unwrap();
        assert_eq!(member.port("http", Protocol::Tcp), Some(80));
        assert_eq!(member.port("http", Protocol::Udp), None);
        assert_eq!(member.port("dns", Protocol::Udp), Some(53));
        assert_eq!(member.port("gone", Protocol::Tcp), None);
    }

    #[test]
    fn pods_that_have_ended_or_live_in_the_hosts_network_are_no_members() {
        assert!(pod(json!({"containers": []}), "Succeeded").is_none());
        assert!(pod(json!({"containers": []}), "Failed").is_none());
        assert!(pod(json!({"containers": [], "hostNetwork": true}), "Running").is_none());
        assert!(pod(json!({"containers": []}), "Pending").is_some());
    }

    #[test]
    fn a_token_is_one_for_the_api_server_and_in_a_volume() {
        let with = |token: serde_json::Value| {
            let source = json!({"sources": [{"serviceAccountToken": token}]});
            let spec = json!({"containers": [], "volumes": [{"name": "v", "projected": source}]});
            pod(spec, "Pending").unwrap().has_token
        };
        assert!(with(json!({"path": "token"})));
        assert!(!with(json!({"path": "token", "audience": "vault"})));
        assert!(!pod(json!({"containers": []}), "Pending").unwrap().has_token);
    }

    #[test]
    fn interface_names_fit_and_differ() {
        let names: Vec<_> = ["a", "b", "0b6b1d3c-8a52-4a0f-9d7e-1f7c5a3e2b10"]
            .into_iter()
            .map(|uid| interface("asb-p", &uid.into()))
            .collect();
        assert!(names.iter().all(|name| name.len() == 15 && is_interface("asb-p", name)), "{names:?}");
        assert!(names[0] != names[1] && names[1] != names[2]);
        assert!(!is_interface("asb-p", "asb-pod-network") && !is_interface("asb-p", "asb-p1"));
    }
}
