//! The selectors in the attributes of a review. RBAC does not look at them; what is checked is that they are well-formed,
//! and what is told is where they were ignored because they are not.

use serde_json::Value;

use crate::field::Error;
use crate::names;
use crate::security::json::{at, text, texts};
use crate::selector::{FieldSelector, LabelSelector};

const PATH: &str = "spec.resourceAttributes";

#[derive(Clone, Copy)]
enum Kind {
    Field,
    Label,
}

/// How much of a selector could be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    All,
    Some,
    Nothing,
}

/// What is wrong with the selectors of a review.
pub(super) fn errors(body: &Value) -> Vec<Error> {
    [Kind::Field, Kind::Label].into_iter().flat_map(|kind| selector_errors(body, kind)).collect()
}

/// Which selectors of a valid review are ignored, for the status; empty where none is.
pub(super) fn ignored(body: &Value) -> String {
    let ignored = [Kind::Field, Kind::Label].into_iter().filter_map(|kind| {
        let partially = match read(at(body, &["spec", "resourceAttributes", kind.name()])?, kind) {
            Read::All => return None,
            Read::Some => " partially",
            Read::Nothing => "",
        };
        Some(format!("{PATH}.{}{partially} ignored due to parse error", kind.name()))
    });
    ignored.collect::<Vec<_>>().join("; ")
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Field => "fieldSelector",
            Self::Label => "labelSelector",
        }
    }
}

fn selector_errors(body: &Value, kind: Kind) -> Vec<Error> {
    let Some(selector) = at(body, &["spec", "resourceAttributes", kind.name()]) else { return Vec::new() };
    let path = format!("{PATH}.{}", kind.name());
    let (raw, requirements) = (text(selector, &["rawSelector"]), requirements(selector));
    let mut errors = Vec::new();
    if !raw.is_empty() && !requirements.is_empty() {
        let why = "may not specified at the same time as requirements";
        errors.push(Error::invalid(format!("{path}.rawSelector"), raw, why));
    }
    if raw.is_empty() && requirements.is_empty() {
        let why = format!("when {path} is specified, requirements or rawSelector is required");
        errors.push(Error::required(format!("{path}.requirements"), why));
    }
    for (position, requirement) in requirements.iter().enumerate() {
        errors.extend(requirement_errors(requirement, kind, &format!("{path}.requirements[{position}]")));
    }
    errors
}

/// Operators that are not known here may be known to a newer client, and are let through.
fn requirement_errors(requirement: &Value, kind: Kind, path: &str) -> Vec<Error> {
    let (key, values) = (text(requirement, &["key"]), texts(requirement, &["values"]));
    let values_path = format!("{path}.values");
    let of_values = match (text(requirement, &["operator"]), values.is_empty()) {
        ("In" | "NotIn", true) => {
            Some(Error::required(values_path, "must be specified when `operator` is 'In' or 'NotIn'"))
        }
        ("Exists" | "DoesNotExist", false) => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            Some(Error::forbidden(values_path, why))
        }
        _ => None,
    };
    match kind {
        Kind::Field => {
            let of_key = key.is_empty().then(|| Error::required(format!("{path}.key"), "must be specified"));
            of_key.into_iter().chain(of_values).collect()
        }
        Kind::Label => of_values.into_iter().chain(label_errors(key, &values, path)).collect(),
    }
}

fn label_errors(key: &str, values: &[String], path: &str) -> Vec<Error> {
    let of_key = names::qualified_name(key).into_iter();
    let of_key = of_key.map(|problem| Error::invalid(format!("{path}.key"), key, problem));
    let of_values = values.iter().enumerate().flat_map(|(position, value)| {
        let problems = names::label_value(value).into_iter();
        problems
            .map(move |problem| Error::invalid(format!("{path}.values[{position}]"), value.as_str(), problem))
    });
    of_key.chain(of_values).collect()
}

fn read(selector: &Value, kind: Kind) -> Read {
    let raw = text(selector, &["rawSelector"]);
    if !raw.is_empty() {
        let readable = match kind {
            Kind::Field => FieldSelector::parse(raw).is_ok(),
            Kind::Label => LabelSelector::parse(raw).is_ok(),
        };
        return if readable { Read::All } else { Read::Nothing };
    }
    let requirements = requirements(selector);
    let readable = requirements.iter().filter(|requirement| is_readable(requirement, kind)).count();
    match readable {
        all if all == requirements.len() => Read::All,
        0 => Read::Nothing,
        _ => Read::Some,
    }
}

/// Field selectors know equality and inequality with one value, and nothing else yet.
fn is_readable(requirement: &Value, kind: Kind) -> bool {
    let (operator, values) = (text(requirement, &["operator"]), texts(requirement, &["values"]));
    match kind {
        Kind::Field => matches!(operator, "In" | "NotIn") && values.len() == 1,
        Kind::Label => matches!(operator, "In" | "NotIn" | "Exists" | "DoesNotExist"),
    }
}

fn requirements(selector: &Value) -> &[Value] {
    at(selector, &["requirements"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
