//! What a short spelling means, in the words of the kind that it stands for.

use asb_types::blueprint::VolumeClaimTemplatesPolicy;
use asb_types::env::EnvVarsInjectionPolicy;
use asb_types::names;
use asb_types::network::NetworkPolicyManagement;
use serde_json::{Map, Value, json};

use super::inline;
use crate::write::Kind;

/// The specs that a short spelling asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Of the object that it stands for.
    pub spec: Value,
    /// Of the SandboxTemplate that a pool brings.
    pub template: Option<Value>,
}

/// Why there is no translation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// Total: every spec is translated or refused, and no field is left out.
pub fn wanted(kind: Kind, name: &str, spec: &Value) -> Result<Wanted, Refusal> {
    let fields = spec.as_object().cloned().unwrap_or_default();
    match kind.canonical() {
        Kind::SandboxClaim => Ok(Wanted { spec: claim(fields)?, template: None }),
        Kind::SandboxTemplate => Ok(Wanted { spec: template(fields)?, template: None }),
        Kind::SandboxWarmPool => pool(name, fields),
        other => Err(refuse(format!("there is no short spelling of {}", other.name()))),
    }
}

fn claim(mut fields: Map<String, Value>) -> Result<Value, Refusal> {
    let named = ["sandboxTemplate", "template"].map(|field| fields.remove(field));
    let template = one("sandboxTemplate and template must name the template", named)?;
    fields.insert("warmPoolRef".to_owned(), json!({"name": names::shadow_pool(&name(&template)?)}));
    Ok(fields.into())
}

fn template(mut fields: Map<String, Value>) -> Result<Value, Refusal> {
    if let Some(template) = fields.remove("template") {
        for (field, value) in inline::blueprint(&template)? {
            if fields.insert(field.clone(), value).is_some() {
                return Err(refuse(format!("{field} is said twice, in spec and in spec.template")));
            }
        }
    }
    blueprint(fields)
}

/// The spec of a SandboxTemplate, with what is not said. A short spelling says nothing about variables and has claims bring
/// them all the same.
fn blueprint(mut fields: Map<String, Value>) -> Result<Value, Refusal> {
    if !fields.contains_key("podTemplate") {
        return Err(refuse("one of podTemplate and template must say what to run".to_owned()));
    }
    let unsaid = [
        ("networkPolicyManagement", json!(NetworkPolicyManagement::Managed)),
        ("envVarsInjectionPolicy", json!(EnvVarsInjectionPolicy::Allowed)),
        ("volumeClaimTemplatesPolicy", json!(VolumeClaimTemplatesPolicy::Disallowed)),
    ];
    for (field, value) in unsaid {
        fields.entry(field).or_insert(value);
    }
    Ok(fields.into())
}

fn pool(own_name: &str, mut fields: Map<String, Value>) -> Result<Wanted, Refusal> {
    let size = fields.remove("size");
    if size.is_some() && ["minSize", "maxSize"].iter().any(|field| fields.contains_key(*field)) {
        return Err(refuse(
            "size is for a pool of one size, minSize and maxSize for one that follows demand".to_owned(),
        ));
    }
    fields.insert("replicas".to_owned(), size.unwrap_or_else(|| json!(1)));
    let named = ["sandboxTemplate", "template"].map(|field| fields.remove(field));
    let (reference, template) =
        match one("sandboxTemplate and template must name the template, or be one", named)? {
            inlined @ Value::Object(_) => {
                (own_name.to_owned(), Some(blueprint(inline::blueprint(&inlined)?)?))
            }
            named => (name(&named)?, None),
        };
    fields.insert("sandboxTemplateRef".to_owned(), json!({"name": reference}));
    Ok(Wanted { spec: fields.into(), template })
}

fn one(what: &str, values: [Option<Value>; 2]) -> Result<Value, Refusal> {
    match values {
        [Some(value), None] | [None, Some(value)] => Ok(value),
        _ => Err(refuse(format!("one of {what}"))),
    }
}

fn name(value: &Value) -> Result<String, Refusal> {
    let name = value.as_str().filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| refuse(format!("{value} is not the name of a template")))
}

pub(super) fn refuse(problem: String) -> Refusal {
    Refusal(problem)
}
