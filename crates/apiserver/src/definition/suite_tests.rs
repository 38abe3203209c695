//! Our own definitions, on the cases of the suite that runs against a real API server: its snapshots hold what that
//! one does.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::decode::{self, Decoded, Expected};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    api_version: String,
    kind: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    spec: Option<Value>,
}

/// Ours, found in order and compiled.
static DEFINITIONS: LazyLock<Vec<Definition>> = LazyLock::new(definitions);

fn definitions() -> Vec<Definition> {
    let expected = Expected { api_version: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
    let ready = |crd: Value| {
        let Decoded { object: mut crd, problems } = decode::value(crd, expected).unwrap();
        assert_eq!(problems, []);
        default(&mut crd);
        prepare_for_create(&mut crd);
        assert_eq!(validate_create(&crd), [], "{}", crd["metadata"]["name"]);
        assert_eq!(warnings(&crd, None), [""; 0], "{}", crd["metadata"]["name"]);
        Definition::compile(&crd).unwrap()
    };
    asb_types::crd::crds().into_iter().map(ready).collect()
}

fn version(api_version: &str, kind: &str) -> &'static Version {
    let (group, version) = api_version.split_once('/').unwrap();
    let found =
        DEFINITIONS.iter().find(|definition| definition.group == group && definition.names.kind == kind);
    found.unwrap().version(version).unwrap()
}

fn outcome(version: &Version, mut object: Value) -> String {
    version.schema.default(&mut object).unwrap();
    version.schema.prune(&mut object);
    let mut errors: Vec<String> =
        version.validate(&object, None).errors.iter().map(ToString::to_string).collect();
    errors.sort();
    if errors.is_empty() {
        format!("accepted: {}", object["spec"])
    } else {
        format!("refused: {}", errors.join("\n"))
    }
}

/// The outcomes of a snapshot by the names of their cases.
fn snapshot(text: &str) -> BTreeMap<String, String> {
    let body = text.splitn(3, "---\n").nth(2).unwrap();
    let block = |block: &str| {
        let (name, outcome) = block.trim().split_once('\n').unwrap();
        let outcome = outcome.trim();
        let outcome = match outcome.strip_prefix("refused: ") {
            None => outcome.to_owned(),
            Some(lines) => {
                let mut lines: Vec<&str> = lines.lines().map(str::trim).collect();
                lines.sort_unstable();
                format!("refused: {}", lines.join("\n"))
            }
        };
        (name.to_owned(), outcome)
    };
    body.trim().split("\n\n").map(block).collect()
}

fn agree(cases: &str, expected: &str) {
    let file: File = serde_saphyr::from_str(cases).unwrap();
    let version = version(&file.api_version, &file.kind);
    let expected = snapshot(expected);
    assert_eq!(expected.len(), file.cases.len());
    for case in file.cases {
        let mut object =
            json!({"apiVersion": file.api_version, "kind": file.kind, "metadata": {"name": "demo"}});
        if let Some(spec) = case.spec {
            object["spec"] = spec;
        }
        assert_eq!(outcome(version, object), expected[&case.name], "{}", case.name);
    }
}

macro_rules! suite {
    ($($name:ident),* $(,)?) => {$(
        #[test]
        fn $name() {
            agree(
                include_str!(concat!("../../../../tests/suites/definitions/cases/", stringify!($name), ".yaml")),
                include_str!(concat!(
                    "../../../../tests/suites/definitions/snapshots/definitions__", stringify!($name), ".snap"
                )),
            );
        }
    )*};
}

suite!(
    sandbox_v1beta1,
    sandbox_v1alpha1,
    pod_template,
    sandbox_template_v1beta1,
    sandbox_template_v1alpha1,
    sandbox_claim_v1beta1,
    sandbox_claim_v1alpha1,
    sandbox_warm_pool_v1beta1,
    sandbox_warm_pool_v1alpha1,
);

#[test]
fn volumes_of_a_sandbox_cannot_change() {
    let compiled = &version("agents.x-k8s.io/v1beta1", "Sandbox").schema;
    let sandbox = |size: &str| {
        json!({
            "apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": "demo"},
            "spec": {
                "podTemplate": {"spec": {"containers": [{"name": "main"}]}},
                "volumeClaimTemplates": [
                    {"metadata": {"name": "work"}, "spec": {"resources": {"requests": {"storage": size}}}},
                ],
            },
        })
    };
    let verdict = compiled.validate(&sandbox("2Gi"), Some(&sandbox("1Gi")));
    assert!(verdict.errors[0].to_string().contains("volumeClaimTemplates is immutable"), "{verdict:?}");
    assert_eq!(compiled.validate(&sandbox("1Gi"), Some(&sandbox("1Gi"))).errors, []);
}

#[test]
fn a_compiled_definition_knows_what_is_served() {
    let pools = DEFINITIONS.iter().find(|definition| definition.names.kind == "SandboxWarmPool").unwrap();
    assert_eq!((pools.scope, pools.names.plural.as_str()), (Scope::Namespaced, "sandboxwarmpools"));
    let stored = pools.stored().unwrap();
    assert!(stored.is_served && stored.has_status && !stored.printer_columns.is_empty());
    assert_eq!(stored.scale.as_ref().unwrap().spec_replicas, ".spec.replicas");
    assert!(stored.open_api.at("/properties/spec").is_some());
    let old = pools.version("v1alpha1").unwrap();
    assert!(!old.is_stored);
}
