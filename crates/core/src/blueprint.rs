//! What a Sandbox made from a template is like, whether a pool makes it or a claim: its spec, the hashes it is known by,
//! and whether one that is there is still what the template says. What else a claim adds is left to its planner.

mod member;
mod secure;

use std::collections::BTreeMap;

use asb_types::hash::fnv1a_hex;
use asb_types::runtime::Runtime;
use asb_types::{annotations, labels};
use serde_json::{Map, Value, json};

use crate::canonical;
use crate::document::Document;
use crate::object::Key;
use crate::views::{SandboxView, TemplateView};
use crate::write::Kind;

pub use member::Eviction;

/// A template, and what follows from it for every Sandbox that is made of it.
#[derive(Clone, Debug)]
pub struct Blueprint<'a> {
    template: &'a TemplateView,
    /// The Pod's spec with the secure defaults.
    pod_spec: Value,
    /// The parts that make a Sandbox stale when they change, in the form in which they are compared.
    essence: Value,
    ref_hash: String,
    hash: String,
    pod_template_hash: String,
}

impl<'a> Blueprint<'a> {
    pub fn of(template: &'a TemplateView) -> Self {
        let pod_spec = secure::pod_spec(template);
        let essence = essence(&pod_spec, &template.volumes, template.service, template.runtime.as_ref());
        let pod_template = json!({
            "spec": essence["podSpec"],
            "labels": template.pod.labels,
            "annotations": template.pod.annotations,
        });
        Self {
            template,
            pod_spec,
            ref_hash: fnv1a_hex(template.metadata.name()),
            hash: fnv1a_hex(&essence.to_string()),
            pod_template_hash: fnv1a_hex(&pod_template.to_string()),
            essence,
        }
    }

    /// The value of `sandbox-template-ref-hash`: which template.
    pub fn ref_hash(&self) -> &str {
        &self.ref_hash
    }

    /// The value of `sandbox-template-hash`: what the template says, metadata aside. It covers the secure defaults, so
    /// that a change of the network policy that changes the Pod's DNS is noticed.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The value of `sandbox-pod-template-hash`.
    pub fn pod_template_hash(&self) -> &str {
        &self.pod_template_hash
    }

    /// The spec of a Sandbox: the template's podTemplate with secure defaults, its volumes, its Service and its runtime.
    pub fn spec(&self) -> Value {
        let template = self.template;
        let mut spec = json!({"podTemplate": {
            "metadata": metadata(&template.pod.labels, &template.pod.annotations),
            "spec": self.pod_spec,
        }});
        if let volumes @ Value::Array(_) = template.volumes.value() {
            spec["volumeClaimTemplates"] = volumes;
        }
        if let Some(service) = template.service {
            spec["service"] = service.into();
        }
        if let Some(runtime) = &template.runtime {
            spec["runtime"] = json!(runtime);
        }
        spec
    }

    /// The annotations that every Sandbox of a template bears.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(annotations::TEMPLATE_REF.to_owned(), self.template.metadata.name().to_owned())])
    }

    /// Whether a Sandbox that bears the labels of a pool's member is what the template says now. The hash it bears may
    /// be another implementation's; only a difference in substance makes it stale.
    pub fn is_fresh(&self, sandbox: &SandboxView) -> bool {
        self.has_hash(sandbox) || (self.is_template_of(sandbox) && self.same(sandbox))
    }

    /// Whether the Sandbox says that it was made of this template, whatever the template said then.
    pub(crate) fn is_template_of(&self, sandbox: &SandboxView) -> bool {
        sandbox.metadata.label(labels::TEMPLATE_REF_HASH) == Some(&self.ref_hash)
    }

    /// Whether the Sandbox says that it was made of this template as it is.
    pub(crate) fn has_hash(&self, sandbox: &SandboxView) -> bool {
        self.is_template_of(sandbox) && sandbox.metadata.label(labels::TEMPLATE_HASH) == Some(&self.hash)
    }

    /// Whether a Sandbox has the Pod spec, volumes, Service and runtime that the template asks for, as Kubernetes compares
    /// objects: amounts by value, nothing and empty alike. Labels and annotations do not count.
    pub fn same(&self, sandbox: &SandboxView) -> bool {
        let (service, runtime) = (sandbox.service, sandbox.runtime.as_ref());
        essence(&sandbox.pod.spec.value(), &sandbox.volumes, service, runtime) == self.essence
    }
}

/// A whole Sandbox, as it is created.
pub fn sandbox(
    key: &Key,
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
    owner: &Value,
    spec: Value,
) -> Value {
    let mut metadata = metadata(labels, annotations);
    metadata["namespace"] = (*key.namespace).into();
    metadata["name"] = (*key.name).into();
    metadata["ownerReferences"] = json!([owner]);
    json!({
        "apiVersion": Kind::Sandbox.api_version(),
        "kind": Kind::Sandbox.name(),
        "metadata": metadata,
        "spec": spec,
    })
}

fn metadata(labels: &BTreeMap<String, String>, annotations: &BTreeMap<String, String>) -> Value {
    let parts = [("labels", labels), ("annotations", annotations)];
    let present = parts.into_iter().filter(|(_, map)| !map.is_empty());
    Value::Object(present.map(|(name, map)| (name.to_owned(), json!(map))).collect::<Map<_, _>>())
}

/// Without a runtime it is as if there were no such thing, so that hashes of before still count.
fn essence(pod_spec: &Value, volumes: &Document, service: Option<bool>, runtime: Option<&Runtime>) -> Value {
    let volumes = volumes.value();
    let volumes = volumes.as_array().into_iter().flatten().map(|volume| {
        let name = volume["metadata"]["name"].as_str().unwrap_or_default();
        json!({"name": name, "spec": canonical::form(&volume["spec"])})
    });
    let mut essence = json!({
        "podSpec": canonical::form(pod_spec),
        "volumes": volumes.collect::<Vec<_>>(),
        "service": service,
    });
    if let Some(runtime) = runtime {
        essence["runtime"] = json!(runtime);
    }
    essence
}

#[cfg(test)]
mod tests;
