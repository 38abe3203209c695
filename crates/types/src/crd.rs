//! The CustomResourceDefinitions, written from the Rust types: each kind's versions put together, Kubernetes' own
//! types filled in from their published definitions, and everything a schema must not say taken out.

pub(crate) mod kubernetes;
mod schema;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::crd::{CustomResourceExt, merge_crds};
use serde_json::{Value, json};

use crate::{annotations, shorthand, v1alpha1, v1beta1};

macro_rules! document {
    ($folder:literal, $name:literal) => {
        ($name, include_str!(concat!("../../../deploy/", $folder, "/", $name, ".yaml")))
    };
}

/// Rises with every change of the definitions, so that an older program knows a newer definition and leaves it.
pub const REVISION: u64 = 4;

/// Where the API server finds the conversion webhook of an operator installed with our manifests.
pub const WEBHOOK_SERVICE: &str = "agent-sandbox-webhook-service";
pub const WEBHOOK_NAMESPACE: &str = "agent-sandbox-system";
pub const WEBHOOK_PATH: &str = "/convert";
pub const WEBHOOK_PORT: u16 = 443;

/// The definitions as they are committed and installed: name and YAML. A test holds them to [`crds`].
pub const DOCUMENTS: [(&str, &str); 4] = [
    document!("crds", "sandboxes.agents.x-k8s.io"),
    document!("crds", "sandboxtemplates.extensions.agents.x-k8s.io"),
    document!("crds", "sandboxwarmpools.extensions.agents.x-k8s.io"),
    document!("crds", "sandboxclaims.extensions.agents.x-k8s.io"),
];

/// The definitions of the [short spellings](crate::shorthand), in the same form. On Kubernetes they are installed by those
/// who want them. A test holds them to [`shorthand`].
pub const SHORTHAND: [(&str, &str); 3] = [
    document!("documents/crds", "sandboxtemplates.agents.x-k8s.io"),
    document!("documents/crds", "sandboxwarmpools.agents.x-k8s.io"),
    document!("documents/crds", "sandboxclaims.agents.x-k8s.io"),
];

/// The definitions behind [`DOCUMENTS`], in the order in which they are best applied.
pub fn crds() -> Vec<Value> {
    vec![
        definition(&[v1beta1::Sandbox::crd(), v1alpha1::Sandbox::crd()]),
        definition(&[v1beta1::SandboxTemplate::crd(), v1alpha1::SandboxTemplate::crd()]),
        definition(&[v1beta1::SandboxWarmPool::crd(), v1alpha1::SandboxWarmPool::crd()]),
        definition(&[v1beta1::SandboxClaim::crd(), v1alpha1::SandboxClaim::crd()]),
    ]
}

/// The definitions behind [`SHORTHAND`], in the same order.
pub fn shorthand() -> Vec<Value> {
    let kinds = [
        shorthand::SandboxTemplate::crd(),
        shorthand::SandboxWarmPool::crd(),
        shorthand::SandboxClaim::crd(),
    ];
    kinds.map(finished).into()
}

/// One definition of several versions, the stored one first.
fn definition(versions: &[CustomResourceDefinition]) -> Value {
    let merged =
        merge_crds(versions.to_vec(), v1beta1::VERSION).expect("the versions of a kind agree on its names");
    let mut definition = finished(merged);
    definition["spec"]["conversion"] = conversion();
    definition
}

fn finished(definition: CustomResourceDefinition) -> Value {
    let mut definition = serde_json::to_value(definition).expect("a definition is plain data");
    for version in definition["spec"]["versions"].as_array_mut().into_iter().flatten() {
        schema::finish(&mut version["schema"]["openAPIV3Schema"]);
    }
    definition["metadata"]["annotations"] = json!({annotations::DEFINITION_REVISION: REVISION.to_string()});
    definition
}

fn conversion() -> Value {
    json!({
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "service": {
                    "name": WEBHOOK_SERVICE,
                    "namespace": WEBHOOK_NAMESPACE,
                    "path": WEBHOOK_PATH,
                    "port": WEBHOOK_PORT,
                },
            },
            "conversionReviewVersions": ["v1", "v1beta1"],
        },
    })
}

#[cfg(test)]
mod tests;
