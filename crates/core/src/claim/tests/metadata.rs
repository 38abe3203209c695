//! The labels and annotations that a claim puts on its Pod.

use asb_types::{annotations, labels};

use super::*;

fn asking(labels: &Value, annotations: &Value) -> World {
    world().claim(json!({"spec": {"additionalPodMetadata": {"labels": labels, "annotations": annotations}}}))
}

fn refusal(labels: &Value, annotations: &Value) -> String {
    let (reason, message) = problem(&asking(labels, annotations));
    assert_eq!(reason, "InvalidMetadata");
    message
}

#[test]
fn what_a_claim_may_not_ask_for_is_refused_in_these_words() {
    let none = json!({});
    let refusals = [
        refusal(&json!({"app": "Sandbox-Router"}), &none),
        refusal(&json!({"app": "mine"}), &none),
        refusal(&json!({"example.com/a": "b"}), &none),
        refusal(&json!({"sandbox.users.io/a": "b c"}), &none),
        refusal(&json!({"sandbox.users.io/": "b"}), &none),
        refusal(&none, &json!({"kubernetes.io/a": "b"})),
        refusal(&none, &json!({"scheduler.k8s.io/a": "b"})),
        refusal(&none, &json!({"agents.x-k8s.io/a": "b"})),
        refusal(&none, &json!({"a b": "c"})),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn what_a_claim_may_ask_for_is_taken() {
    let labels = json!({"sandbox.users.io/a": "b", "team.sandbox.users.io/a": ""});
    let annotations = json!({"plain": "any text", "example.com/a": "b", annotations::SAFE_TO_EVICT: "false"});
    assert!(matches!(asking(&labels, &annotations).plan(NOON).step, Step::Allocate(_)));
}

#[test]
fn the_administrator_decides_on_the_domains() {
    let mut world = asking(&json!({"example.com/a": "b"}), &json!({}));
    world.settings.label_domains = vec!["example.com".to_owned()];
    assert!(matches!(world.plan(NOON).step, Step::Allocate(_)));
}

#[test]
fn a_claim_may_not_contradict_its_template() {
    let world = asking(&json!({}), &json!({"note": "mine"})).member("pool-a");
    let message = "metadata override conflict: annotation \"note\" is defined in template with value \"template\", \
        but claim requests \"mine\"";
    assert_eq!(problem(&world), ("InvalidMetadata", message.to_owned()));
    assert!(standing(&world).problem.unwrap().is_permanent());
    assert!(matches!(asking(&json!({}), &json!({"note": "template"})).plan(NOON).step, Step::Allocate(_)));
}

#[test]
fn edits_of_a_claim_reach_its_sandbox_and_removals_too() {
    let more = json!({"spec": {"additionalPodMetadata": {"annotations": {"ps": "1"}}}});
    let mut world = world().bound("pool-a").claim(more);
    let [Write::Patch { body, .. }] = &acts(&world)[..] else { panic!("one patch") };
    assert_eq!(*body, json!({"spec": {"podTemplate": {"metadata": {"annotations": {"ps": "1"}}}}}));
    world.settle(NOON);
    let world = world.claim(json!({"spec": {"additionalPodMetadata": null}}));
    let [Write::Patch { body, .. }] = &acts(&world)[..] else { panic!("one patch") };
    assert_eq!(*body, json!({"spec": {"podTemplate": {"metadata": {"annotations": {"ps": null}}}}}));
}

#[test]
fn edits_of_a_template_reach_the_sandboxes_of_its_claims() {
    let edit = json!({"spec": {"podTemplate": {"metadata": {"labels": {"team": "others"}}}}});
    let world = world().bound("pool-a").template(edit);
    let [Write::Patch { body, .. }] = &acts(&world)[..] else { panic!("one patch") };
    assert_eq!(*body, json!({"spec": {"podTemplate": {"metadata": {"labels": {"team": "others"}}}}}));
}

#[test]
fn the_client_that_asked_is_named_on_sandbox_and_pod() {
    let world =
        world().bound("pool-a").claim(json!({"metadata": {"labels": {labels::CREATED_BY: "go-client"}}}));
    let [Write::Patch { body, .. }] = &acts(&world)[..] else { panic!("one patch") };
    let label = json!({"labels": {labels::CREATED_BY: "go-client"}});
    assert_eq!(*body, json!({"metadata": label, "spec": {"podTemplate": {"metadata": label}}}));
}

#[test]
fn a_bound_claim_does_without_its_template_unless_it_has_metadata() {
    let gone = World { template: None, ..world().bound("pool-a") };
    assert_eq!(standing(&gone).problem, None);
    let asking = gone.clone().claim(json!({"spec": {"additionalPodMetadata": {"annotations": {"a": "b"}}}}));
    let context = "failed to get template for metadata propagation: ";
    assert_eq!(
        problem(&asking),
        ("TemplateNotFound", format!("{context}SandboxTemplate \"python\" not found"))
    );
    let asking = World { pool: None, ..asking };
    assert_eq!(
        problem(&asking),
        ("WarmPoolNotFound", format!("{context}SandboxWarmPool \"pool\" not found"))
    );
}
