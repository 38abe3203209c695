//! Groups under `k8s.io` and `kubernetes.io` belong to the Kubernetes community: their definitions say who approved.

use serde_json::Value;

use super::reading::text;
use crate::field::{Error, Quoted};

const ANNOTATION: &str = "api-approved.kubernetes.io";
const PULL: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What an annotation says about approval, and that in words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Missing,
    Bypassed,
    Approved,
    Invalid,
}

/// Only a change of the annotation is looked at.
pub(super) fn validate(crd: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
    let state = state(crd);
    if !is_protected(crd) || old.is_some_and(|old| self::state(old) == state) {
        return;
    }
    let field = format!("metadata.annotations[{ANNOTATION}]");
    match state {
        State::Missing => errors.push(Error::required(field, reason(crd))),
        State::Invalid => errors.push(Error::invalid(field, annotation(crd), reason(crd))),
        State::Bypassed | State::Approved => {}
    }
}

/// The status and reason of the condition, and its message; none where the group is anybody's.
pub(super) fn condition(crd: &Value) -> Option<(&'static str, &'static str, String)> {
    if !is_protected(crd) {
        return None;
    }
    let (status, why) = match state(crd) {
        State::Missing => ("False", "MissingAnnotation"),
        State::Bypassed => ("False", "UnapprovedAnnotation"),
        State::Approved => ("True", "ApprovedAnnotation"),
        State::Invalid => ("False", "InvalidAnnotation"),
    };
    Some((status, why, reason(crd)))
}

fn is_protected(crd: &Value) -> bool {
    let group = text(&crd["spec"], "group");
    ["k8s.io", "kubernetes.io"].iter().any(|owned| {
        group.strip_suffix(owned).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}

fn annotation(crd: &Value) -> &str {
    text(&crd["metadata"]["annotations"], ANNOTATION)
}

fn state(crd: &Value) -> State {
    match annotation(crd) {
        "" => State::Missing,
        text if text.starts_with("unapproved") => State::Bypassed,
        text if is_url(text) => State::Approved,
        _ => State::Invalid,
    }
}

fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && !host.is_empty()
        && !text.contains(' ')
}

fn reason(crd: &Value) -> String {
    let annotation = annotation(crd);
    match state(crd) {
        State::Missing => format!("protected groups must have approval annotation \"{ANNOTATION}\", {PULL}"),
        State::Bypassed => format!("not approved: {}", Quoted(annotation)),
        State::Approved => format!("approved in {annotation}"),
        State::Invalid => format!(
            "protected groups must have approval annotation \"{ANNOTATION}\" with either a URL or a reason starting \
             with \"unapproved\", {PULL}"
        ),
    }
}
