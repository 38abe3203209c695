//! The version and kind of an object, and whether they are those that the path of the request is about.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{Expected, typed};
use crate::go::kind_of;
use crate::status::Status;

/// The version and kind that an object says it is of.
pub(super) struct Identity {
    pub api_version: String,
    pub kind: String,
}

impl Identity {
    pub(super) fn of(object: &Value) -> Self {
        let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
        Self { api_version: text("apiVersion"), kind: text("kind") }
    }

    pub(super) fn refused(&self, expected: Expected, why: &str) -> Status {
        let version = self.api_version.rsplit('/').next().unwrap_or_default();
        let (kind, expected) = (&self.kind, expected.kind);
        Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {expected}: {why}"
        ))
    }

    pub(super) fn unregistered(&self) -> String {
        let (kind, version) = (&self.kind, &self.api_version);
        let scheme = "in scheme \"pkg/runtime/scheme.go:111\"";
        format!("no kind \"{kind}\" is registered for version \"{version}\" {scheme}")
    }

    /// Kubernetes would convert between versions of one kind; all that it cannot convert is refused.
    pub(super) fn check_kind(&self, expected: Expected) -> Result<(), Status> {
        let Self { api_version, kind } = self;
        if !typed::known(api_version, kind) {
            return Err(self.refused(expected, &self.unregistered()));
        }
        if kind != expected.kind {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            let group = expected.api_version.split_once('/').map_or("core", |(group, _)| group);
            let package = group.split('.').next().unwrap_or_default();
            let why =
                format!("converting ({version}.{kind}) to ({package}.{}): unknown conversion", expected.kind);
            return Err(self.refused(expected, &why));
        }
        Ok(())
    }

    pub(super) fn check_version(&self, expected: Expected) -> Result<(), Status> {
        // Options may be sent in the version of any group.
        if self.api_version == expected.api_version || self.kind == "DeleteOptions" {
            return Ok(());
        }
        Err(Status::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            self.api_version, expected.api_version
        )))
    }
}

/// Why a body is no object, and what it says that it is, if it got that far.
pub(super) struct Unreadable {
    pub why: String,
    pub identity: Option<Identity>,
}

impl Unreadable {
    pub(super) fn refused(&self, expected: Expected, body: &[u8]) -> Status {
        let Self { why, identity } = self;
        match identity {
            Some(identity) => identity.refused(expected, why),
            None => Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): {why} ({})",
                expected.kind,
                summary(body)
            )),
        }
    }
}

impl From<String> for Unreadable {
    fn from(why: String) -> Self {
        Self { why, identity: None }
    }
}

/// The start of a body that could not be made sense of.
fn summary(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(30)];
    let dots = if bytes.len() > start.len() { " ..." } else { "" };
    match bytes.first() {
        None => "<empty>".into(),
        Some(b'{') => format!("{}{dots}", String::from_utf8_lossy(start)),
        Some(_) => format!("{}{dots}", hexadecimal(start)),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text can always be added to");
        text
    })
}

/// Gives an object of a kind of Kubernetes itself the version and kind that it does not name; others must name their kind.
/// Nothing at all is an object without fields.
pub(super) fn name(object: &mut Value, expected: Expected, body: &[u8]) -> Result<(), String> {
    if object.is_null() {
        *object = Value::Object(Map::new());
    }
    let found = kind_of(object);
    let fields = object.as_object_mut().ok_or_else(|| {
        let target = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        parse_error(&format!("cannot unmarshal {found} into Go value of type {target}"))
    })?;
    for (name, default) in [("apiVersion", expected.api_version), ("kind", expected.kind)] {
        let is_missing = text(fields, name)?.is_empty();
        if is_missing && expected.is_typed() {
            fields.insert(name.into(), default.into());
        } else if is_missing && name == "kind" {
            return Err(format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(body)));
        }
    }
    match text(fields, "apiVersion")? {
        version if version.matches('/').count() > 1 => {
            Err(format!("unexpected GroupVersion string: {version}"))
        }
        _ => Ok(()),
    }
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(other) => {
            let found = kind_of(other);
            Err(parse_error(&format!("cannot unmarshal {found} into Go struct field .{name} of type string")))
        }
    }
}

fn parse_error(why: &str) -> String {
    format!("couldn't get version/kind; json parse error: json: {why}")
}
