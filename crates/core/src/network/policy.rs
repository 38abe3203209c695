//! NetworkPolicies, read so that nothing in them is left to interpretation. What cannot be understood is an error with
//! its reason: a policy that cannot be enforced keeps Pods from starting.

#[cfg(test)]
mod tests;

use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
    NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::cidr::{Block, Cidr, NotABlock};
use super::member::Protocol;
use super::ranges::Ranges;
use super::selector::{BadSelector, Selector};
use crate::object::Key;

/// What a policy asks for, or why it cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub key: Key,
    /// Whom it concerns in its namespace. If even that cannot be understood: everybody.
    pub pods: Selector,
    pub rules: Result<Directions, Unenforceable>,
}

/// A direction that is not isolated has no list; an empty list lets nothing pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    pub ingress: Option<Vec<PolicyRule>>,
    pub egress: Option<Vec<PolicyRule>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    /// None is anybody.
    pub peers: Option<Vec<Peer>>,
    /// None is any port of any protocol.
    pub ports: Option<Vec<PolicyPort>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Pods in the policy's own namespace, or in those selected.
    Pods {
        namespaces: Option<Selector>,
        pods: Selector,
    },
    Addresses(Ranges),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyPort {
    All(Protocol),
    Numbers(Protocol, u16, u16),
    Named(Protocol, String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unenforceable {
    #[error(transparent)]
    Selector(#[from] BadSelector),
    #[error(transparent)]
    Block(#[from] NotABlock),
    #[error("unknown policy type {0:?}")]
    Type(String),
    #[error("unknown protocol {0:?}")]
    Protocol(String),
    #[error("a port range from {from} to {to}")]
    Range { from: String, to: i32 },
    #[error("port {0} does not exist")]
    Port(i32),
    #[error("a peer that selects neither Pods nor addresses")]
    EmptyPeer,
    #[error("a peer that selects both Pods and addresses")]
    MixedPeer,
}

impl Policy {
    pub fn read(policy: &NetworkPolicy) -> Self {
        let metadata = &policy.metadata;
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let spec = policy.spec.clone().unwrap_or_default();
        let (pods, rules) = match selector(spec.pod_selector.as_ref()) {
            Ok(pods) => (pods, directions(&spec)),
            Err(reason) => (Selector::default(), Err(reason)),
        };
        Self { key: Key::new(&text(&metadata.namespace), &text(&metadata.name)), pods, rules }
    }
}

fn selector(selector: Option<&LabelSelector>) -> Result<Selector, Unenforceable> {
    Ok(selector.map(Selector::read).transpose()?.unwrap_or_default())
}

/// Without types, a policy is about ingress, and about egress if it has rules for it.
fn directions(spec: &NetworkPolicySpec) -> Result<Directions, Unenforceable> {
    let types = spec.policy_types.as_deref().unwrap_or_default();
    if let Some(unknown) = types.iter().find(|name| !matches!(name.as_str(), "Ingress" | "Egress")) {
        return Err(Unenforceable::Type(unknown.clone()));
    }
    let has = |name: &str| types.iter().any(|given| given == name);
    let is_ingress = types.is_empty() || has("Ingress");
    let is_egress =
        has("Egress") || types.is_empty() && spec.egress.as_ref().is_some_and(|rules| !rules.is_empty());
    let ingress = spec.ingress.iter().flatten().map(ingress_rule).collect::<Result<_, _>>()?;
    let egress = spec.egress.iter().flatten().map(egress_rule).collect::<Result<_, _>>()?;
    Ok(Directions { ingress: is_ingress.then_some(ingress), egress: is_egress.then_some(egress) })
}

fn ingress_rule(rule: &NetworkPolicyIngressRule) -> Result<PolicyRule, Unenforceable> {
    policy_rule(rule.from.as_deref(), rule.ports.as_deref())
}

fn egress_rule(rule: &NetworkPolicyEgressRule) -> Result<PolicyRule, Unenforceable> {
    policy_rule(rule.to.as_deref(), rule.ports.as_deref())
}

/// An empty list of peers or ports is as good as none.
fn policy_rule(
    peers: Option<&[NetworkPolicyPeer]>,
    ports: Option<&[NetworkPolicyPort]>,
) -> Result<PolicyRule, Unenforceable> {
    let peers = peers.filter(|peers| !peers.is_empty());
    let ports = ports.filter(|ports| !ports.is_empty());
    Ok(PolicyRule {
        peers: peers.map(|peers| peers.iter().map(peer).collect()).transpose()?,
        ports: ports.map(|ports| ports.iter().map(port).collect()).transpose()?,
    })
}

fn peer(peer: &NetworkPolicyPeer) -> Result<Peer, Unenforceable> {
    let selects_pods = peer.pod_selector.is_some() || peer.namespace_selector.is_some();
    match &peer.ip_block {
        Some(_) if selects_pods => Err(Unenforceable::MixedPeer),
        Some(block) => Ok(Peer::Addresses(addresses(block)?)),
        None if selects_pods => Ok(Peer::Pods {
            namespaces: peer.namespace_selector.as_ref().map(Selector::read).transpose()?,
            pods: selector(peer.pod_selector.as_ref())?,
        }),
        None => Err(Unenforceable::EmptyPeer),
    }
}

fn addresses(block: &IPBlock) -> Result<Ranges, Unenforceable> {
    let except = block.except.iter().flatten();
    let except = except.map(|text| text.parse()).collect::<Result<Vec<Block>, _>>()?;
    let (whole, holes) = (Ranges::of(v4(block.cidr.parse()?)), Ranges::of(except.into_iter().filter_map(v4)));
    Ok(whole.without(&holes))
}

fn v4(block: Block) -> Option<Cidr> {
    match block {
        Block::V4(block) => Some(block),
        Block::V6 => None,
    }
}

fn port(port: &NetworkPolicyPort) -> Result<PolicyPort, Unenforceable> {
    let name = port.protocol.as_deref();
    let protocol =
        Protocol::read(name).ok_or_else(|| Unenforceable::Protocol(name.unwrap_or_default().to_owned()))?;
    let number = |number: i32| {
        u16::try_from(number).ok().filter(|number| *number > 0).ok_or(Unenforceable::Port(number))
    };
    match (&port.port, port.end_port) {
        (None, None) => Ok(PolicyPort::All(protocol)),
        (None, Some(to)) => Err(Unenforceable::Range { from: "none".into(), to }),
        (Some(IntOrString::String(name)), None) => Ok(PolicyPort::Named(protocol, name.clone())),
        (Some(IntOrString::String(name)), Some(to)) => Err(Unenforceable::Range { from: name.clone(), to }),
        (Some(IntOrString::Int(from)), to) => {
            let (first, last) = (number(*from)?, number(to.unwrap_or(*from))?);
            if last < first {
                return Err(Unenforceable::Range { from: from.to_string(), to: i32::from(last) });
            }
            Ok(PolicyPort::Numbers(protocol, first, last))
        }
    }
}
