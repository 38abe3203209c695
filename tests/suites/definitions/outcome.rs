//! How a create ended: with an object as the server made it, or with a refusal.

use std::fmt;

use anyhow::Result;
use asb_tests::{Cluster, Namespace};
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{GroupVersionKind, Status};
use kube::discovery::ApiResource;
use serde_json::Value;

use crate::cases::Case;

pub(crate) enum Outcome {
    Accepted(Value),
    /// One line per thing that is wrong, as `field: what`.
    Refused(Vec<String>),
}

pub(crate) async fn through_kube(cluster: &Cluster, namespace: &Namespace, case: &Case) -> Result<Outcome> {
    let object: DynamicObject = serde_json::from_value(case.object.clone())?;
    let api = Api::<DynamicObject>::namespaced_with(cluster.client(), namespace.name(), &resource(case));
    match api.create(&PostParams::default(), &object).await {
        Ok(created) => Ok(Outcome::Accepted(created.data["spec"].clone())),
        Err(kube::Error::Api(status)) => Ok(Outcome::Refused(complaints(&status))),
        Err(error) => Err(error.into()),
    }
}

/// With the server's own field validation switched off, so that only the schema speaks; kubectl's default is tried in
/// the tests of unknown fields.
pub(crate) async fn through_kubectl(
    cluster: &Cluster,
    namespace: &Namespace,
    case: &Case,
) -> Result<Outcome> {
    let arguments = ["create", "--validate=ignore", "-n", namespace.name(), "-o", "json", "-f", "-"];
    let output = cluster.kubectl(&arguments, Some(&case.object.to_string())).await?;
    if output.status.success() {
        let created: Value = serde_json::from_str(&output.stdout)?;
        return Ok(Outcome::Accepted(created["spec"].clone()));
    }
    let ours = |line: &&str| !line.starts_with("Warning:");
    Ok(Outcome::Refused(output.stderr.lines().filter(ours).map(str::to_owned).collect()))
}

fn resource(case: &Case) -> ApiResource {
    let text = |field: &str| case.object[field].as_str().expect("cases name their kind").to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let (group, version) = api_version.split_once('/').expect("our kinds have a group");
    let plural = if kind == "Sandbox" { "sandboxes".to_owned() } else { format!("{}s", kind.to_lowercase()) };
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, &kind), &plural)
}

fn complaints(status: &Status) -> Vec<String> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let lines: Vec<_> = causes.map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    if lines.is_empty() { vec![status.message.clone()] } else { lines }
}

impl Outcome {
    /// kubectl words a refusal in its own way; what is wrong, and where, must be in it all the same.
    pub(crate) fn must_agree_with(&self, other: &Self, case: &Case) {
        match (self, other) {
            (Self::Accepted(ours), Self::Accepted(theirs)) => assert_eq!(ours, theirs, "{}", case.name),
            (Self::Refused(ours), Self::Refused(theirs)) => {
                let said = ours.join("\n");
                for complaint in theirs {
                    let (field, what) = complaint.split_once(": ").unwrap_or(("", complaint));
                    assert!(
                        said.contains(field) && said.contains(what),
                        "{}: {complaint}\nnot in: {said}",
                        case.name
                    );
                }
            }
            _ => panic!("{}: kube-rs and kubectl end differently: {other} and {self}", case.name),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted(spec) => write!(formatter, "  accepted: {spec}"),
            Self::Refused(complaints) => {
                // Kubernetes looks at fields in no order, and then at the whole.
                let mut complaints = complaints.clone();
                let field = |complaint: &String| complaint.starts_with("spec.").then(|| complaint.clone());
                complaints.sort_by_key(|complaint| (field(complaint).is_none(), field(complaint)));
                write!(formatter, "  refused: {}", complaints.join("\n           "))
            }
        }
    }
}
