//! What cannot be seen in one recorded write: the other ways of writing, and what is given out.

use serde_json::json;

use super::world::World;
use super::*;

fn pod_kind() -> GroupKind {
    GroupKind::new("", "Pod")
}

fn noon() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn binding(target: Value) -> Value {
    json!({"metadata": {"name": "a", "annotations": {"x/y": "z"}, "labels": {"l": "m"}}, "target": target})
}

fn pending() -> Value {
    json!({"metadata": {"name": "a"}, "spec": {}, "status": {"phase": "Pending", "nominatedNodeName": "m"}})
}

#[test]
fn a_binding_puts_a_pod_on_a_node() {
    let mut pod = pending();
    bind(&mut pod, &binding(json!({"kind": "Node", "name": "n"})), noon()).unwrap();
    let bound = json!({
        "metadata": {"name": "a", "annotations": {"x/y": "z"}, "labels": {"l": "m"}},
        "spec": {"nodeName": "n"},
        "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True",
                   "lastProbeTime": null, "lastTransitionTime": "2026-11-15T12:00:00Z"}]},
    });
    assert_eq!(pod, bound);
}

#[test]
fn a_binding_is_for_the_pod_that_it_means() {
    let node = json!({"kind": "Node", "name": "n"});
    let mut pod = pending();
    pod["metadata"] = json!({"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7"});
    let bound = |field: &str, value: &str| {
        let mut binding = binding(node.clone());
        binding["metadata"][field] = value.into();
        bind(&mut pod.clone(), &binding, noon()).map_err(|status| (status.code, status.message))
    };
    assert_eq!((bound("uid", "u"), bound("resourceVersion", "7")), (Ok(()), Ok(())));
    let start = "Operation cannot be fulfilled on pods \"a\": StorageError: invalid object, Code: 4, Key: \
                 /registry/pods/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ";
    let message = format!("{start}UID in precondition: other, UID in object meta: u");
    assert_eq!(bound("uid", "other"), Err((409, message)));
    let message = format!("{start}ResourceVersion in precondition: 1, ResourceVersion in object meta: 7");
    assert_eq!(bound("resourceVersion", "1"), Err((409, message)));
}

#[test]
fn bindings_that_cannot_be_are_refused_in_the_words_of_the_real_server() {
    let refused = |pod: &Value, binding: &Value| {
        let status = bind(&mut pod.clone(), binding, noon()).unwrap_err();
        (status.code, status.message)
    };
    let node = binding(json!({"kind": "Node", "name": "n"}));
    let mut taken = pending();
    pointer::set(&mut taken, "/spec/nodeName", "m");
    let conflict = "Operation cannot be fulfilled on pods/binding \"a\": ";
    let message = format!("{conflict}pod a is already assigned to node \"m\"");
    assert_eq!(refused(&taken, &node), (409, message));
    let mut leaving = pending();
    pointer::set(&mut leaving, "/metadata/deletionTimestamp", "2026-11-15T12:00:00Z");
    let message = format!("{conflict}pod a is being deleted, cannot be assigned to a host");
    assert_eq!(refused(&leaving, &node), (409, message));
    let mut gated = pending();
    pointer::push(&mut gated, "/spec/schedulingGates", json!({"name": "g"}));
    assert_eq!(refused(&gated, &node), (409, format!("{conflict}pod a has non-empty .spec.schedulingGates")));
    let message =
        "target.kind: Unsupported value: \"Foo\": supported values: \"Node\", \"<empty>\"".to_owned();
    assert_eq!(refused(&pending(), &binding(json!({"kind": "Foo", "name": "n"}))), (500, message));
    let message = "target.name: Required value".to_owned();
    assert_eq!(refused(&pending(), &binding(json!({"kind": "Node"}))), (500, message));
    let message = "name in URL does not match name in Binding object".to_owned();
    assert_eq!(refused(&json!({"metadata": {"name": "b"}}), &node), (400, message));
}

#[derive(serde::Deserialize)]
struct Shapes {
    core: Value,
    v1: Value,
}

#[test]
fn an_event_has_both_shapes_of_the_real_server() {
    let events: Vec<Shapes> = serde_saphyr::from_str(include_str!("cases/events.yaml")).unwrap();
    for event in events {
        assert_eq!(event_to_v1(event.core.clone()), event.v1);
        assert_eq!(event_to_core(event.v1), event.core);
    }
}

fn service(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "n"}, "spec": spec})
}

fn made(world: &World, mut service: Value) -> Result<Value, Status> {
    let kind = GroupKind::new("", "Service");
    defaults::apply_again(&kind, &mut service);
    prepare_create(&kind, &mut service, world, noon())?;
    Ok(service)
}

#[test]
fn every_service_gets_an_address_of_its_own_until_there_are_none() {
    let mut world = World::default();
    for index in 0..254 {
        let next = made(&world, service(&format!("s{index}"), json!({"ports": [{"port": 80}]}))).unwrap();
        let taken = |other: &Value| other["spec"]["clusterIP"] == next["spec"]["clusterIP"];
        assert!(!world.0.iter().any(taken), "{next}");
        world.0.push(next);
    }
    let refused = made(&world, service("late", json!({"ports": [{"port": 80}]}))).unwrap_err();
    let message =
        "Internal error occurred: failed to allocate a serviceIP for Service \"late\": range is full";
    assert_eq!(refused.message, message);
}

#[test]
fn ports_of_the_same_number_share_a_node_port() {
    let ports = json!([{"port": 53, "protocol": "UDP", "name": "u"}, {"port": 53, "name": "t"}, {"port": 80, "name": "h"}]);
    let made = made(&World::default(), service("dns", json!({"type": "NodePort", "ports": ports}))).unwrap();
    let port = |index: usize| made["spec"]["ports"][index]["nodePort"].as_u64().unwrap();
    assert_eq!(port(0), port(1));
    assert_ne!(port(0), port(2));
    assert!((30_086..=32_767).contains(&port(0)), "{made}");
}

#[test]
fn a_node_port_is_given_once() {
    let spec = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 31_555}]});
    let mut world = World::default();
    world.0.push(made(&world, service("first", spec.clone())).unwrap());
    let refused = made(&world, service("second", spec)).unwrap_err();
    let message = "Service \"second\" is invalid: spec.ports[0].nodePort: Invalid value: 31555: provided port is \
                   already allocated";
    assert_eq!(refused.message, message);
}

#[test]
fn a_health_check_outside_of_the_ports_is_refused() {
    let spec = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 80});
    let message = "Internal error occurred: failed to allocate requested HealthCheck NodePort 80: provided port is not \
                   in the valid range. The range of valid ports is 30000-32767";
    assert_eq!(made(&World::default(), service("a", spec)).unwrap_err().message, message);
}

#[test]
fn addresses_that_make_no_sense_are_left_for_validation() {
    for spec in [
        json!({"clusterIP": "junk"}),
        json!({"clusterIPs": ["10.215.0.88"]}),
        json!({"clusterIP": "10.215.0.88", "clusterIPs": ["10.215.0.89"]}),
        json!({"ipFamilies": ["IPv4", "IPv4"]}),
    ] {
        let made = made(&World::default(), service("a", spec.clone())).unwrap();
        assert_eq!(made["spec"]["clusterIP"], spec["clusterIP"]);
    }
}

#[test]
fn ranges_of_addresses_are_read() {
    assert_eq!(AddressRange::parse("10.96.0.0/16"), AddressRange::parse("10.96.3.4/16"));
    for text in ["", "10.96.0.0", "10.96.0.0/33", "fd00::/64", "10.96.0.0/-1"] {
        assert_eq!(AddressRange::parse(text), None, "{text}");
    }
}

#[test]
fn only_finalize_writes_the_finalizers_of_a_namespace() {
    let kind = GroupKind::new("", "Namespace");
    let old = json!({"metadata": {"name": "a"}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
    let new = json!({"metadata": {"name": "a"}, "spec": {}, "status": {"phase": "Terminating"}});
    let written = |subresource: Option<&str>| {
        let mut new = new.clone();
        prepare_update(&kind, subresource, &mut new, &old, &World::default(), noon()).unwrap();
        (new["spec"].clone(), new["status"]["phase"].clone())
    };
    assert_eq!(written(None), (json!({"finalizers": ["kubernetes"]}), json!("Active")));
    assert_eq!(written(Some("status")), (json!({"finalizers": ["kubernetes"]}), json!("Terminating")));
    assert_eq!(written(Some("finalize")), (json!({}), json!("Active")));
}

#[test]
fn a_volume_remembers_when_its_phase_changed() {
    let kind = GroupKind::new("", "PersistentVolume");
    let volume = |phase: &str, time: Option<&str>| {
        let mut volume = json!({"metadata": {"name": "a"}, "spec": {}, "status": {"phase": phase}});
        if let Some(time) = time {
            pointer::set(&mut volume, "/status/lastPhaseTransitionTime", time);
        }
        volume
    };
    let (then, now, own) = ("2024-01-01T00:00:00Z", "2026-11-15T12:00:00Z", "2025-01-01T00:00:00Z");
    let old = volume("Pending", Some(then));
    for (phase, said, expected) in [
        ("Pending", None, then),
        ("Bound", None, now),
        ("Bound", Some(then), now),
        ("Bound", Some(own), own),
        ("Pending", Some(own), own),
    ] {
        let mut new = volume(phase, said);
        prepare_update(&kind, Some("status"), &mut new, &old, &World::default(), noon()).unwrap();
        assert_eq!(new["status"]["lastPhaseTransitionTime"], expected, "{phase} {said:?}");
    }
}

#[test]
fn the_quality_of_a_pod_follows_from_its_resources() {
    let class = |spec: Value| quality::class(&json!({"spec": spec}));
    let container = |resources: Value| json!({"resources": resources});
    let full = container(
        json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1Gi"}}),
    );
    assert_eq!(class(json!({"containers": [container(json!({}))]})), "BestEffort");
    assert_eq!(class(json!({"containers": [full]})), "Guaranteed");
    assert_eq!(class(json!({"containers": [full], "initContainers": [container(json!({}))]})), "Burstable");
    assert_eq!(class(json!({"containers": [container(json!({"requests": {"cpu": "0"}}))]})), "BestEffort");
    let whole = json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}});
    assert_eq!(class(json!({"resources": whole, "containers": [container(json!({}))]})), "Guaranteed");
    assert_eq!(class(json!({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}})), "Burstable");
}

#[test]
fn some_kinds_are_made_by_an_update() {
    let makes = |group: &str, kind: &str| allows_create_on_update(&GroupKind::new(group, kind));
    assert!(makes("coordination.k8s.io", "Lease") && makes("", "Service") && makes("", "Event"));
    assert!(!makes("", "Pod") && !makes("", "ConfigMap") && !makes("example.com", "Thing"));
    let overwrites = |group: &str, kind: &str| allows_unconditional_update(&GroupKind::new(group, kind));
    assert!(overwrites("", "Pod") && !overwrites("coordination.k8s.io", "Lease"));
    assert!(has_generation(&pod_kind()) && !has_generation(&GroupKind::new("", "Service")));
}
