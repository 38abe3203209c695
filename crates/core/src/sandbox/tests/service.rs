//! The Service of a Sandbox.

use serde_json::json;

use super::super::fixtures::{Object, World, sandbox, service};
use super::{created, ready, summary};

fn with_ports(world: World) -> World {
    let container =
        json!({"name": "main", "ports": [{"containerPort": 8080, "name": "web"}, {"containerPort": 22}]});
    world.with_spec(json!({"podTemplate": {"spec": {"containers": [container]}}}))
}

fn fqdn(world: &World) -> (String, String) {
    let status = world.status().reported;
    (status.service, status.service_fqdn)
}

/// As a Sandbox without ports makes it.
fn fitting() -> Object {
    let mut world = sandbox("demo").with_service(true);
    world.settle();
    Object(world.service.unwrap())
}

#[test]
fn a_sandbox_that_asks_for_a_service_gets_a_headless_one() {
    let world = with_ports(sandbox("demo").with_service(true));
    insta::assert_yaml_snapshot!(created(&world.plan().service.writes));
}

#[test]
fn a_sandbox_that_does_not_ask_gets_none() {
    for world in [sandbox("demo"), sandbox("demo").with_service(false)] {
        assert_eq!(world.plan().service.writes, []);
        assert_eq!(fqdn(&world), (String::new(), String::new()));
    }
}

#[test]
fn a_service_in_use_is_in_the_status() {
    for world in [sandbox("demo").with_service(true), sandbox("demo")] {
        let world = world.with_ready_pod().having(fitting());
        assert_eq!(fqdn(&world), ("demo".to_owned(), "demo.team.svc.cluster.local".to_owned()));
        assert_eq!(ready(&world), "True/DependenciesReady: Pod is Ready; Service Exists");
        assert_eq!(world.plan().writes().count(), 0);
    }
}

#[test]
fn a_service_that_is_asked_for_and_missing_holds_back_readiness() {
    let world = sandbox("demo").with_service(true).with_ready_pod();
    assert_eq!(ready(&world), "False/DependenciesNotReady: Pod is Ready; Service does not exist");
}

#[test]
fn a_service_that_is_no_longer_wanted_goes() {
    let world = sandbox("demo").with_service(false).with_ready_pod().having(fitting());
    assert_eq!(summary(&world.plan().service.writes), ["delete Service demo Background"]);
    assert_eq!(fqdn(&world), (String::new(), String::new()));
    assert_eq!(ready(&world), "True/DependenciesReady: Pod is Ready");
}

#[test]
fn a_service_that_is_not_ours_is_never_deleted() {
    for found in [service("demo"), service("demo").foreign(), service("demo").adoptable()] {
        let world = sandbox("demo").with_service(false).with_ready_pod().having(found);
        assert_eq!(world.plan().service, super::super::Step::default());
    }
}

#[test]
fn a_service_of_another_owner_is_refused() {
    for world in [sandbox("demo").with_service(true), sandbox("demo")] {
        let world = world.with_ready_pod().having(service("demo").foreign());
        let message = r#"service "demo" is owned by ReplicaSet/web (UID: web-uid), not by sandbox "demo""#;
        assert_eq!(ready(&world), format!("False/ReconcilerError: Error seen: {message}"));
    }
}

#[test]
fn an_unowned_service_is_ignored_unless_one_is_asked_for() {
    let world = sandbox("demo").with_ready_pod().having(service("demo").adoptable());
    assert_eq!(world.plan().service, super::super::Step::default());
    assert_eq!(ready(&world), "True/DependenciesReady: Pod is Ready");
}

#[test]
fn an_unowned_service_without_a_label_is_refused() {
    let world = sandbox("demo").with_service(true).with_ready_pod().having(service("demo"));
    assert!(ready(&world).starts_with(
        "False/ReconcilerError: Error seen: cannot adopt unowned service \"demo\": missing required pool \
         authorization label (\"agents.x-k8s.io/adoptable\")"
    ));
}

#[test]
fn a_service_with_an_address_cannot_be_adopted() {
    let found = service("demo").adoptable().with(json!({"spec": {"clusterIP": "10.1.2.3"}}));
    let world = sandbox("demo").with_service(true).with_ready_pod().having(found);
    assert_eq!(
        ready(&world),
        "False/ReconcilerError: Error seen: cannot adopt service \"demo\": ClusterIP is \"10.1.2.3\" \
         (expected \"None\", field is immutable)"
    );
}

#[test]
fn an_adopted_service_leads_to_the_sandbox() {
    let found = service("demo")
        .adoptable()
        .with(json!({"spec": {"selector": {"app": "old"}, "ports": [{"port": 1}]}}));
    let mut world = with_ports(sandbox("demo").with_service(true)).having(found);
    insta::assert_yaml_snapshot!(world.settle().service);
    assert_eq!(world.plan().writes().count(), 0);
}

#[test]
fn drift_of_label_and_selector_is_mended_and_of_ports_only_where_a_service_is_asked_for() {
    let drifted = fitting()
        .with_labels(json!({"agents.x-k8s.io/sandbox-name-hash": null}))
        .with(json!({"spec": {"selector": null}}))
        .with(json!({"spec": {"selector": {"app": "x"}, "ports": [{"port": 1}]}}));
    let patch = |world: World| match &world.having(drifted.clone()).plan().service.writes[..] {
        [crate::write::Write::Patch { body, .. }] => body.clone(),
        other => panic!("one patch was expected, not {other:?}"),
    };
    let unasked = patch(sandbox("demo").with_ready_pod());
    let hash = sandbox("demo").observed().name_hash();
    let selector = json!({"app": null, "agents.x-k8s.io/sandbox-name-hash": hash});
    assert_eq!(unasked["spec"], json!({"selector": selector}));
    assert_eq!(unasked["metadata"]["labels"], json!({"agents.x-k8s.io/sandbox-name-hash": hash}));
    let asked = patch(sandbox("demo").with_ready_pod().with_service(true));
    assert_eq!(asked["spec"], json!({"selector": selector, "ports": null}));
}
