//! Services: which address families they have, which addresses and ports they get, and what they lose when their type
//! changes. There is one address family, IPv4.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use super::allocation::{Pool, Refused, addresses_of, number, ports_of};
use super::cluster::Cluster;
use super::families;
use super::fields::{copy, list, list_mut, remove, said, set, text};
use crate::defaults::is_externally_accessible;
use crate::field;
use crate::identity::GroupKind;
use crate::status::Status;

pub(super) fn prepare_create(service: &mut Value, cluster: &dyn Cluster) -> Result<(), Status> {
    if said(service, "/spec/clusterIPs").is_none() && !text(service, "/spec/clusterIP").is_empty() {
        let address = text(service, "/spec/clusterIP").to_owned();
        set(service, "/spec/clusterIPs", json!([address]));
    }
    families::settle(service, None).map_err(|errors| invalid(service, &errors))?;
    let (mut addresses, mut ports) = pools(cluster);
    allocate_address(service, &mut addresses)?;
    allocate_ports(service, &mut ports)?;
    allocate_health_check(service, &mut ports)?;
    set(service, "/status", json!({"loadBalancer": {}}));
    Ok(())
}

pub(super) fn allocate_update(new: &mut Value, old: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    repeat_allocated(new, old);
    families::settle(new, Some(old)).map_err(|errors| invalid(new, &errors))?;
    let (mut addresses, mut ports) = pools(cluster);
    if !needs_address(old) && needs_address(new) {
        allocate_address(new, &mut addresses)?;
    }
    if has_ports(new) {
        update_ports(new, old, &mut ports)?;
    }
    if !needs_health_check(old) && needs_health_check(new) {
        allocate_health_check(new, &mut ports)?;
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
    if has_ports(old) && !has_ports(new) && node_ports(new).is_subset(&node_ports(old)) {
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

fn node_ports(service: &Value) -> BTreeSet<u32> {
    list(service, "/spec/ports").iter().filter_map(port_number).collect()
}

/// The node port that a port has.
fn port_number(port: &Value) -> Option<u32> {
    number(&port["nodePort"]).filter(|port| *port != 0)
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
        repeat_ports(new, old);
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

/// Ports are known again by their names.
fn repeat_ports(new: &mut Value, old: &Value) {
    let taken: BTreeSet<u32> = node_ports(new).intersection(&node_ports(old)).copied().collect();
    let named = |port: &Value| Some((text(port, "/name").to_owned(), port_number(port)?));
    let known: BTreeMap<String, u32> = list(old, "/spec/ports").iter().filter_map(named).collect();
    for port in list_mut(new, "/spec/ports").iter_mut().filter(|port| port.is_object()) {
        let before = known.get(text(port, "/name")).filter(|before| !taken.contains(before));
        if let (None, Some(before)) = (port_number(port), before) {
            set(port, "/nodePort", *before);
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

/// Ports with the same number, for different protocols, share a node port.
fn allocate_ports(service: &mut Value, pool: &mut Pool) -> Result<(), Status> {
    if !has_ports(service) {
        return Ok(());
    }
    let (name, gets_ports) = (full_name(service), gets_ports(service));
    let asked = asked_ports(service);
    let mut shared: BTreeMap<u32, u32> = BTreeMap::new();
    for index in 0..list(service, "/spec/ports").len() {
        let port = &list(service, "/spec/ports")[index];
        let Some(number) = number(&port["port"]) else { continue };
        let given = match (port_number(port), shared.get(&number)) {
            (None, _) if !gets_ports => continue,
            (None, Some(shared)) => *shared,
            (Some(own), Some(shared)) if own == *shared => own,
            (Some(own), Some(_)) => taken(pool, service, index, own)?,
            (_, None) => match asked.get(&number) {
                Some(asked) => taken(pool, service, index, *asked)?,
                None => pool.next(&name).ok_or_else(no_more_ports)?,
            },
        };
        shared.entry(number).or_insert(given);
        set(&mut list_mut(service, "/spec/ports")[index], "/nodePort", given);
    }
    Ok(())
}

/// The first node port that is asked for, by the port of the Service.
fn asked_ports(service: &Value) -> BTreeMap<u32, u32> {
    let mut asked = BTreeMap::new();
    for port in list(service, "/spec/ports") {
        if let (Some(number), Some(own)) = (number(&port["port"]), port_number(port)) {
            asked.entry(number).or_insert(own);
        }
    }
    asked
}

fn taken(pool: &mut Pool, service: &Value, index: usize, port: u32) -> Result<u32, Status> {
    pool.take(port).map(|()| port).map_err(|refused| {
        let place = format!("spec.ports[{index}].nodePort");
        invalid(service, &[field::Error::invalid(place, port, why(&refused))])
    })
}

fn why(refused: &Refused) -> &'static str {
    match refused {
        Refused::OutOfRange => {
            "provided port is not in the valid range. The range of valid ports is 30000-32767"
        }
        Refused::Taken => "provided port is already allocated",
    }
}

fn no_more_ports() -> Status {
    Status::internal("failed to allocate a nodePort: range is full")
}

/// Ports that the Service had are its own.
fn update_ports(new: &mut Value, old: &Value, pool: &mut Pool) -> Result<(), Status> {
    let (name, gets_ports) = (full_name(new), gets_ports(new));
    let mut mine = node_ports(old);
    let mut seen = BTreeSet::new();
    for index in 0..list(new, "/spec/ports").len() {
        let port = &list(new, "/spec/ports")[index];
        let protocol = text(port, "/protocol").to_owned();
        let given = match port_number(port) {
            None if !gets_ports || !port.is_object() => continue,
            None => pool.next(&name).ok_or_else(no_more_ports)?,
            Some(own) if mine.contains(&own) => own,
            Some(own) => taken(pool, new, index, own)?,
        };
        mine.insert(given);
        set(&mut list_mut(new, "/spec/ports")[index], "/nodePort", given);
        if !seen.insert((protocol.clone(), given)) {
            return Err(Status::new(500, "", format!("duplicate nodePort: {{{protocol} {given}}}")));
        }
    }
    Ok(())
}

fn allocate_health_check(service: &mut Value, pool: &mut Pool) -> Result<(), Status> {
    if !needs_health_check(service) {
        return Ok(());
    }
    let Some(asked) = number(&service["spec"]["healthCheckNodePort"]).filter(|port| *port != 0) else {
        let port = pool.next(&full_name(service)).ok_or_else(no_more_ports)?;
        set(service, "/spec/healthCheckNodePort", port);
        return Ok(());
    };
    pool.take(asked).map_err(|refused| {
        let why = why(&refused);
        Status::internal(&format!("failed to allocate requested HealthCheck NodePort {asked}: {why}"))
    })
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
