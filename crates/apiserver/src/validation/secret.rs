//! Secrets, and what those of Kubernetes' own types hold.

use serde_json::Value;

use super::at::{At, Report};
use super::config_map::{MOST_OF_DATA, decoded, decoded_length, sealed, value_key};
use super::metadata::{self, NameRule};

pub(super) fn create(secret: &At) {
    metadata::new_of_kubernetes(&secret.field("metadata"), true, NameRule::Dns1123Subdomain);
    let data = secret.field("data");
    let mut size = 0;
    for (key, value) in data.entries() {
        value_key(&value, key);
        size += decoded_length(value.text());
    }
    if size > MOST_OF_DATA {
        data.too_long(MOST_OF_DATA);
    }
    contents(secret, &data);
}

pub(super) fn update(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    let silent = Report::default();
    let before = new.other(old, &silent);
    metadata::immutable_text(&new.field("type"), &before.field("type"));
    sealed(new, old, &["data"]);
    create(new);
}

fn contents(secret: &At, data: &At) {
    match secret.text_of("type") {
        "kubernetes.io/service-account-token" => {
            let metadata = secret.field("metadata");
            let annotations = metadata.field("annotations");
            annotations.key("kubernetes.io/service-account.name").must_be_given();
        }
        "kubernetes.io/dockercfg" => json(&data.key(".dockercfg")),
        "kubernetes.io/dockerconfigjson" => json(&data.key(".dockerconfigjson")),
        "kubernetes.io/basic-auth" if !data.has("username") && !data.has("password") => {
            data.key("username").required("");
            data.key("password").required("");
        }
        "kubernetes.io/ssh-auth" => {
            data.key("ssh-privatekey").must_be_given();
        }
        "kubernetes.io/tls" => ["tls.crt", "tls.key"].into_iter().for_each(|name| exists(&data.key(name))),
        _ => {}
    }
}

fn exists(value: &At) {
    if !value.exists() {
        value.required("");
    }
}

fn json(value: &At) {
    if !value.exists() {
        return value.required("");
    }
    let contents = decoded(value.text());
    if let Err(problem) = serde_json::from_slice::<serde_json::Map<String, Value>>(&contents) {
        value.invalid("<secret contents redacted>", in_go_words(&contents, &problem));
    }
}

/// The commonest of the messages that Go's JSON decoder has.
fn in_go_words(contents: &[u8], problem: &serde_json::Error) -> String {
    if problem.is_eof() {
        return "unexpected end of JSON input".into();
    }
    let kind = match serde_json::from_slice::<Value>(contents) {
        Ok(Value::Array(_)) => "array",
        Ok(Value::String(_)) => "string",
        Ok(Value::Number(_)) => "number",
        Ok(Value::Bool(_)) => "bool",
        _ => {
            let first = contents
                .iter()
                .find(|byte| !byte.is_ascii_whitespace())
                .map_or(' ', |byte| char::from(*byte));
            return format!("invalid character '{first}' looking for beginning of value");
        }
    };
    format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
}
