//! Services with the EndpointSlices that a cluster writes for them.

use serde_json::{Value, json};

use super::*;

fn service(spec: Value) -> Service {
    serde_json::from_value(json!({"metadata": {"namespace": "default", "name": "web"}, "spec": spec}))
        .unwrap()
}

fn slice(ports: Value, endpoints: Value) -> EndpointSlice {
    serde_json::from_value(json!({
        "metadata": {"namespace": "default", "name": "web-1", "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4", "ports": ports, "endpoints": endpoints,
    }))
    .unwrap()
}

fn endpoint(address: &str, ready: bool, serving: bool, terminating: bool) -> Value {
    let conditions = json!({"ready": ready, "serving": serving, "terminating": terminating});
    json!({"addresses": [address], "conditions": conditions})
}

fn backends_of(spec: Value, slices: &[EndpointSlice]) -> Vec<Vec<String>> {
    let frontends = frontends(&service(spec), slices.iter());
    frontends.iter().map(|frontend| frontend.backends.iter().map(ToString::to_string).collect()).collect()
}

#[test]
fn ports_are_found_by_name_and_protocol() {
    let spec = json!({"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"], "ports": [
        {"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "none", "port": 1},
    ]});
    let ports = json!([
        {"name": "dns", "port": 5353, "protocol": "UDP"}, {"name": "http", "port": 8080, "protocol": "TCP"},
    ]);
    let slices = [slice(ports, json!([endpoint("10.1.0.2", true, true, false)]))];
    assert_eq!(backends_of(spec, &slices), [vec!["10.1.0.2:8080"], vec!["10.1.0.2:5353"], vec![]]);
}

#[test]
fn those_that_are_not_ready_get_nothing() {
    let spec = json!({"clusterIP": "10.96.0.7", "ports": [{"port": 80}]});
    let endpoints =
        json!([endpoint("10.1.0.2", false, false, false), endpoint("10.1.0.3", true, true, false)]);
    let slices = [slice(json!([{"name": "", "port": 80, "protocol": "TCP"}]), endpoints)];
    assert_eq!(backends_of(spec, &slices), [["10.1.0.3:80"]]);
}

#[test]
fn those_that_end_and_still_serve_stand_in_when_nobody_is_ready() {
    let spec = json!({"clusterIP": "10.96.0.7", "ports": [{"port": 80}]});
    let endpoints =
        json!([endpoint("10.1.0.2", false, true, true), endpoint("10.1.0.3", false, false, true)]);
    let slices = [slice(json!([{"port": 80}]), endpoints)];
    assert_eq!(backends_of(spec, &slices), [["10.1.0.2:80"]]);
}

#[test]
fn slices_of_other_services_and_families_are_left_alone() {
    let mut other = slice(json!([{"port": 80}]), json!([endpoint("10.1.0.2", true, true, false)]));
    other.metadata.namespace = Some("elsewhere".into());
    let mut v6 = slice(json!([{"port": 80}]), json!([endpoint("fd00::2", true, true, false)]));
    v6.address_type = "IPv6".into();
    let spec = json!({"clusterIP": "10.96.0.7", "ports": [{"port": 80}]});
    assert_eq!(backends_of(spec, &[other, v6]), [Vec::<String>::new()]);
}

#[test]
fn headless_services_and_external_names_have_no_address() {
    let none = json!({"clusterIP": "None", "ports": [{"port": 80}]});
    assert!(frontends(&service(none), std::iter::empty()).is_empty());
    let external = json!({"type": "ExternalName", "externalName": "example.com", "clusterIP": "10.96.0.7"});
    assert!(frontends(&service(external), std::iter::empty()).is_empty());
}

#[test]
fn affinity_lasts_three_hours_or_as_long_as_is_said() {
    let time = |spec| frontends(&service(spec), std::iter::empty())[0].affinity;
    let ports = json!([{"port": 80}]);
    assert_eq!(time(json!({"clusterIP": "10.96.0.7", "ports": ports})), None);
    let spec = json!({"clusterIP": "10.96.0.7", "ports": ports, "sessionAffinity": "ClientIP"});
    assert_eq!(time(spec), Some(Duration::from_hours(3)));
    let config = json!({"clientIP": {"timeoutSeconds": 60}});
    let spec = json!({"clusterIP": "10.96.0.7", "ports": ports, "sessionAffinity": "ClientIP",
        "sessionAffinityConfig": config});
    assert_eq!(time(spec), Some(Duration::from_mins(1)));
}
