//! The ports of a Sandbox's Service, derived from those of its containers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// A port and its protocol: what makes two ports the same.
type Pair = (i64, String);

/// One entry for each port of the containers and of the sidecars, sorted, every one with a name. Null where there are none.
pub(super) fn derive(pod_spec: &Value) -> Value {
    let mut names: BTreeMap<Pair, Option<String>> = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for (pair, name) in declared(pod_spec) {
        let chosen = names.entry(pair).or_default();
        if chosen.is_none() && name.is_some_and(|name| taken.insert(name.to_owned())) {
            *chosen = name.map(str::to_owned);
        }
    }
    let ports: Vec<_> = names
        .into_iter()
        .map(|(pair, name)| {
            let name = name.unwrap_or_else(|| make_up(&pair, &mut taken));
            entry(&pair, &name)
        })
        .collect();
    if ports.is_empty() { Value::Null } else { ports.into() }
}

/// Whether ports as the API server shows them are those, whatever it has added.
pub(super) fn are_same(present: &Value, wanted: &Value) -> bool {
    let present: Vec<_> = present.as_array().into_iter().flatten().map(plain).collect();
    let wanted = wanted.as_array().into_iter().flatten();
    present.iter().eq(wanted)
}

fn plain(port: &Value) -> Value {
    let protocol = port["protocol"].as_str().unwrap_or(TCP);
    let target = if port["targetPort"].is_null() { &port["port"] } else { &port["targetPort"] };
    json!({"name": port["name"], "port": port["port"], "protocol": protocol, "targetPort": target})
}

const TCP: &str = "TCP";

/// The ports that containers and sidecars (init containers that run on) declare, in their order, with their names.
fn declared(pod_spec: &Value) -> impl Iterator<Item = (Pair, Option<&str>)> {
    let list = |field: &str| pod_spec[field].as_array().into_iter().flatten();
    let sidecars = list("initContainers").filter(|container| container["restartPolicy"] == "Always");
    let ports =
        list("containers").chain(sidecars).flat_map(|it| it["ports"].as_array().into_iter().flatten());
    ports.filter_map(|port| {
        let number = port["containerPort"].as_i64().filter(|number| *number != 0)?;
        let protocol = port["protocol"].as_str().filter(|protocol| !protocol.is_empty()).unwrap_or(TCP);
        Some(((number, protocol.to_owned()), port["name"].as_str().filter(|name| !name.is_empty())))
    })
}

fn make_up((port, protocol): &Pair, taken: &mut BTreeSet<String>) -> String {
    let plain = format!("p-{port}-{}", protocol.to_lowercase());
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name));
    let name = free.expect("there is always another number");
    taken.insert(name.clone());
    name
}

fn entry((port, protocol): &Pair, name: &str) -> Value {
    json!({"name": name, "port": port, "protocol": protocol, "targetPort": port})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(spec: &Value) -> Vec<String> {
        let ports = derive(spec);
        let entry =
            |port: &Value| format!("{}={}/{}", port["name"], port["port"], port["protocol"]).replace('"', "");
        ports.as_array().into_iter().flatten().map(entry).collect()
    }

    #[test]
    fn ports_are_sorted_and_each_is_there_once() {
        let spec = json!({"containers": [
            {"ports": [{"containerPort": 9000}, {"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}]},
            {"ports": [{"containerPort": 9000, "protocol": "TCP"}, {"containerPort": 0}]},
        ]});
        assert_eq!(names(&spec), ["p-53-tcp=53/TCP", "p-53-udp=53/UDP", "p-9000-tcp=9000/TCP"]);
    }

    #[test]
    fn the_first_name_counts_unless_another_port_has_it() {
        let spec = json!({"containers": [{"ports": [
            {"containerPort": 80}, {"containerPort": 80, "name": "web"}, {"containerPort": 80, "name": "late"},
            {"containerPort": 81, "name": "web"},
        ]}]});
        assert_eq!(names(&spec), ["web=80/TCP", "p-81-tcp=81/TCP"]);
    }

    #[test]
    fn a_made_up_name_that_is_taken_is_numbered() {
        let spec = json!({"containers": [{"ports": [
            {"containerPort": 70, "name": "p-80-tcp"}, {"containerPort": 71, "name": "p-80-tcp-2"}, {"containerPort": 80},
        ]}]});
        assert_eq!(names(&spec)[2], "p-80-tcp-3=80/TCP");
    }

    #[test]
    fn of_the_init_containers_only_sidecars_have_ports() {
        let spec = json!({"containers": [{}], "initContainers": [
            {"ports": [{"containerPort": 1}]}, {"restartPolicy": "Always", "ports": [{"containerPort": 2}]},
        ]});
        assert_eq!(names(&spec), ["p-2-tcp=2/TCP"]);
    }

    #[test]
    fn without_ports_there_is_no_list() {
        assert_eq!(derive(&json!({"containers": [{}]})), Value::Null);
        assert!(are_same(&Value::Null, &Value::Null));
    }

    #[test]
    fn what_the_api_server_fills_in_is_no_difference() {
        let wanted = derive(&json!({"containers": [{"ports": [{"containerPort": 80, "name": "web"}]}]}));
        let shown = json!([{"name": "web", "port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 0}]);
        assert!(are_same(&shown, &wanted));
        assert!(!are_same(&json!([{"name": "web", "port": 81}]), &wanted));
    }
}
