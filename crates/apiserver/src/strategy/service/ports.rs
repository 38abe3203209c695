//! The node ports of Services, one for each port and one for health checks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{full_name, gets_ports, has_ports, invalid, needs_health_check};
use crate::field;
use crate::pointer::{list, list_mut, set, text};
use crate::status::Status;
use crate::strategy::allocation::{Pool, Refused, number};

/// Ports with the same number, for different protocols, share a node port.
pub(super) fn allocate(service: &mut Value, pool: &mut Pool) -> Result<(), Status> {
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
pub(super) fn update(new: &mut Value, old: &Value, pool: &mut Pool) -> Result<(), Status> {
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

pub(super) fn allocate_health_check(service: &mut Value, pool: &mut Pool) -> Result<(), Status> {
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

/// Ports are known again by their names.
pub(super) fn repeat(new: &mut Value, old: &Value) {
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

pub(super) fn node_ports(service: &Value) -> BTreeSet<u32> {
    list(service, "/spec/ports").iter().filter_map(port_number).collect()
}

/// The node port that a port has.
fn port_number(port: &Value) -> Option<u32> {
    number(&port["nodePort"]).filter(|port| *port != 0)
}
