//! Tokens of a Pod's service account: which it needs, and when they are due to be replaced. Leaves asking for them to others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, ServiceAccountTokenProjection};

/// Where a Pod says nothing.
const USUAL_SECONDS: i64 = 3600;

/// What to ask the API server for, bound to the Pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wish {
    /// The API server itself, where none is named.
    pub audience: Option<String>,
    pub seconds: i64,
}

impl Wish {
    pub(super) fn of(source: &ServiceAccountTokenProjection) -> Self {
        Self {
            audience: source.audience.clone().filter(|audience| !audience.is_empty()),
            seconds: source.expiration_seconds.unwrap_or(USUAL_SECONDS),
        }
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub issued: Timestamp,
    pub expires: Timestamp,
}

/// Without the token.
impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text: _, issued, expires } = self;
        formatter
            .debug_struct("Token")
            .field("issued", issued)
            .field("expires", expires)
            .finish_non_exhaustive()
    }
}

impl Token {
    /// When four fifths of its time are over, or when it is this old.
    pub fn renewal(&self, oldest: Duration) -> Timestamp {
        let life = self.expires.duration_since(self.issued);
        let oldest = SignedDuration::try_from(oldest).unwrap_or(SignedDuration::MAX);
        self.issued.checked_add((life * 4 / 5).min(oldest)).unwrap_or(self.expires)
    }
}

/// Those that one Pod has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens(BTreeMap<Wish, Token>);

impl Tokens {
    pub fn get(&self, wish: &Wish) -> Option<&Token> {
        self.0.get(wish)
    }

    pub fn insert(&mut self, wish: Wish, token: Token) {
        self.0.insert(wish, token);
    }

    /// Those to ask for now: missing or due. An old one is used for as long as there is no other.
    pub fn needed(&self, pod: &Pod, oldest: Duration, now: Timestamp) -> BTreeSet<Wish> {
        let is_due = |wish: &Wish| self.get(wish).is_none_or(|token| token.renewal(oldest) <= now);
        wishes(pod).into_iter().filter(is_due).collect()
    }
}

fn wishes(pod: &Pod) -> BTreeSet<Wish> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let projected = volumes.filter_map(|volume| volume.projected.as_ref());
    let sources = projected.flat_map(|projected| projected.sources.iter().flatten());
    sources.filter_map(|source| source.service_account_token.as_ref()).map(Wish::of).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn token(life: i64) -> Token {
        Token { text: "t".into(), issued: at(0), expires: at(life) }
    }

    fn pod() -> Pod {
        let source = |seconds: i64| json!({"serviceAccountToken": {"path": seconds.to_string(), "expirationSeconds": seconds}});
        let projected = json!({"sources": [source(600), source(7200), source(600)]});
        let volumes = json!([{"name": "t", "projected": projected}, {"name": "e", "emptyDir": {}}]);
        serde_json::from_value(json!({"metadata": {}, "spec": {"containers": [], "volumes": volumes}}))
            .unwrap()
    }

    #[test]
    fn a_token_is_replaced_well_before_it_ends_and_when_it_is_old() {
        assert_eq!(token(1000).renewal(DAY), at(800));
        assert_eq!(token(365 * 86_400).renewal(DAY), at(86_400));
        assert_eq!(token(1000).renewal(Duration::from_secs(3)), at(3));
    }

    #[test]
    fn each_token_is_asked_for_once_and_again_when_it_is_due() {
        let (pod, mut tokens) = (pod(), Tokens::default());
        let all: Vec<_> = tokens.needed(&pod, DAY, at(0)).into_iter().collect();
        assert_eq!(all.iter().map(|wish| wish.seconds).collect::<Vec<_>>(), [600, 7200]);
        for wish in all {
            let life = wish.seconds;
            tokens.insert(wish, token(life));
        }
        assert_eq!(tokens.needed(&pod, DAY, at(479)), BTreeSet::new());
        assert_eq!(tokens.needed(&pod, DAY, at(480)).len(), 1);
    }

    #[test]
    fn a_token_is_never_printed() {
        assert!(!format!("{:?}", Token { text: "hush".into(), ..token(1) }).contains("hush"));
    }
}
