//! The Pod that a Sandbox starts: its podTemplate, its volumes, and the metadata by which it is found.

use asb_types::names;
use serde_json::{Value, json};

use super::adoption;
use super::observed::Observed;
use super::pod_metadata::Desired;
use super::refusal::Refusal;
use super::runtime;
use super::volumes::template_name;
use crate::write::Kind;

pub(super) fn build(observed: &Observed) -> Result<Value, Refusal> {
    let sandbox = &observed.sandbox;
    let (labels, annotations) = Desired::of(sandbox).for_a_new_pod();
    let mut pod = json!({
        "apiVersion": Kind::Pod.api_version(),
        "kind": Kind::Pod.name(),
        "metadata": {
            "name": names::pod(observed.name()),
            "namespace": &*sandbox.metadata.key.namespace,
            "labels": labels,
            "ownerReferences": [adoption::reference(observed)],
        },
        "spec": spec(observed)?,
    });
    if !annotations.is_empty() {
        pod["metadata"]["annotations"] = json!(annotations);
    }
    Ok(pod)
}

/// The podTemplate's spec, in which every volumeClaimTemplate is a volume of its name. One of that name in the
/// podTemplate gives way. Containers mount them themselves. sandboxd is in it where the Sandbox asks for it.
fn spec(observed: &Observed) -> Result<Value, Refusal> {
    let mut spec = with_volumes(observed);
    if let Some(runtime) = &observed.sandbox.runtime {
        let source = observed.settings.runtime.as_deref();
        runtime::fit(&mut spec, runtime, source, observed.uid().as_str())?;
    }
    Ok(spec)
}

fn with_volumes(observed: &Observed) -> Value {
    let mut spec = observed.sandbox.pod.spec.value();
    let templates = observed.sandbox.volumes.value();
    let claimed: Vec<_> = templates.as_array().into_iter().flatten().map(template_name).collect();
    if claimed.is_empty() {
        return spec;
    }
    let is_free = |volume: &&Value| volume["name"].as_str().is_none_or(|name| !claimed.contains(&name));
    let mut volumes: Vec<_> =
        spec["volumes"].as_array().into_iter().flatten().filter(is_free).cloned().collect();
    volumes.extend(claimed.iter().map(|name| volume(name, observed.name())));
    spec["volumes"] = volumes.into();
    spec
}

fn volume(template: &str, sandbox: &str) -> Value {
    json!({"name": template, "persistentVolumeClaim": {"claimName": names::volume_claim(template, sandbox)}})
}
