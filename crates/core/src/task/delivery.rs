//! What is done with the work of a task, from what it is, what may leave, and how the remote stands at that moment.

use asb_types::tasks::{DeliveryMode, DeliveryRules, Reason, Verdict};

/// The most that a change may have if nobody says.
pub const MAX_BYTES: i64 = 100 << 20;

/// The work, as the broker holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// What the branch stands at.
    pub commit: String,
    /// Whether it differs at all from what it began from.
    pub is_change: bool,
    /// How many bytes it adds.
    pub bytes: i64,
    /// Paths in it that are protected.
    pub protected: Vec<String>,
    /// What in it looks like a secret: which sort, in which file.
    pub secrets: Vec<String>,
    pub verdict: Option<Verdict>,
}

/// What the remote has under the branch's name: a commit, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// When the task began.
    pub before: Option<String>,
    pub now: Option<String>,
    /// Whether the work continues what is there now.
    pub is_continued: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Push, if the branch still stands at this commit, or is absent.
    Push { lease: Option<String> },
    /// An earlier attempt pushed it already: read it back.
    ReadBack,
    /// There is nothing to push.
    Unchanged,
    /// It stays here.
    Keep(Reason),
}

pub fn decide(work: &Work, rules: &DeliveryRules, remote: &Remote) -> Decision {
    if !work.is_change {
        return Decision::Unchanged;
    }
    if let Some(reason) = objection(work, rules) {
        return Decision::Keep(reason);
    }
    match (&remote.now, &remote.before) {
        (Some(now), _) if *now == work.commit => Decision::ReadBack,
        (None, None) => Decision::Push { lease: None },
        (Some(now), before) if before.as_ref() == Some(now) && (remote.is_continued || rules.force) => {
            Decision::Push { lease: Some(now.clone()) }
        }
        (now, before) => Decision::Keep(moved(before.as_deref(), now.as_deref())),
    }
}

fn objection(work: &Work, rules: &DeliveryRules) -> Option<Reason> {
    let most = rules.max_bytes.unwrap_or(MAX_BYTES);
    let found = |code: &str, message: String| Some(Reason { code: code.to_owned(), message });
    if rules.mode == DeliveryMode::WhenVerified && work.verdict == Some(Verdict::Failed) {
        return found(
            "VerifyFailed",
            "a verify command failed, so nothing was pushed; the work is kept".into(),
        );
    }
    if !work.protected.is_empty() {
        let paths = listed(&work.protected);
        return found(
            "ProtectedPath",
            format!("the change touches what delivery.protectedPaths protects: {paths}"),
        );
    }
    if !work.secrets.is_empty() && !rules.allow_secrets {
        let secrets = listed(&work.secrets);
        let message = format!(
            "the change has what looks like secrets: {secrets}; look at the work, and set delivery.allowSecrets if it is none"
        );
        return found("SecretFound", message);
    }
    if work.bytes > most {
        let message = format!("the change has {} bytes, and delivery.maxBytes is {most}", work.bytes);
        return found("TooLarge", message);
    }
    None
}

fn moved(before: Option<&str>, now: Option<&str>) -> Reason {
    let (code, message) = match (before, now) {
        (Some(_), None) => ("BranchGone", "the branch was deleted on the remote while the task ran"),
        (before, now) if before == now => (
            "BranchExists",
            "the branch has commits on the remote that the work does not continue: name another newBranch, or set delivery.force",
        ),
        _ => ("BranchMoved", "the branch was changed on the remote while the task ran"),
    };
    Reason { code: code.to_owned(), message: format!("{message}; the work is kept") }
}

/// The first few, and how many more.
fn listed(all: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = all.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if all.len() > SHOWN { format!("{shown} and {} more", all.len() - SHOWN) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() -> Work {
        Work {
            commit: "c1".into(),
            is_change: true,
            bytes: 10,
            protected: vec![],
            secrets: vec![],
            verdict: Some(Verdict::Passed),
        }
    }

    fn remote(before: Option<&str>, now: Option<&str>, is_continued: bool) -> Remote {
        Remote { before: before.map(Into::into), now: now.map(Into::into), is_continued }
    }

    fn code(decision: Decision) -> String {
        match decision {
            Decision::Push { lease } => format!("push over {}", lease.unwrap_or_else(|| "nothing".into())),
            Decision::ReadBack => "read back".into(),
            Decision::Unchanged => "unchanged".into(),
            Decision::Keep(reason) => reason.code,
        }
    }

    #[test]
    fn the_remote_decides_how_it_is_pushed() {
        let rules = DeliveryRules::default();
        let forced = DeliveryRules { force: true, ..Default::default() };
        let said =
            |rules, before, now, continued| code(decide(&work(), rules, &remote(before, now, continued)));
        assert_eq!(said(&rules, None, None, false), "push over nothing");
        assert_eq!(said(&rules, None, Some("c1"), true), "read back", "an answer that was lost");
        assert_eq!(said(&rules, None, Some("x"), true), "BranchMoved", "somebody else was quicker");
        assert_eq!(said(&rules, Some("b"), Some("b"), true), "push over b");
        assert_eq!(said(&rules, Some("b"), Some("b"), false), "BranchExists");
        assert_eq!(said(&forced, Some("b"), Some("b"), false), "push over b");
        assert_eq!(said(&forced, Some("b"), Some("x"), false), "BranchMoved", "force is for what was known");
        assert_eq!(said(&forced, Some("b"), None, false), "BranchGone");
    }

    #[test]
    fn what_may_not_leave_stays() {
        let rules = DeliveryRules::default();
        let said = |work: Work, rules: &DeliveryRules| code(decide(&work, rules, &Remote::default()));
        assert_eq!(said(Work { is_change: false, ..work() }, &rules), "unchanged");
        assert_eq!(said(Work { protected: vec![".github/x".into()], ..work() }, &rules), "ProtectedPath");
        assert_eq!(said(Work { bytes: MAX_BYTES + 1, ..work() }, &rules), "TooLarge");
        assert_eq!(said(Work { verdict: Some(Verdict::Failed), ..work() }, &rules), "VerifyFailed");
        let leaky = || Work { secrets: vec!["a key in x".into()], ..work() };
        assert_eq!(said(leaky(), &rules), "SecretFound");
        assert_eq!(
            said(leaky(), &DeliveryRules { allow_secrets: true, ..Default::default() }),
            "push over nothing"
        );
        let always = DeliveryRules { mode: DeliveryMode::Always, ..Default::default() };
        assert_eq!(said(Work { verdict: Some(Verdict::Failed), ..work() }, &always), "push over nothing");
    }
}
