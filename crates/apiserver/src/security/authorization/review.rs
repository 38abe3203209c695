//! The review APIs of authorization: questions about what somebody may do, answered with the object that asked and a
//! status. A body arrives decoded and without unknown fields; defaulting and the object's own metadata are others' work.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Attributes, Decision, Index, Resource, Rule, joined, selector};
use crate::field::Error;
use crate::identity::GroupKind;
use crate::security::authentication::User;
use crate::security::json::{at, text, texts};
use crate::status::Status;

const GROUP: &str = "authorization.k8s.io";
const OTHER_NAMESPACE: &str =
    "the namespace of the provided object does not match the namespace sent on the request";

/// Whether a user may do something anywhere.
pub fn subject_access(index: &Index, body: &Value) -> Result<Value, Status> {
    let errors =
        [access_errors(body), subject_errors(body), selector_errors(body), metadata_errors(body, false)];
    valid(errors)?;
    Ok(answered(body, index, &subject(body)))
}

/// Whether a user may do something in the namespace of the request.
pub fn local_subject_access(index: &Index, namespace: &str, body: &Value) -> Result<Value, Status> {
    let body = in_namespace(body, namespace)?;
    let errors =
        [access_errors(&body), subject_errors(&body), selector_errors(&body), metadata_errors(&body, true)];
    valid(errors.into_iter().chain([local_errors(&body)]))?;
    Ok(answered(&body, index, &subject(&body)))
}

/// Whether the one who asks may do something.
pub fn self_subject_access(index: &Index, user: &User, body: &Value) -> Result<Value, Status> {
    valid([access_errors(body), selector_errors(body), metadata_errors(body, false)])?;
    Ok(answered(body, index, user))
}

/// All that the one who asks may do in a namespace. The answer does not repeat the question.
pub fn self_subject_rules(index: &Index, user: &User, body: &Value) -> Result<Value, Status> {
    let namespace = match text(body, &["spec", "namespace"]) {
        "" => return Err(Status::bad_request("no namespace on request")),
        namespace => namespace,
    };
    let (rules, problems) = index.rules(user, namespace);
    let resources = rules.iter().filter(|rule| !rule.resources.is_empty()).map(|rule| resource_rule(rule));
    let urls = rules.iter().filter(|rule| !rule.non_resource_urls.is_empty()).map(|rule| url_rule(rule));
    let mut status = json!({
        "resourceRules": resources.collect::<Vec<_>>(),
        "nonResourceRules": urls.collect::<Vec<_>>(),
        "incomplete": false,
    });
    if !problems.is_empty() {
        status["evaluationError"] = joined(&problems).into();
    }
    Ok(json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "SelfSubjectRulesReview",
        "metadata": {}, "spec": {}, "status": status,
    }))
}

/// The body with the namespace of the request, if it does not say another.
fn in_namespace(body: &Value, namespace: &str) -> Result<Value, Status> {
    let own = text(body, &["metadata", "namespace"]);
    if !own.is_empty() && own != namespace {
        return Err(Status::bad_request(OTHER_NAMESPACE));
    }
    let mut body = body.clone();
    if let Some(fields) = body.as_object_mut() {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
    }
    Ok(body)
}

fn answered(body: &Value, index: &Index, user: &User) -> Value {
    let decision = index.allowed(user, &attributes(body));
    let mut answer = body.clone();
    answer["status"] = status(&decision, &selector::ignored(body));
    answer
}

fn status(decision: &Decision, ignored: &str) -> Value {
    let mut status = json!({"allowed": decision.is_allowed()});
    let texts = [("reason", decision.reason()), ("evaluationError", ignored)];
    texts
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .for_each(|(name, text)| status[name] = text.into());
    status
}

fn attributes(body: &Value) -> Attributes {
    let of = |kind: &str, field: &str| text(body, &["spec", kind, field]).to_owned();
    if at(body, &["spec", "resourceAttributes"]).is_none() {
        let field = |field| of("nonResourceAttributes", field);
        return Attributes::path(&field("verb"), &field("path"));
    }
    let field = |field: &str| of("resourceAttributes", field);
    Attributes::resource(&field("verb"), Resource::read(field))
}

/// Whom a review is about.
fn subject(body: &Value) -> User {
    let extra = at(body, &["spec", "extra"]).and_then(Value::as_object).into_iter().flatten();
    let extra: BTreeMap<_, _> = extra.map(|(key, values)| (key.clone(), texts(values, &[]))).collect();
    User {
        name: text(body, &["spec", "user"]).to_owned(),
        uid: text(body, &["spec", "uid"]).to_owned(),
        groups: texts(body, &["spec", "groups"]),
        extra,
    }
}

/// A kind is not named: the real server has lost it by the time it looks.
fn valid(errors: impl IntoIterator<Item = Vec<Error>>) -> Result<(), Status> {
    let errors: Vec<_> = errors.into_iter().flatten().collect();
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(&GroupKind::new(GROUP, ""), "", &errors)) }
}

fn access_errors(body: &Value) -> Vec<Error> {
    let resource = at(body, &["spec", "resourceAttributes"]);
    match (resource, at(body, &["spec", "nonResourceAttributes"])) {
        (Some(_), Some(_)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            vec![Error::invalid("spec.nonResourceAttributes", path_attributes(body), why)]
        }
        (None, None) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            vec![Error::invalid("spec.resourceAttributes", Value::Null, why)]
        }
        _ => Vec::new(),
    }
}

fn subject_errors(body: &Value) -> Vec<Error> {
    let nobody = text(body, &["spec", "user"]).is_empty() && texts(body, &["spec", "groups"]).is_empty();
    let error = || Error::invalid("spec.user", "", "at least one of user or group must be specified");
    nobody.then(error).into_iter().collect()
}

fn selector_errors(body: &Value) -> Vec<Error> {
    selector::errors(body)
}

fn metadata_errors(body: &Value, local: bool) -> Vec<Error> {
    let metadata = at(body, &["metadata"]).and_then(Value::as_object).into_iter().flatten();
    let mut fields = metadata.filter(|(_, value)| !is_nothing(value)).map(|(name, _)| name.as_str());
    let passes = |name: &str| name == "managedFields" || (local && name == "namespace");
    let why = if local { "must be empty except for namespace" } else { "must be empty" };
    let error = || Error::invalid("metadata", body["metadata"].clone(), why);
    fields.any(|name| !passes(name)).then(error).into_iter().collect()
}

fn local_errors(body: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    let wanted = text(body, &["spec", "resourceAttributes", "namespace"]);
    let has_resource = at(body, &["spec", "resourceAttributes"]).is_some();
    if has_resource && wanted != text(body, &["metadata", "namespace"]) {
        let why = "must match metadata.namespace";
        errors.push(Error::invalid("spec.resourceAttributes.namespace", wanted, why));
    }
    if at(body, &["spec", "nonResourceAttributes"]).is_some() {
        let why = "disallowed on this kind of request";
        errors.push(Error::invalid("spec.nonResourceAttributes", path_attributes(body), why));
    }
    errors
}

/// With the names that the fields have inside the real server.
fn path_attributes(body: &Value) -> Value {
    let field = |field| text(body, &["spec", "nonResourceAttributes", field]);
    json!({"Path": field("path"), "Verb": field("verb")})
}

fn resource_rule(rule: &Rule) -> Value {
    Rule { non_resource_urls: Vec::new(), ..rule.clone() }.to_json()
}

fn url_rule(rule: &Rule) -> Value {
    json!({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls})
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
