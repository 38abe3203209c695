//! Known differences that stay, each with its reason. One that no longer shows fails the suite, so that the list says
//! what is true.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::case::HOME;
use crate::difference::Difference;

#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Deviations(Vec<Deviation>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviation {
    /// `area/file: name of the case`
    case: String,
    /// Counted from 1.
    step: usize,
    /// A pointer into the answer; the whole step if absent.
    #[serde(default)]
    at: String,
    reason: String,
}

impl Deviations {
    pub(crate) fn read() -> Result<Self> {
        let path = Path::new(HOME).join("deviations.yaml");
        let text = fs::read_to_string(&path)?;
        serde_saphyr::from_str(&text).with_context(|| format!("cannot read {}", path.display()))
    }

    /// For Kubernetes itself, which has none.
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn must_be_about(&self, cases: &[String]) -> Result<()> {
        for Deviation { case, reason, .. } in &self.0 {
            ensure!(cases.contains(case), "a deviation is about an unknown case: {case}");
            ensure!(!reason.trim().is_empty(), "a deviation has no reason: {case}");
        }
        Ok(())
    }

    /// Takes away the differences of a step (counted from 1) that are known, and remembers which entries were needed.
    pub(crate) fn excuse(
        &self,
        case: &str,
        step: usize,
        found: &mut Vec<Difference>,
        used: &mut BTreeSet<usize>,
    ) {
        for (index, known) in self.0.iter().enumerate().filter(|(_, it)| it.case == case && it.step == step) {
            let before = found.len();
            found.retain(|difference| !is_within(&difference.at, &known.at));
            if found.len() < before {
                used.insert(index);
            }
        }
    }

    /// Entries about a case that it did not need.
    pub(crate) fn idle(&self, case: &str, used: &BTreeSet<usize>) -> Vec<String> {
        let idle = self.0.iter().enumerate().filter(|(index, it)| it.case == case && !used.contains(index));
        idle.map(|(_, it)| format!("    the deviation of step {} at {:?} shows no more", it.step, it.at))
            .collect()
    }
}

fn is_within(pointer: &str, outer: &str) -> bool {
    pointer.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::Deviations;
    use crate::difference::differences;

    fn one(reason: &str) -> Deviations {
        let list = json!([{"case": "a/b: c", "step": 1, "at": "/body/message", "reason": reason}]);
        serde_json::from_value(list).expect("a list of deviations")
    }

    #[test]
    fn a_known_difference_is_excused_and_others_are_not() {
        let (expected, got) = (json!({"body": {"message": 1, "messages": 1}}), json!({"body": {}}));
        let (mut found, mut used) = (differences(&expected, &got), BTreeSet::new());
        one("because").excuse("a/b: c", 1, &mut found, &mut used);
        assert_eq!(found.iter().map(|it| it.at.as_str()).collect::<Vec<_>>(), ["/body/messages"]);
        assert!(one("because").idle("a/b: c", &used).is_empty());
    }

    #[test]
    fn an_entry_that_nothing_needs_is_told() {
        assert_eq!(one("because").idle("a/b: c", &BTreeSet::new()).len(), 1);
        assert!(one("because").idle("a/b: other", &BTreeSet::new()).is_empty());
    }

    #[test]
    fn an_entry_needs_a_reason_and_a_case() {
        let cases = ["a/b: c".to_owned()];
        assert!(one("because").must_be_about(&cases).is_ok());
        assert!(one(" ").must_be_about(&cases).is_err());
        assert!(one("because").must_be_about(&[]).is_err());
    }
}
