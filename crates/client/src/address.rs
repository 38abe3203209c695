//! Names as people type them: `box`, `team/box`, `claim/box`, `team/claim/box`. Which object is meant is decided here,
//! from what there is; looking it up is left to `resolve`.

use std::fmt;
use std::str::FromStr;

/// What somebody typed to name a Sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub namespace: Option<String>,
    /// Only where it was said.
    pub kind: Option<KindHint>,
    pub name: String,
}

/// Whether a name is said to be a Sandbox's or a claim's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindHint {
    Sandbox,
    Claim,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no name of a sandbox; write NAME, NAMESPACE/NAME, sandbox/NAME or claim/NAME")]
pub struct BadAddress {
    pub text: String,
}

/// One thing that a name may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    Sandbox(String),
    /// A claim, and the Sandbox that it has.
    Claim {
        claim: String,
        sandbox: Option<String>,
    },
}

impl Address {
    /// A Sandbox or a claim in the namespace that is meant where none is named.
    pub fn named(name: impl Into<String>) -> Self {
        Self { namespace: None, kind: None, name: name.into() }
    }
}

impl KindHint {
    fn read(text: &str) -> Option<Self> {
        match text {
            "sandbox" | "sandboxes" => Some(Self::Sandbox),
            "claim" | "claims" | "sandboxclaim" | "sandboxclaims" => Some(Self::Claim),
            _ => None,
        }
    }
}

impl FromStr for Address {
    type Err = BadAddress;

    /// The words for the kinds are read as such; a namespace of such a name is reached by other means.
    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let bad = || BadAddress { text: text.to_owned() };
        let parts: Vec<&str> = text.split('/').collect();
        if parts.iter().any(|part| !is_name(part)) {
            return Err(bad());
        }
        let (namespace, kind, name) = match parts[..] {
            [name] => (None, None, name),
            [first, name] => match KindHint::read(first) {
                Some(kind) => (None, Some(kind), name),
                None => (Some(first), None, name),
            },
            [namespace, kind, name] => (Some(namespace), Some(KindHint::read(kind).ok_or_else(bad)?), name),
            _ => return Err(bad()),
        };
        Ok(Self { namespace: namespace.map(str::to_owned), kind, name: name.to_owned() })
    }
}

/// Whether Kubernetes could have an object of that name, or nearly: it has the last word.
fn is_name(text: &str) -> bool {
    let is_part = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-' || it == '.';
    !text.is_empty() && text.len() <= 253 && text.chars().all(is_part) && !text.starts_with(['-', '.'])
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(formatter, "{namespace}/")?;
        }
        match self.kind {
            None => {}
            Some(KindHint::Sandbox) => write!(formatter, "sandbox/")?,
            Some(KindHint::Claim) => write!(formatter, "claim/")?,
        }
        write!(formatter, "{}", self.name)
    }
}

impl fmt::Display for Match {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sandbox(name) => write!(formatter, "sandbox/{name}"),
            Self::Claim { claim, sandbox: None } => {
                write!(formatter, "claim/{claim} (without a Sandbox yet)")
            }
            Self::Claim { claim, sandbox: Some(sandbox) } => {
                write!(formatter, "claim/{claim} (Sandbox {sandbox})")
            }
        }
    }
}

/// What a name means, given whether there is a Sandbox of that name, and the claim of that name if there is one. A claim
/// whose Sandbox bears its own name is no second meaning.
pub(crate) fn choose(
    address: &Address,
    has_sandbox: bool,
    claim: Option<Match>,
) -> Result<Option<Match>, Vec<Match>> {
    let name = &address.name;
    let sandbox =
        (has_sandbox && address.kind != Some(KindHint::Claim)).then(|| Match::Sandbox(name.clone()));
    let claim = claim.filter(|_| address.kind != Some(KindHint::Sandbox));
    match (sandbox, claim) {
        (Some(Match::Sandbox(own)), Some(Match::Claim { sandbox: Some(claimed), .. })) if own == claimed => {
            Ok(Some(Match::Sandbox(own)))
        }
        (Some(sandbox), Some(claim)) => Err(vec![sandbox, claim]),
        (sandbox, claim) => Ok(sandbox.or(claim)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Address {
        text.parse().unwrap()
    }

    fn claim(sandbox: Option<&str>) -> Match {
        Match::Claim { claim: "box".to_owned(), sandbox: sandbox.map(str::to_owned) }
    }

    #[test]
    fn addresses_are_written_as_they_are_read() {
        for text in ["box", "team/box", "claim/box", "sandbox/box", "team/claim/box", "a.b-c1"] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(read("team/box").namespace.as_deref(), Some("team"));
        assert_eq!(read("sandboxclaim/box").kind, Some(KindHint::Claim));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "/", "Box", "a/", "/a", "a/b/c", "-rf", "a b", "../x", "a/claim/b/c", "x:y"] {
            assert!(text.parse::<Address>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_sandbox_is_found_by_its_name_and_else_by_its_claims() {
        let address = read("box");
        assert_eq!(choose(&address, true, None), Ok(Some(Match::Sandbox("box".to_owned()))));
        for claim in [claim(Some("pool-x1")), claim(None)] {
            assert_eq!(choose(&address, false, Some(claim.clone())), Ok(Some(claim)));
        }
        assert_eq!(choose(&address, false, None), Ok(None));
    }

    #[test]
    fn a_claim_whose_sandbox_bears_its_name_is_no_second_meaning() {
        let found = choose(&read("box"), true, Some(claim(Some("box"))));
        assert_eq!(found, Ok(Some(Match::Sandbox("box".to_owned()))));
    }

    #[test]
    fn two_meanings_are_listed_and_a_word_chooses_between_them() {
        let claimed = || Some(claim(Some("pool-x1")));
        let candidates = choose(&read("box"), true, claimed()).unwrap_err();
        let names: Vec<String> = candidates.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["sandbox/box", "claim/box (Sandbox pool-x1)"]);
        assert_eq!(choose(&read("claim/box"), true, claimed()), Ok(claimed()));
        assert_eq!(choose(&read("sandbox/box"), true, claimed()), Ok(Some(Match::Sandbox("box".to_owned()))));
    }
}
