//! Which script a Pod gets: the default, or the first rule that matches, and on top of it what the Pod's own
//! annotations say. They are read at every look, so changing an annotation changes a running Pod's fate.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::core::{Expression, Selector, SelectorExt};

use super::script::{Outcome, Script};

const PREFIX: &str = "fake-kubelet.test/";

/// Which Pods a rule is for.
#[derive(Clone, Debug)]
pub enum Match {
    Labels(Selector),
    NamePrefix(String),
}

/// The scripts of one fake kubelet.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) default: Script,
    pub(super) rules: Vec<(Match, Script)>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("annotation {PREFIX}{key} cannot be {value:?}: {wanted}")]
struct BadAnnotation {
    key: String,
    value: String,
    wanted: &'static str,
}

impl Match {
    pub fn label(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self::Labels(Expression::Equal(key.into(), value.into()).into())
    }

    pub fn name_prefix(prefix: impl Into<String>) -> Self {
        Self::NamePrefix(prefix.into())
    }

    fn covers(&self, pod: &Pod) -> bool {
        match self {
            Self::Labels(selector) => selector.matches(pod.labels()),
            Self::NamePrefix(prefix) => pod.name_any().starts_with(prefix),
        }
    }
}

impl Rules {
    /// Total: a Pod whose annotations make no sense fails and says so, where its author will look.
    pub(super) fn script(&self, pod: &Pod) -> Script {
        let matching = self.rules.iter().find(|(rule, _)| rule.covers(pod));
        let script = matching.map_or(&self.default, |(_, script)| script).clone();
        annotated(script, pod)
            .unwrap_or_else(|error| Script::fail(1).pod_reason("BadScript", error.to_string()))
    }
}

fn annotated(script: Script, pod: &Pod) -> Result<Script, BadAnnotation> {
    pod.annotations()
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(PREFIX)?, value.as_str())))
        .try_fold(script, |script, (key, value)| amended(script, key, value))
}

fn amended(script: Script, key: &str, value: &str) -> Result<Script, BadAnnotation> {
    let bad = |wanted| BadAnnotation { key: key.to_owned(), value: value.to_owned(), wanted };
    let delay = || duration(value).ok_or_else(|| bad("wants a duration such as 50ms"));
    Ok(match key {
        "outcome" => Script { outcome: outcome(value).ok_or_else(|| bad(OUTCOMES))?, ..script },
        "start-after" => script.start_after(delay()?),
        "ready-after" => script.ready_after(delay()?),
        "finish-after" => script.finish_after(delay()?),
        "terminate-after" => script.terminate_after(delay()?),
        "exit-code" => Script { exit_code: Some(exit_code(value).ok_or_else(|| bad(EXIT_CODE))?), ..script },
        "reason" => script.reason(value),
        "pod-reason" => script.pod_reason(value, "as the Pod's annotation asked"),
        _ => return Err(bad("no such setting")),
    })
}

const OUTCOMES: &str = "wants run, succeed, fail, never-ready or unschedulable";
const EXIT_CODE: &str = "wants a number from 0 to 255";

fn outcome(word: &str) -> Option<Outcome> {
    Some(match word {
        "run" => Outcome::Run,
        "succeed" => Outcome::Succeed,
        "fail" => Outcome::Fail,
        "never-ready" => Outcome::NeverReady,
        "unschedulable" => Outcome::Unschedulable,
        _ => return None,
    })
}

fn duration(text: &str) -> Option<Duration> {
    text.parse::<SignedDuration>().ok()?.try_into().ok()
}

fn exit_code(text: &str) -> Option<i32> {
    text.parse::<u8>().ok().map(i32::from)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::pod;
    use super::*;

    fn rules() -> Rules {
        let rules = vec![
            (Match::name_prefix("job-"), Script::succeed()),
            (Match::label("app", "broken"), Script::never_ready()),
        ];
        Rules { default: Script::run(), rules }
    }

    #[test]
    fn a_pod_without_wishes_gets_the_default() {
        assert_eq!(rules().script(&pod("demo")), Script::run());
    }

    #[test]
    fn the_first_matching_rule_wins() {
        assert_eq!(rules().script(&pod("job-1").label("app", "broken")), Script::succeed());
        assert_eq!(rules().script(&pod("demo").label("app", "broken")), Script::never_ready());
    }

    #[test]
    fn annotations_amend_the_rule() {
        let pod =
            pod("job-1").script("outcome", "fail").script("exit-code", "3").script("ready-after", "50ms");
        let script = rules().script(&pod);
        assert_eq!(script, Script::fail(3).ready_after(Duration::from_millis(50)));
    }

    #[test]
    fn an_annotation_without_meaning_fails_the_pod_and_says_why() {
        let script = rules().script(&pod("demo").script("ready-after", "soon"));
        let why =
            "annotation fake-kubelet.test/ready-after cannot be \"soon\": wants a duration such as 50ms";
        assert_eq!(script, Script::fail(1).pod_reason("BadScript", why));
    }

    #[test]
    fn an_unknown_setting_is_no_meaning_either() {
        let script = rules().script(&pod("demo").script("readyafter", "1s"));
        assert_eq!(script.outcome, Outcome::Fail);
    }

    #[test]
    fn no_delay_is_negative() {
        assert_eq!(duration("-1s"), None);
        assert_eq!(duration("1m 30s"), Some(Duration::from_secs(90)));
    }
}
