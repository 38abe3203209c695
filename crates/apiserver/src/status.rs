//! What the server says when it does not do what it was asked: a Status with the code, reason, message and details that
//! Kubernetes' clients look at. How it is put on the wire is for the transport to decide.

use serde_json::{Map, Value, json};

use crate::field::{self, Quoted};
use crate::identity::{GroupKind, GroupResource};

/// A refusal, in the words of `metav1.Status`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
    pub details: Option<Box<Details>>,
}

/// What the refusal is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    pub name: String,
    pub group: String,
    /// A kind, or a resource where only that is known.
    pub kind: String,
    pub uid: String,
    pub causes: Vec<Cause>,
    pub retry_after_seconds: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    pub reason: String,
    pub message: String,
    pub field: String,
}

/// A precondition on a stored object that does not hold.
#[derive(Clone, Copy, Debug)]
pub struct Unmet<'a> {
    /// Where Kubernetes would keep the object.
    pub key: &'a str,
    /// What of it was asked for, in the words of messages.
    pub title: &'a str,
    pub wanted: &'a str,
    pub actual: &'a str,
}

impl Status {
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} not found", Quoted(name));
        Self::new(404, "NotFound", message).about(resource, name)
    }

    /// A path under which nothing is served.
    pub fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self { details: Some(Box::default()), ..Self::new(404, "NotFound", message) }
    }

    /// A path of a group or version that nobody defines, which Kubernetes answers without a Status.
    pub(crate) fn no_such_page() -> Self {
        Self::new(404, "", "404 page not found")
    }

    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} already exists", Quoted(name));
        Self::new(409, "AlreadyExists", message).about(resource, name)
    }

    pub fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {}: {why}", Quoted(name));
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// A conflict in the words of Kubernetes' storage.
    pub(crate) fn unmet(resource: &GroupResource, name: &str, unmet: Unmet<'_>) -> Self {
        let Unmet { key, title, wanted, actual } = unmet;
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
             failed: {title} in precondition: {wanted}, {title} in object meta: {actual}"
        );
        Self::conflict(resource, name, &why)
    }

    pub fn forbidden(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = match name {
            "" => format!("{resource} is forbidden: {why}"),
            name => format!("{resource} {} is forbidden: {why}", Quoted(name)),
        };
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// A method that a path does not know.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self { details: Some(Box::default()), ..Self::new(405, "MethodNotAllowed", message) }
    }

    pub fn method_not_supported(resource: &GroupResource, action: &str) -> Self {
        let message = format!("{action} is not supported on resources of kind \"{resource}\"");
        Self::new(405, "MethodNotAllowed", message).about(resource, "")
    }

    /// A revision that the history no longer reaches back to.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub fn too_large(message: &str) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: {message}"))
    }

    pub fn internal(cause: &str) -> Self {
        let cause = Cause { reason: String::new(), message: cause.to_owned(), field: String::new() };
        let message = format!("Internal error occurred: {}", cause.message);
        let details = Details { causes: vec![cause], ..Details::default() };
        Self { details: Some(Box::new(details)), ..Self::new(500, "InternalError", message) }
    }

    /// What Kubernetes gives no reason for.
    pub fn unexplained(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// An object that breaks rules, with one cause for each field that does.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &[field::Error]) -> Self {
        let message = format!("{kind} {} is invalid{}", Quoted(name), field::summary(errors));
        let causes = errors.iter().map(Cause::from).collect();
        let details = Details {
            name: name.into(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            causes,
            ..Details::default()
        };
        Self { details: Some(Box::new(details)), ..Self::new(422, "Invalid", message) }
    }

    /// The same refusal, saying which object it is about.
    #[must_use]
    pub fn about(mut self, resource: &GroupResource, name: &str) -> Self {
        let mut details = self.details.take().unwrap_or_default();
        (details.name, details.group, details.kind) =
            (name.to_owned(), resource.group.clone(), resource.resource.clone());
        Self { details: Some(details), ..self }
    }

    /// The same refusal, with the uid of the object that it is about.
    #[must_use]
    pub fn with_uid(mut self, uid: &str) -> Self {
        uid.clone_into(&mut self.details.get_or_insert_default().uid);
        self
    }

    #[must_use]
    pub fn with_causes(mut self, causes: Vec<Cause>) -> Self {
        self.details.get_or_insert_default().causes = causes;
        self
    }

    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    pub fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "code": self.code,
        });
        let fields = [("message", self.message.as_str()), ("reason", self.reason)];
        fields
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .for_each(|(name, text)| status[name] = text.into());
        if let Some(details) = &self.details {
            status["details"] = details.to_json();
        }
        status
    }
}

impl Details {
    fn to_json(&self) -> Value {
        let texts = [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)];
        let mut fields: Map<String, Value> = texts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name.to_owned(), text.as_str().into()))
            .collect();
        if !self.causes.is_empty() {
            fields.insert("causes".into(), self.causes.iter().map(Cause::to_json).collect());
        }
        if self.retry_after_seconds > 0 {
            fields.insert("retryAfterSeconds".into(), self.retry_after_seconds.into());
        }
        fields.into()
    }
}

impl Cause {
    fn to_json(&self) -> Value {
        let texts = [("reason", &self.reason), ("message", &self.message), ("field", &self.field)];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        texts.map(|(name, text)| (name.to_owned(), Value::from(text.as_str()))).collect::<Map<_, _>>().into()
    }
}

impl From<&field::Error> for Cause {
    fn from(error: &field::Error) -> Self {
        Self { reason: error.problem.reason().into(), message: error.body(), field: error.field.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_object_is_named_with_its_resource() {
        let pods = GroupResource::new("", "pods");
        let expected = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404,
            "reason": "NotFound", "message": "pods \"demo\" not found",
            "details": {"name": "demo", "kind": "pods"},
        });
        assert_eq!(Status::not_found(&pods, "demo").to_json(), expected);
    }

    #[test]
    fn an_invalid_object_has_a_cause_for_each_field() {
        let kind = GroupKind::new("apps", "Deployment");
        let errors =
            [field::Error::required("spec.a", ""), field::Error::invalid("spec.b", "x", "must not be x")];
        let status = Status::invalid(&kind, "web", &errors);
        let message = "Deployment.apps \"web\" is invalid: [spec.a: Required value, \
                       spec.b: Invalid value: \"x\": must not be x]";
        assert_eq!(status.message, message);
        let causes = &status.to_json()["details"]["causes"];
        assert_eq!(
            causes[0],
            json!({"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"})
        );
    }
}
