//! Fields of the Pod that its containers may ask for, as variables or as files.

use std::collections::BTreeMap;
use std::fmt::Write;

use k8s_openapi::api::core::v1::Pod;

use super::Error;

/// Addresses, the primary one first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whereabouts<'a> {
    pub pod: &'a [String],
    pub node: &'a [String],
}

/// What is at a field path. A label or annotation that is not there is empty.
pub fn value(pod: &Pod, path: &str, at: &Whereabouts<'_>) -> Result<String, Error> {
    let metadata = &pod.metadata;
    let spec = pod.spec.as_ref();
    if let Some((map, key)) = subscript(path) {
        let entries = match map {
            "metadata.labels" => metadata.labels.as_ref(),
            "metadata.annotations" => metadata.annotations.as_ref(),
            _ => return Err(Error::Field(path.to_owned())),
        };
        return Ok(text(entries.and_then(|entries| entries.get(key))));
    }
    Ok(match path {
        "metadata.name" => text(metadata.name.as_ref()),
        "metadata.namespace" => text(metadata.namespace.as_ref()),
        "metadata.uid" => text(metadata.uid.as_ref()),
        "metadata.labels" => lines(metadata.labels.as_ref()),
        "metadata.annotations" => lines(metadata.annotations.as_ref()),
        "spec.nodeName" => text(spec.and_then(|spec| spec.node_name.as_ref())),
        "spec.serviceAccountName" => text(spec.and_then(|spec| spec.service_account_name.as_ref())),
        "status.hostIP" => text(at.node.first()),
        "status.hostIPs" => at.node.join(","),
        "status.podIP" => text(at.pod.first()),
        "status.podIPs" => at.pod.join(","),
        _ => return Err(Error::Field(path.to_owned())),
    })
}

/// `metadata.labels['app']` as map and key.
fn subscript(path: &str) -> Option<(&str, &str)> {
    path.strip_suffix("']")?.split_once("['")
}

fn text(text: Option<&String>) -> String {
    text.cloned().unwrap_or_default()
}

fn lines(entries: Option<&BTreeMap<String, String>>) -> String {
    let line = |(key, value): (&String, &String)| format!("{key}={}", quoted(value));
    entries.into_iter().flatten().map(line).collect::<Vec<_>>().join("\n")
}

/// In quotes with what cannot be printed escaped, the way that Go does and readers of these files expect.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for sign in text.chars() {
        match sign {
            '"' | '\\' => quoted.extend(['\\', sign]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            sign if sign.is_ascii_control() => {
                write!(quoted, "\\x{:02x}", u32::from(sign)).expect("a string takes all");
            }
            sign if sign.is_control() => {
                write!(quoted, "\\u{:04x}", u32::from(sign)).expect("a string takes all");
            }
            sign => quoted.push(sign),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(path: &str) -> Result<String, Error> {
        let pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"b": "2", "a/x": "1\n\"\u{1}é"}},
            "spec": {"containers": [], "nodeName": "here", "serviceAccountName": "robot"},
        }));
        let (pods, nodes) = (["10.0.0.2".to_owned(), "fd00::2".to_owned()], ["192.0.2.1".to_owned()]);
        value(&pod.unwrap(), path, &Whereabouts { pod: &pods, node: &nodes })
    }

    #[test]
    fn every_field_that_can_be_asked_for_has_its_value() {
        for (path, expected) in [
            ("metadata.name", "p"),
            ("metadata.namespace", "n"),
            ("metadata.uid", "u"),
            ("metadata.labels['b']", "2"),
            ("metadata.labels['none']", ""),
            ("metadata.annotations['none']", ""),
            ("metadata.labels", "a/x=\"1\\n\\\"\\x01é\"\nb=\"2\""),
            ("metadata.annotations", ""),
            ("spec.nodeName", "here"),
            ("spec.serviceAccountName", "robot"),
            ("status.podIP", "10.0.0.2"),
            ("status.podIPs", "10.0.0.2,fd00::2"),
            ("status.hostIP", "192.0.2.1"),
            ("status.hostIPs", "192.0.2.1"),
        ] {
            assert_eq!(field(path).unwrap(), expected, "{path}");
        }
    }

    #[test]
    fn other_fields_are_refused_by_name() {
        assert_eq!(field("spec.hostname").unwrap_err().to_string(), "unsupported fieldPath: spec.hostname");
        assert_eq!(
            field("spec.nodeSelector['a']").unwrap_err(),
            Error::Field("spec.nodeSelector['a']".into())
        );
    }
}
