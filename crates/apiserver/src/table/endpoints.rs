//! The cells of endpoints and endpoint slices.

use std::slice;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::reading::{first_three, integer, items, name, text};

pub(super) fn slice_cells(object: &Value, now: Timestamp) -> Value {
    let ports = items(object, "/ports").map(port);
    let addresses = items(object, "/endpoints").flat_map(|endpoint| items(endpoint, "/addresses"));
    let addresses = addresses.map(|address| address.as_str().unwrap_or_default().to_owned());
    json!([
        name(object),
        text(object, "/addressType"),
        or_unset(first_three(ports)),
        or_unset(first_three(addresses)),
        age::of(object, now),
    ])
}

fn port(port: &Value) -> String {
    match (port.get("port"), port.get("name")) {
        (Some(Value::Number(number)), _) => number.to_string(),
        (_, Some(Value::String(name))) => name.clone(),
        _ => "*".to_owned(),
    }
}

fn or_unset(list: String) -> String {
    if list.is_empty() { "<unset>".to_owned() } else { list }
}

/// All addresses of all subsets, with each port that they have.
pub(super) fn addresses(object: &Value) -> String {
    match items(object, "/subsets").as_slice() {
        [] => "<none>".to_owned(),
        subsets => first_three(subsets.iter().flat_map(subset_addresses)),
    }
}

fn subset_addresses(subset: &Value) -> Box<dyn Iterator<Item = String> + '_> {
    let ips = || items(subset, "/addresses").map(|address| text(address, "/ip"));
    let ports: slice::Iter<'_, Value> = items(subset, "/ports");
    if ports.as_slice().is_empty() {
        return Box::new(ips().map(str::to_owned));
    }
    Box::new(ports.flat_map(move |port| ips().map(|ip| host_and_port(ip, integer(port, "/port")))))
}

fn host_and_port(ip: &str, port: i64) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}
