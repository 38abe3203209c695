//! All names, from Services, their endpoints, and Pods.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use crate::network::cidr::Cidr;
use crate::network::member::{Member, Protocol};
use crate::network::services;
use crate::object::Key;

use super::{Names, Record, reverse};

/// The version of Kubernetes' specification that the names follow.
const SPECIFICATION: &str = "1.1.0";
/// What the weights of one answer add up to.
const WEIGHTS: usize = 100;

pub fn build(
    zone: &str,
    blocks: Vec<Cidr>,
    services: &[impl Borrow<Service>],
    slices: &[impl Borrow<EndpointSlice>],
    members: &[Member],
) -> Names {
    let slices = services::by_service(slices);
    let zone = zone.trim_matches('.').to_ascii_lowercase();
    let mut names = Names { zone: zone.clone(), blocks, ..Names::default() };
    names.add(&format!("dns-version.{zone}"), Record::Text(SPECIFICATION.to_owned()));
    for service in services.iter().map(Borrow::borrow) {
        let Some(key) = services::key(service) else { continue };
        names.service(service, &key, slices.get(&key).map_or(&[], Vec::as_slice));
    }
    for member in members {
        names.pod(member);
    }
    names
}

impl Names {
    fn service(&mut self, service: &Service, key: &Key, slices: &[&EndpointSlice]) {
        let Some(spec) = service.spec.as_ref() else { return };
        let own = format!("{}.{}.svc.{}", key.name, key.namespace, self.zone);
        if spec.type_.as_deref() == Some("ExternalName") {
            let target = spec.external_name.clone().unwrap_or_default();
            return self.add(&own, Record::Alias(target.trim_end_matches('.').to_ascii_lowercase()));
        }
        let addresses = services::cluster_addresses(spec);
        if addresses.is_empty() {
            return self.headless(&own, slices);
        }
        for address in addresses {
            self.add(&own, Record::Address(address));
            self.add(&reverse(address), Record::Pointer(own.clone()));
        }
        for port in spec.ports.iter().flatten() {
            if let Some((name, number)) = port_name(port, &own) {
                self.add(&name, Record::Service { weight: 100, port: number, target: own.clone() });
            }
        }
    }

    /// A headless Service means its endpoints, each of which has a name of its own below it.
    fn headless(&mut self, own: &str, slices: &[&EndpointSlice]) {
        self.node(own);
        let ready = |slice: &'_ EndpointSlice| {
            slice.endpoints.iter().flatten().filter(|endpoint| services::is_ready(endpoint)).count()
        };
        let count = slices.iter().map(|slice| ready(slice)).sum::<usize>().max(1);
        let weight = u16::try_from((WEIGHTS / count).max(1)).unwrap_or(1);
        let mut seen = BTreeSet::new();
        for (slice, endpoint) in
            slices.iter().flat_map(|slice| slice.endpoints.iter().flatten().map(move |one| (slice, one)))
        {
            let Some(address) = services::address(endpoint).filter(|_| services::is_ready(endpoint)) else {
                continue;
            };
            let target = format!("{}.{own}", label(endpoint, address));
            if seen.insert((target.clone(), address)) {
                self.add(own, Record::Address(address));
                self.add(&target, Record::Address(address));
                self.add(&reverse(address), Record::Pointer(target.clone()));
            }
            for (name, port) in slice_ports(slice, own) {
                self.add(&name, Record::Service { weight, port, target: target.clone() });
            }
        }
    }

    fn pod(&mut self, member: &Member) {
        let (name, namespace) = (member.key.name.to_ascii_lowercase(), &member.key.namespace);
        let dashed = dashed(member.address);
        self.add(&format!("{dashed}.{namespace}.pod.{}", self.zone), Record::Address(member.address));
        let plain = format!("{name}.{namespace}.svc.{}", self.zone);
        if !self.nodes.contains_key(&plain) {
            self.add(&plain, Record::Address(member.address));
            let pointer = reverse(member.address);
            if !self.nodes.contains_key(&pointer) {
                self.add(&pointer, Record::Pointer(plain));
            }
        }
    }

    fn add(&mut self, name: &str, record: Record) {
        self.node(name);
        let records = self.nodes.get_mut(name).expect("it was made above");
        if !records.contains(&record) {
            records.push(record);
        }
    }

    /// The name and those on the way to it exist. Ways to addresses' names go through others' land.
    fn node(&mut self, name: &str) {
        let mut rest = Some(name);
        while let Some(name) = rest {
            self.nodes.entry(name.to_owned()).or_default();
            let parent = name.split_once('.').map(|(_, parent)| parent);
            rest = parent.filter(|_| !name.ends_with("in-addr.arpa") && name != self.zone);
        }
    }
}

fn port_name(port: &ServicePort, service: &str) -> Option<(String, u16)> {
    let protocol = Protocol::read(port.protocol.as_deref())?;
    let name = port.name.as_deref().filter(|name| !name.is_empty())?;
    Some((srv(name, protocol, service), u16::try_from(port.port).ok()?))
}

fn slice_ports(slice: &EndpointSlice, service: &str) -> Vec<(String, u16)> {
    let each = slice.ports.iter().flatten().filter_map(|port| {
        let protocol = Protocol::read(port.protocol.as_deref())?;
        let name = port.name.as_deref().filter(|name| !name.is_empty())?;
        Some((srv(name, protocol, service), u16::try_from(port.port?).ok()?))
    });
    each.collect()
}

fn srv(port: &str, protocol: Protocol, service: &str) -> String {
    format!("_{port}._{}.{service}", protocol.name().to_ascii_lowercase())
}

/// The hostname of a Pod that is in the Service's subdomain, otherwise its address.
fn label(endpoint: &Endpoint, address: Ipv4Addr) -> String {
    let hostname = endpoint.hostname.as_deref().filter(|name| !name.is_empty());
    hostname.map_or_else(|| dashed(address), str::to_ascii_lowercase)
}

fn dashed(address: Ipv4Addr) -> String {
    address.to_string().replace('.', "-")
}
