//! What a Service's address stands for: the backends of its ports, from its EndpointSlices, as kube-proxy chooses them.

#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::member::Protocol;
use crate::object::Key;

/// One port of one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontend {
    pub service: Key,
    pub address: Ipv4Addr,
    pub protocol: Protocol,
    pub port: u16,
    /// In order, each once. None is a port on which nobody answers.
    pub backends: Vec<SocketAddrV4>,
    /// How long a client keeps its backend.
    pub affinity: Option<Duration>,
}

/// Three hours, where a Service with affinity does not say.
const AFFINITY: i32 = 10_800;

/// The ports of all Services.
pub fn all_frontends(
    services: &[impl Borrow<Service>],
    slices: &[impl Borrow<EndpointSlice>],
) -> Vec<Frontend> {
    let slices = by_service(slices);
    let own = |service: &Service| key(service).and_then(|key| slices.get(&key)).into_iter().flatten();
    let services = services.iter().map(Borrow::borrow);
    services.flat_map(|service| frontends(service, own(service).copied())).collect()
}

/// Slices by the Service whose backends they hold. Those of other families than IPv4 are left out.
pub(super) fn by_service(slices: &[impl Borrow<EndpointSlice>]) -> BTreeMap<Key, Vec<&EndpointSlice>> {
    let mut sorted: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for slice in slices.iter().map(Borrow::borrow) {
        if let Some(service) = service_of(slice).filter(|_| slice.address_type == "IPv4") {
            sorted.entry(service).or_default().push(slice);
        }
    }
    sorted
}

pub(super) fn service_of(slice: &EndpointSlice) -> Option<Key> {
    let service = slice.metadata.labels.as_ref()?.get("kubernetes.io/service-name")?;
    Some(Key::new(slice.metadata.namespace.as_deref()?, service))
}

/// All ports of a Service's cluster addresses. Headless Services and external names have none.
pub fn frontends<'a>(service: &Service, slices: impl Iterator<Item = &'a EndpointSlice>) -> Vec<Frontend> {
    let Some(spec) = service.spec.as_ref().filter(|spec| spec.type_.as_deref() != Some("ExternalName"))
    else {
        return Vec::new();
    };
    let Some(key) = key(service) else { return Vec::new() };
    let slices: Vec<_> = slices.filter(|slice| belongs(slice, &key)).collect();
    let ports = spec.ports.iter().flatten().filter_map(|port| Some((port, read(port)?)));
    let ports: Vec<_> = ports.map(|(port, read)| (read, backends(&slices, port))).collect();
    let addresses = cluster_addresses(spec);
    let each = addresses.iter().flat_map(|address| ports.iter().map(move |port| (*address, port)));
    each.map(|(address, ((protocol, port), backends))| Frontend {
        service: key.clone(),
        address,
        protocol: *protocol,
        port: *port,
        backends: backends.clone(),
        affinity: affinity(spec),
    })
    .collect()
}

pub fn key(service: &Service) -> Option<Key> {
    Some(Key::new(service.metadata.namespace.as_deref()?, service.metadata.name.as_deref()?))
}

/// The IPv4 ones. A headless Service says `None`.
pub(super) fn cluster_addresses(spec: &ServiceSpec) -> Vec<Ipv4Addr> {
    let several = spec.cluster_ips.iter().flatten();
    let all = several.chain(&spec.cluster_ip).filter_map(|text| text.parse().ok());
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

pub(super) fn belongs(slice: &EndpointSlice, service: &Key) -> bool {
    let label = slice.metadata.labels.as_ref().and_then(|labels| labels.get("kubernetes.io/service-name"));
    slice.address_type == "IPv4"
        && slice.metadata.namespace.as_deref() == Some(&*service.namespace)
        && label.is_some_and(|name| **name == *service.name)
}

fn read(port: &ServicePort) -> Option<(Protocol, u16)> {
    Some((Protocol::read(port.protocol.as_deref())?, u16::try_from(port.port).ok()?))
}

fn affinity(spec: &ServiceSpec) -> Option<Duration> {
    (spec.session_affinity.as_deref() == Some("ClientIP")).then(|| {
        let config = spec.session_affinity_config.as_ref().and_then(|config| config.client_ip.as_ref());
        let seconds = config.and_then(|config| config.timeout_seconds).unwrap_or(AFFINITY);
        Duration::from_secs(u64::from(seconds.unsigned_abs()).max(1))
    })
}

/// Those that are ready; if there are none, those that end and still serve.
fn backends(slices: &[&EndpointSlice], port: &ServicePort) -> Vec<SocketAddrV4> {
    let chosen = |is_wanted: fn(&Endpoint) -> bool| -> Vec<_> {
        let each = slices.iter().flat_map(|slice| {
            let number = number(slice, port);
            let endpoints = slice.endpoints.iter().flatten().filter(move |endpoint| is_wanted(endpoint));
            endpoints.filter_map(move |endpoint| Some(SocketAddrV4::new(address(endpoint)?, number?)))
        });
        each.collect::<BTreeSet<_>>().into_iter().collect()
    };
    let ready = chosen(is_ready);
    if ready.is_empty() { chosen(still_serves) } else { ready }
}

/// The port of a slice with the same name and protocol.
fn number(slice: &EndpointSlice, port: &ServicePort) -> Option<u16> {
    let (name, protocol) =
        (port.name.as_deref().unwrap_or_default(), Protocol::read(port.protocol.as_deref()));
    let mut ports = slice.ports.iter().flatten();
    let same = ports.find(|other| {
        other.name.as_deref().unwrap_or_default() == name
            && Protocol::read(other.protocol.as_deref()) == protocol
    })?;
    u16::try_from(same.port?).ok()
}

/// All addresses of an endpoint are of the same Pod; the first will do.
pub(super) fn address(endpoint: &Endpoint) -> Option<Ipv4Addr> {
    endpoint.addresses.first()?.parse().ok()
}

/// Nothing said means yes.
pub(super) fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
}

fn still_serves(endpoint: &Endpoint) -> bool {
    let conditions = endpoint.conditions.clone().unwrap_or_default();
    conditions.terminating == Some(true) && conditions.serving.unwrap_or(true)
}
