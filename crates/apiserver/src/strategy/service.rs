//! Services: which address families they have, which addresses and ports they get, and what they lose when their type
//! changes. There is one address family, IPv4.

mod ports;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use super::allocation::{Pool, Refused, addresses_of, number, ports_of};
use super::cluster::Cluster;
use super::families;
use crate::defaults::is_externally_accessible;
use crate::field;
use crate::identity::GroupKind;
use crate::pointer::{copy, list, list_mut, remove, said, set, text};
use crate::status::Status;

pub(super) fn prepare_create(service: &mut Value, cluster: &dyn Cluster) -> Result<(), Status> {
    if said(service, "/spec/clusterIPs").is_none() && !text(service, "/spec/clusterIP").is_empty() {
        let address = text(service, "/spec/clusterIP").to_owned();
        set(service, "/spec/clusterIPs", json!([address]));
    }
    families::settle(service, None).map_err(|errors| invalid(service, &errors))?;
    let (mut addresses, mut numbers) = pools(cluster);
    allocate_address(service, &mut addresses)?;
    ports::allocate(service, &mut numbers)?;
    ports::allocate_health_check(service, &mut numbers)?;
    set(service, "/status", json!({"loadBalancer": {}}));
    Ok(())
}

pub(super) fn allocate_update(new: &mut Value, old: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    repeat_allocated(new, old);
    families::settle(new, Some(old)).map_err(|errors| invalid(new, &errors))?;
    let (mut addresses, mut numbers) = pools(cluster);
    if !needs_address(old) && needs_address(new) {
        allocate_address(new, &mut addresses)?;
    }
    if has_ports(new) {
        ports::update(new, old, &mut numbers)?;
    }
    if !needs_health_check(old) && needs_health_check(new) {
        ports::allocate_health_check(new, &mut numbers)?;
    }
    Ok(())
}

/// What a Service of the new type has no use for goes, unless the writer changed it: then validation has its say.
pub(super) fn forget_unused(new: &mut Value, old: &Value) {
    let is_same = |new: &Value, field: &str| new["spec"][field] == old["spec"][field];
    let forget = |new: &mut Value, fields: &[&str]| {
        if fields.iter().all(|field| is_same(new, field)) {
            for field in fields {
                remove(new, &format!("/spec/{field}"));
            }
        }
    };
    if needs_address(old) && !needs_address(new) {
        forget(new, &["clusterIP", "clusterIPs"]);
        forget(new, &["ipFamilies"]);
        forget(new, &["ipFamilyPolicy"]);
        remove(new, "/spec/internalTrafficPolicy");
    }
    if has_ports(old) && !has_ports(new) && ports::node_ports(new).is_subset(&ports::node_ports(old)) {
        for port in list_mut(new, "/spec/ports") {
            remove(port, "/nodePort");
        }
    }
    if needs_health_check(old) && !needs_health_check(new) {
        forget(new, &["healthCheckNodePort"]);
    }
    if is_type(old, "LoadBalancer") && !is_type(new, "LoadBalancer") {
        forget(new, &["allocateLoadBalancerNodePorts"]);
        forget(new, &["loadBalancerClass"]);
    }
    if is_external(old) && !is_external(new) {
        forget(new, &["externalTrafficPolicy"]);
    }
    if !is_type(new, "LoadBalancer") {
        set(new, "/status/loadBalancer", json!({}));
    }
}

fn is_type(service: &Value, kind: &str) -> bool {
    text(service, "/spec/type") == kind
}

fn needs_address(service: &Value) -> bool {
    !is_type(service, "ExternalName")
}

fn has_ports(service: &Value) -> bool {
    is_type(service, "NodePort") || is_type(service, "LoadBalancer")
}

/// A load balancer may do without.
fn gets_ports(service: &Value) -> bool {
    has_ports(service)
        && !(is_type(service, "LoadBalancer") && service["spec"]["allocateLoadBalancerNodePorts"] == false)
}

fn needs_health_check(service: &Value) -> bool {
    is_type(service, "LoadBalancer") && text(service, "/spec/externalTrafficPolicy") == "Local"
}

fn is_external(service: &Value) -> bool {
    service["spec"].as_object().is_some_and(is_externally_accessible)
}

/// What is free of all that the cluster has.
fn pools(cluster: &dyn Cluster) -> (Pool, Pool) {
    let (mut addresses, mut ports) = (BTreeSet::new(), BTreeSet::new());
    cluster.each(&GroupKind::new("", "Service"), &mut |service| {
        addresses.extend(addresses_of(service));
        ports.extend(ports_of(service));
    });
    (Pool::addresses(cluster.service_addresses(), addresses), Pool::ports(ports))
}

/// An update that does not repeat what was given out does not give it back.
fn repeat_allocated(new: &mut Value, old: &Value) {
    if needs_address(old) && needs_address(new) {
        if text(new, "/spec/clusterIP").is_empty() {
            copy(new, old, "/spec/clusterIP");
        }
        if list(new, "/spec/clusterIPs").is_empty() {
            copy(new, old, "/spec/clusterIPs");
        }
    }
    if gets_ports(old) && gets_ports(new) {
        ports::repeat(new, old);
    }
    let has_check = number(&new["spec"]["healthCheckNodePort"]).unwrap_or_default() != 0;
    if needs_health_check(old) && needs_health_check(new) && !has_check {
        copy(new, old, "/spec/healthCheckNodePort");
    }
    if text(old, "/spec/clusterIP") != text(new, "/spec/clusterIP")
        && old["spec"]["clusterIPs"] == new["spec"]["clusterIPs"]
    {
        match text(new, "/spec/clusterIP").to_owned() {
            none if none.is_empty() => drop(remove(new, "/spec/clusterIPs")),
            address => set(new, "/spec/clusterIPs", json!([address])),
        }
    }
}

fn allocate_address(service: &mut Value, pool: &mut Pool) -> Result<(), Status> {
    if !needs_address(service)
        || text(service, "/spec/clusterIPs/0") == "None"
        || !families::are_in_order(service)
    {
        return Ok(());
    }
    let address = match text(service, "/spec/clusterIPs/0") {
        "" => pool.next(&full_name(service)).ok_or_else(|| full(service))?,
        asked => {
            let Ok(address) = asked.parse::<Ipv4Addr>() else { return Ok(()) };
            pool.take(address.to_bits()).map_err(|refused| refuse_address(service, asked, &refused))?;
            address.to_bits()
        }
    };
    let address = Ipv4Addr::from_bits(address).to_string();
    set(service, "/spec/clusterIP", address.as_str());
    set(service, "/spec/clusterIPs", json!([address]));
    Ok(())
}

fn full_name(service: &Value) -> String {
    format!("{}/{}", text(service, "/metadata/namespace"), text(service, "/metadata/name"))
}

fn full(service: &Value) -> Status {
    let name = field::Quoted(text(service, "/metadata/name"));
    Status::internal(&format!("failed to allocate a serviceIP for Service {name}: range is full"))
}

fn refuse_address(service: &Value, address: &str, refused: &Refused) -> Status {
    let why = match refused {
        Refused::OutOfRange => "the provided network does not match the current range",
        Refused::Taken => "provided IP is already allocated",
    };
    let detail = format!("failed to allocate IP {address}: {why}");
    let asked = service["spec"]["clusterIPs"].clone();
    invalid(service, &[field::Error::invalid("spec.clusterIPs", asked, detail)])
}

/// The address family of an address.
pub(super) fn family(address: &str) -> &'static str {
    match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => "IPv4",
        Ok(IpAddr::V6(_)) => "IPv6",
        Err(_) => "",
    }
}

fn invalid(service: &Value, errors: &[field::Error]) -> Status {
    Status::invalid(&GroupKind::new("", "Service"), text(service, "/metadata/name"), errors)
}
