//! What each spelling means. The manifests are those that are printed in what is written about Agent Sandbox.

use super::*;

macro_rules! printed {
    ($name:literal) => {
        serde_saphyr::from_str::<Value>(include_str!(concat!(
            "../../../../../tests/documents/",
            $name,
            ".yaml"
        )))
        .expect("a manifest is YAML")
    };
}

fn meaning(kind: Kind, manifest: &Value) -> Result<Value, String> {
    let name = manifest["metadata"]["name"].as_str().unwrap_or("unnamed");
    let wanted = wanted(kind, name, &manifest["spec"]).map_err(|refusal| refusal.to_string())?;
    Ok(match wanted.template {
        Some(template) => json!({"template": template, "spec": wanted.spec}),
        None => wanted.spec,
    })
}

#[test]
fn templates_as_they_are_printed() {
    insta::assert_yaml_snapshot!([
        meaning(Kind::ShorthandTemplate, &printed!("analysis-template")),
        meaning(Kind::ShorthandTemplate, &printed!("overview-template")),
    ]);
}

#[test]
fn claims_as_they_are_printed() {
    insta::assert_yaml_snapshot!([
        meaning(Kind::ShorthandClaim, &printed!("analysis-claim")),
        meaning(Kind::ShorthandClaim, &printed!("overview-claim")),
    ]);
}

#[test]
fn pools_as_they_are_printed() {
    insta::assert_yaml_snapshot!([
        meaning(Kind::ShorthandPool, &printed!("overview-pool")),
        meaning(Kind::ShorthandPool, &printed!("kubectl-ai-pool")),
    ]);
}

#[test]
fn everything_that_a_claim_says_is_passed_on() {
    let spec = json!({"template": "python", "env": [{"name": "A", "value": "1"}], "lostSandboxPolicy": "Replace",
        "lifecycle": {"shutdownPolicy": "Delete"}, "additionalPodMetadata": {"labels": {"a": "b"}},
        "volumeClaimTemplates": [{"metadata": {"name": "work"}}]});
    let mut expected = spec.clone();
    expected.as_object_mut().unwrap().remove("template");
    expected["warmPoolRef"] = json!({"name": "shadow-pool-python"});
    assert_eq!(meaning(Kind::ShorthandClaim, &json!({"spec": spec})), Ok(expected));
}

#[test]
fn what_a_template_says_itself_counts_more_than_what_is_assumed() {
    let spec = json!({"podTemplate": {}, "envVarsInjectionPolicy": "Disallowed", "networkPolicyManagement": "Unmanaged"});
    let meant = meaning(Kind::ShorthandTemplate, &json!({"spec": spec})).unwrap();
    assert_eq!(meant["envVarsInjectionPolicy"], "Disallowed");
    assert_eq!(meant["networkPolicyManagement"], "Unmanaged");
}

#[test]
fn a_pod_in_a_template_has_its_labels_and_the_rest_is_the_templates() {
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main"}],
        "runtimeClassName": "gvisor", "service": true}});
    let meant = meaning(Kind::ShorthandTemplate, &json!({"spec": {"template": template}})).unwrap();
    assert_eq!(meant["podTemplate"]["metadata"], json!({"labels": {"a": "b"}}));
    assert_eq!(meant["podTemplate"]["spec"]["runtimeClassName"], "gvisor");
    assert_eq!((&meant["service"], &meant["template"]), (&json!(true), &Value::Null));
}

#[test]
fn what_cannot_be_meant_is_refused_with_a_reason() {
    let with_pod_template = |rest: Value| {
        let mut template = json!({"spec": {"podTemplate": {"spec": {"containers": [{"name": "main"}]}}}});
        crate::patch::merge(&mut template, &rest);
        json!({"template": template})
    };
    let cases = [
        (Kind::ShorthandClaim, json!({})),
        (Kind::ShorthandClaim, json!({"template": "a", "sandboxTemplate": "b"})),
        (Kind::ShorthandClaim, json!({"template": ""})),
        (Kind::ShorthandTemplate, json!({})),
        (Kind::ShorthandTemplate, json!({"podTemplate": {}, "template": inline()})),
        (
            Kind::ShorthandTemplate,
            json!({"service": true, "template": {"spec": {"service": false, "containers": [{}]}}}),
        ),
        (Kind::ShorthandTemplate, json!({"template": {"spec": {"containers": []}}})),
        (Kind::ShorthandTemplate, with_pod_template(json!({"spec": {"runtimeClassName": "gvisor"}}))),
        (Kind::ShorthandTemplate, with_pod_template(json!({"metadata": {"labels": {"a": "b"}}}))),
        (Kind::ShorthandPool, json!({"size": 1})),
        (Kind::ShorthandPool, json!({"template": 7})),
        (Kind::ShorthandPool, json!({"template": {"name": "python"}})),
        (Kind::ShorthandPool, json!({"template": "a", "sandboxTemplate": "b"})),
        (Kind::ShorthandPool, json!({"template": "a", "size": 1, "minSize": 2})),
        (Kind::Sandbox, json!({})),
    ];
    let told = cases.map(|(kind, spec)| meaning(kind, &json!({"spec": spec})).unwrap_err());
    insta::assert_snapshot!(told.join("\n"));
}
