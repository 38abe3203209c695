//! DefaultTolerationSeconds: a Pod stays five minutes on a node that is not ready or cannot be reached. And how
//! tolerations of a Pod and of its runtime class become one list.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::pointer::{self, text};

const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const SECONDS: i64 = 300;

pub(super) fn add_defaults(pod: &mut Value) {
    let missing = TAINTS.map(|key| (key, !tolerates(pod, key)));
    for (key, _) in missing.into_iter().filter(|(_, missing)| *missing) {
        let toleration =
            json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS});
        pointer::push(pod, "/spec/tolerations", toleration);
    }
}

fn tolerates(pod: &Value, taint: &str) -> bool {
    pointer::list(pod, "/spec/tolerations").iter().any(|toleration| {
        let (key, effect) = (text(toleration, "/key"), text(toleration, "/effect"));
        (key.is_empty() || key == taint) && (effect.is_empty() || effect == "NoExecute")
    })
}

/// Both lists, without what another toleration in them covers.
pub(super) fn merged(first: &[Value], second: &[Value]) -> Vec<Value> {
    let all: Vec<&Value> = first.iter().chain(second).collect();
    let mut later = Widest::default();
    let covered_later: Vec<bool> =
        all.iter().rev().map(|toleration| later.covers_then_add(toleration)).collect();
    let (mut earlier, mut seen, mut merged) = (Widest::default(), HashSet::new(), Vec::new());
    for (toleration, is_covered_later) in all.into_iter().zip(covered_later.into_iter().rev()) {
        let is_covered = is_covered_later || earlier.covers(toleration);
        if !is_covered && seen.insert(toleration.to_string()) {
            earlier.add(toleration);
            merged.push(toleration.clone());
        }
    }
    merged
}

/// The tolerations that last longest among those that tolerate the same, so that a Pod with very many is no burden.
/// Two are enough: one may be the very toleration that is asked about, which does not count.
#[derive(Default)]
struct Widest<'a>(HashMap<Tolerated<'a>, [Option<&'a Value>; 2]>);

/// What is tolerated: a key, a value unless it is any, and an effect.
type Tolerated<'a> = (&'a str, Option<&'a str>, &'a str);

impl<'a> Widest<'a> {
    fn covers_then_add(&mut self, toleration: &'a Value) -> bool {
        let is_covered = self.covers(toleration);
        self.add(toleration);
        is_covered
    }

    fn add(&mut self, toleration: &'a Value) {
        let value = match text(toleration, "/operator") {
            "" | "Equal" => Some(text(toleration, "/value")),
            "Exists" => None,
            // Others are compared with numbers, and cover nothing.
            _ => return,
        };
        let tolerated = (text(toleration, "/key"), value, text(toleration, "/effect"));
        let [longest, second] = self.0.entry(tolerated).or_default();
        let is_longer = |than: Option<&Value>| than.is_none_or(|than| lasts(toleration) > lasts(than));
        if is_longer(*longest) {
            (*longest, *second) = (Some(toleration), *longest);
        } else if *longest != Some(toleration) && is_longer(*second) {
            *second = Some(toleration);
        }
    }

    /// Whether another toleration tolerates all that this one does.
    fn covers(&self, narrow: &Value) -> bool {
        let (key, effect) = (text(narrow, "/key"), text(narrow, "/effect"));
        let value = (text(narrow, "/operator") == "Equal").then(|| text(narrow, "/value"));
        let exact = value.map(|value| (key, Some(value)));
        let wider = [Some((key, None)), Some(("", None)), exact].into_iter().flatten();
        let mut wider = wider.flat_map(|(key, value)| [(key, value, effect), (key, value, "")]);
        wider.any(|tolerated| {
            let candidates = self.0.get(&tolerated).into_iter().flatten().flatten();
            let mut others = candidates.filter(|other| **other != narrow);
            others.any(|other| tolerated.2 != "NoExecute" || lasts(other) >= lasts(narrow))
        })
    }
}

/// How long an eviction is put off; for ever, where nothing is said.
fn lasts(toleration: &Value) -> i64 {
    toleration["tolerationSeconds"].as_i64().unwrap_or(i64::MAX)
}
