//! Services, Pods, and what is written about them.

use k8s_openapi::api::discovery::v1::Endpoint;
use serde_json::{Value, json};

use super::*;

fn service(spec: Value) -> Service {
    let metadata = json!({"namespace": "default", "name": "web", "uid": "s1", "labels": {"team": "blue"}});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

fn web() -> Service {
    service(
        json!({"clusterIP": "10.96.0.7", "selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "web"}]}),
    )
}

fn pod(number: u8, port: u16, ready: bool) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"namespace": "default", "name": format!("web-{number:03}"), "uid": format!("p{number:03}"), "labels": {"app": "web"}},
        "spec": {"nodeName": "here", "containers": [{"name": "main", "ports": [{"name": "web", "containerPort": port}]}]},
        "status": {"phase": "Running", "podIP": format!("10.1.0.{number}"), "podIPs": [{"ip": format!("10.1.0.{number}")}],
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]},
    }))
    .unwrap()
}

/// What the API server holds after a plan.
fn apply(slices: &mut Vec<EndpointSlice>, plan: Plan) {
    slices.retain(|slice| !plan.delete.iter().any(|key| slice.metadata.name.as_deref() == Some(&*key.name)));
    for slice in plan.update.into_iter().chain(plan.create) {
        slices.retain(|other| other.metadata.name != slice.metadata.name);
        slices.push(slice);
    }
}

fn endpoints(slice: &EndpointSlice) -> &[Endpoint] {
    slice.endpoints.as_deref().unwrap_or_default()
}

#[test]
fn a_slice_says_what_kube_controller_manager_would() {
    let plan = plan(&web(), [pod(2, 8080, true), pod(3, 8080, false)].iter(), [].iter());
    assert!(plan.update.is_empty() && plan.delete.is_empty());
    insta::assert_json_snapshot!(plan.create);
}

#[test]
fn pods_with_other_ports_get_slices_of_their_own() {
    let plan = plan(&web(), [pod(2, 8080, true), pod(3, 9090, true)].iter(), [].iter());
    let ports: Vec<_> = plan.create.iter().map(|slice| slice.ports.as_ref().unwrap()[0].port).collect();
    assert_eq!(ports, [Some(8080), Some(9090)]);
}

#[test]
fn what_is_right_is_not_written_again() {
    let mut slices = Vec::new();
    let pods: Vec<_> = (1..=250).map(|number| pod(number, 80, true)).collect();
    apply(&mut slices, plan(&web(), pods.iter(), [].iter()));
    assert_eq!(slices.iter().map(|slice| endpoints(slice).len()).collect::<Vec<_>>(), [100, 100, 50]);
    assert_eq!(plan(&web(), pods.iter(), slices.iter()), Plan::default());
}

#[test]
fn one_pod_that_goes_changes_one_slice() {
    let mut slices = Vec::new();
    let mut pods: Vec<_> = (1..=250).map(|number| pod(number, 80, true)).collect();
    apply(&mut slices, plan(&web(), pods.iter(), [].iter()));
    pods.remove(42);
    let plan = plan(&web(), pods.iter(), slices.iter());
    assert_eq!((plan.create.len(), plan.update.len(), plan.delete.len()), (0, 1, 0));
}

#[test]
fn a_service_that_selects_nobody_has_one_empty_slice() {
    let mut slices = Vec::new();
    apply(&mut slices, plan(&web(), [pod(2, 80, true)].iter(), [].iter()));
    let emptied = plan(&web(), [].iter(), slices.iter());
    apply(&mut slices, emptied);
    assert!(slices.len() == 1 && endpoints(&slices[0]).is_empty(), "{slices:?}");
    assert_eq!(plan(&web(), [].iter(), slices.iter()), Plan::default());
    (slices[0].endpoints, slices[0].ports) = (None, None);
    assert_eq!(
        plan(&web(), [].iter(), slices.iter()),
        Plan::default(),
        "as an API server may have stored it"
    );
}

#[test]
fn what_others_manage_is_left_alone() {
    let theirs: EndpointSlice = serde_json::from_value(json!({
        "metadata": {"namespace": "default", "name": "web-mine", "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4", "endpoints": [],
    }))
    .unwrap();
    assert!(plan(&web(), [].iter(), [theirs].iter()).delete.is_empty());
    let without = service(json!({"clusterIP": "10.96.0.7", "ports": [{"port": 80}]}));
    assert_eq!(plan(&without, [pod(2, 80, true)].iter(), [].iter()), Plan::default());
}

#[test]
fn pods_that_end_serve_until_they_have_ended() {
    let mut ending = pod(2, 80, true);
    ending.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    let mut ended = pod(3, 80, true);
    ended.status.as_mut().unwrap().phase = Some("Succeeded".into());
    let plan = plan(&web(), [ending, ended].iter(), [].iter());
    let conditions = endpoints(&plan.create[0])[0].conditions.clone().unwrap();
    assert_eq!(endpoints(&plan.create[0]).len(), 1);
    assert_eq!(
        (conditions.ready, conditions.serving, conditions.terminating),
        (Some(false), Some(true), Some(true))
    );
}

#[test]
fn a_pod_in_the_services_subdomain_brings_its_hostname() {
    let mut named = pod(2, 80, true);
    let spec = named.spec.as_mut().unwrap();
    (spec.hostname, spec.subdomain) = (Some("first".into()), Some("web".into()));
    let headless =
        service(json!({"clusterIP": "None", "selector": {"app": "web"}, "publishNotReadyAddresses": true}));
    let plan = plan(&headless, [named].iter(), [].iter());
    assert_eq!(endpoints(&plan.create[0])[0].hostname.as_deref(), Some("first"));
    assert!(plan.create[0].metadata.labels.as_ref().unwrap().contains_key(HEADLESS));
}
