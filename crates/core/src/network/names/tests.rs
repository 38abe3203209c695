//! Names as the specification lists them.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use super::*;
use crate::network::member::Member;
use crate::object::Key;

fn service(name: &str, spec: Value) -> Service {
    serde_json::from_value(json!({"metadata": {"namespace": "default", "name": name}, "spec": spec})).unwrap()
}

fn slice(service: &str, endpoints: Value) -> EndpointSlice {
    let metadata =
        json!({"namespace": "default", "name": "s", "labels": {"kubernetes.io/service-name": service}});
    serde_json::from_value(json!({
        "metadata": metadata, "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}], "endpoints": endpoints,
    }))
    .unwrap()
}

fn member(name: &str, last: u8) -> Member {
    Member {
        key: Key::new("default", name),
        uid: name.into(),
        address: Ipv4Addr::new(10, 1, 0, last),
        labels: BTreeMap::new(),
        ports: Vec::new(),
        has_token: false,
    }
}

fn names() -> Names {
    let services = [
        service("web", json!({"clusterIP": "10.96.0.7", "ports": [{"name": "http", "port": 80}]})),
        service("crew", json!({"clusterIP": "None", "ports": [{"name": "http", "port": 80}]})),
        service("far", json!({"type": "ExternalName", "externalName": "Example.COM."})),
        service("worker", json!({"clusterIP": "10.96.0.8"})),
    ];
    let endpoints = json!([
        {"addresses": ["10.1.0.2"], "hostname": "first"}, {"addresses": ["10.1.0.3"]},
        {"addresses": ["10.1.0.4"], "conditions": {"ready": false}},
    ]);
    let blocks = ["10.1.0.0/16", "10.96.0.0/16"].map(|block| block.parse().unwrap()).to_vec();
    build(
        "cluster.local",
        blocks,
        &services,
        &[slice("crew", endpoints)],
        &[member("agent", 9), member("worker", 10)],
    )
}

fn addresses(name: &str) -> Vec<String> {
    match names().answer(name, Question::Address) {
        Answer::Records(records) => records.iter().map(|record| format!("{record:?}")).collect(),
        other => vec![format!("{other:?}")],
    }
}

#[test]
fn a_service_is_its_address() {
    assert_eq!(addresses("web.default.svc.cluster.local"), ["Address(10.96.0.7)"]);
    assert_eq!(addresses("WEB.default.svc.Cluster.Local."), ["Address(10.96.0.7)"]);
}

#[test]
fn a_headless_service_is_its_ready_endpoints_and_each_has_a_name() {
    assert_eq!(addresses("crew.default.svc.cluster.local"), ["Address(10.1.0.2)", "Address(10.1.0.3)"]);
    assert_eq!(addresses("first.crew.default.svc.cluster.local"), ["Address(10.1.0.2)"]);
    assert_eq!(addresses("10-1-0-3.crew.default.svc.cluster.local"), ["Address(10.1.0.3)"]);
    assert_eq!(addresses("10-1-0-4.crew.default.svc.cluster.local"), ["NoSuchName"]);
}

#[test]
fn ports_have_names_too() {
    let ask = |name: &str| names().answer(name, Question::Service);
    let target = "web.default.svc.cluster.local".to_owned();
    assert_eq!(
        ask("_http._tcp.web.default.svc.cluster.local"),
        Answer::Records(vec![Record::Service { weight: 100, port: 80, target }])
    );
    let of = |label: &str| Record::Service {
        weight: 50,
        port: 8080,
        target: format!("{label}.crew.default.svc.cluster.local"),
    };
    assert_eq!(
        ask("_http._tcp.crew.default.svc.cluster.local"),
        Answer::Records(vec![of("first"), of("10-1-0-3")])
    );
}

#[test]
fn pods_are_found_by_address_and_by_name_unless_a_service_has_it() {
    assert_eq!(addresses("10-1-0-9.default.pod.cluster.local"), ["Address(10.1.0.9)"]);
    assert_eq!(addresses("10-1-0-8.default.pod.cluster.local"), ["NoSuchName"]);
    assert_eq!(addresses("agent.default.svc.cluster.local"), ["Address(10.1.0.9)"]);
    assert_eq!(addresses("worker.default.svc.cluster.local"), ["Address(10.96.0.8)"]);
}

#[test]
fn external_names_are_aliases_whatever_is_asked() {
    for question in [Question::Address, Question::Other] {
        let answer = names().answer("far.default.svc.cluster.local", question);
        assert_eq!(answer, Answer::Records(vec![Record::Alias("example.com".into())]));
    }
}

#[test]
fn addresses_have_names() {
    let ask = |address: [u8; 4]| names().answer(&reverse(address.into()), Question::Pointer);
    let pointer = |name: &str| Answer::Records(vec![Record::Pointer(format!("{name}.svc.cluster.local"))]);
    assert_eq!(ask([10, 96, 0, 7]), pointer("web.default"));
    assert_eq!(ask([10, 1, 0, 2]), pointer("first.crew.default"));
    assert_eq!(ask([10, 1, 0, 9]), pointer("agent.default"));
    assert_eq!(ask([10, 1, 0, 77]), Answer::NoSuchName);
    assert_eq!(ask([192, 0, 2, 1]), Answer::Foreign);
}

#[test]
fn names_on_the_way_exist_and_have_nothing() {
    assert_eq!(names().answer("default.svc.cluster.local", Question::Address), Answer::Nothing);
    assert_eq!(names().answer("web.default.svc.cluster.local", Question::Other), Answer::Nothing);
    assert_eq!(names().answer("nobody.default.svc.cluster.local", Question::Address), Answer::NoSuchName);
    assert_eq!(names().answer("example.com", Question::Address), Answer::Foreign);
    assert_eq!(names().answer("notcluster.local", Question::Address), Answer::Foreign);
}
