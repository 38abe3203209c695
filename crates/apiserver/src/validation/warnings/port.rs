//! Ports of containers that get in each other's way.

use std::collections::BTreeMap;

use super::Remarks;
use super::container::LISTS;
use crate::field::Quoted;
use crate::validation::at::At;

/// A port, and where it is said.
struct Known<'v> {
    place: String,
    host_address: &'v str,
    host_port: i64,
}

pub(super) fn all(spec: &At, remarks: &mut Remarks) {
    let mut known: BTreeMap<(i64, &str), Vec<Known>> = BTreeMap::new();
    each(spec, |port| {
        let (host_address, host_port) = (port.text_of("hostIP"), port.integer_of("hostPort"));
        if !host_address.is_empty() && host_port == 0 {
            remarks.add(port, format!("hostIP set without hostPort: {}", shown(port)));
        }
        let others = known.entry((port.integer_of("containerPort"), port.text_of("protocol"))).or_default();
        let new = Known { place: port.place(), host_address, host_port };
        for other in others.iter() {
            if let Some(trouble) = trouble(&new, other) {
                remarks.add(port, format!("{trouble} port definition with {}", other.place));
            }
        }
        others.push(new);
    });
    names(spec, remarks);
}

fn each<'v>(spec: &At<'v, '_>, mut visit: impl FnMut(&At<'v, '_>)) {
    for list in LISTS {
        for container in spec.field(list).items() {
            container.field("ports").items().for_each(|port| visit(&port));
        }
    }
}

/// What two are to each other that have the same number and protocol.
fn trouble(one: &Known, other: &Known) -> Option<&'static str> {
    if (one.host_address, one.host_port) == (other.host_address, other.host_port) {
        return Some("duplicate");
    }
    if one.host_port == 0 || other.host_port == 0 {
        return Some("overlapping");
    }
    let is_one_open = one.host_address.is_empty() != other.host_address.is_empty();
    (one.host_port == other.host_port && is_one_open).then_some("dangerously ambiguous")
}

/// As Go shows a port.
fn shown(port: &At) -> String {
    format!(
        "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
        port.text_of("name"),
        port.integer_of("hostPort"),
        port.integer_of("containerPort"),
        port.text_of("protocol"),
        port.text_of("hostIP")
    )
}

fn names(spec: &At, remarks: &mut Remarks) {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    each(spec, |port| {
        let name = port.text_of("name");
        match known.get(name) {
            _ if name.is_empty() => {}
            None => {
                known.insert(name, port.place());
            }
            Some(first) => {
                let name = Quoted(name);
                let remark = format!(
                    "duplicate port name {name} with {first}, services and probes that select ports by name will use \
                     {first}"
                );
                remarks.add(port, remark);
            }
        }
    });
}
