//! Names whose short hashes are equal. Selectors and network policies go by the hash, so that only one of such objects
//! can be served: the one that is served already, or else the one that was there first.

use asb_types::conditions::{READY, sandbox_ready};
use asb_types::hash::fnv1a_hex;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::conditions;
use crate::object::{Metadata, Uid};

/// An object that may have to share its hash with others.
#[derive(Clone, Copy, Debug)]
pub struct Contender<'a> {
    metadata: &'a Metadata,
    is_established: bool,
}

/// The object of the same kind and namespace that has the hash of this one's name and comes before it.
pub fn elder<'a>(
    one: Contender<'_>,
    others: impl IntoIterator<Item = Contender<'a>>,
) -> Option<&'a Metadata> {
    let hash = fnv1a_hex(one.metadata.name());
    let collides = |other: &Contender<'_>| {
        other.metadata.key.namespace == one.metadata.key.namespace
            && other.metadata.key.name != one.metadata.key.name
            && fnv1a_hex(other.metadata.name()) == hash
    };
    let elders = others.into_iter().filter(|other| collides(other) && other.rank() < one.rank());
    elders.min_by_key(Contender::rank).map(|elder| elder.metadata)
}

impl<'a> Contender<'a> {
    /// An object is established that was let through once, as its condition Ready says; or, before it says anything, that
    /// has got something: a Pod, a member, a NetworkPolicy. What is there is not taken from under the feet of its users,
    /// whatever the clocks said.
    pub fn new(metadata: &'a Metadata, conditions: &[Condition], has_something: bool) -> Self {
        let reason = sandbox_ready::NAME_HASH_COLLISION;
        let said = conditions::find(conditions, READY).map(|ready| ready.reason != reason);
        Self { metadata, is_established: said.unwrap_or(has_something) }
    }

    /// Who comes first. Creation times have whole seconds.
    fn rank(&self) -> (bool, Timestamp, &'a Uid) {
        (!self.is_established, self.metadata.created, &self.metadata.uid)
    }
}

/// What a refused object says about it.
pub fn message(elder: &Metadata) -> String {
    format!("the hash of the name is that of {:?}, which was there first; use another name", elder.name())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Two names of one hash.
    const TWINS: [&str; 2] = ["costarring", "liquid"];

    fn named(name: &str, uid: &str, second: u32) -> Metadata {
        let created = format!("2030-01-01T00:00:{second:02}Z");
        let metadata = json!({"name": name, "namespace": "n", "uid": uid, "resourceVersion": "1", "creationTimestamp": created});
        Metadata::read(&json!({"metadata": metadata})).unwrap()
    }

    fn saying(reason: &str) -> Vec<Condition> {
        serde_json::from_value(json!([{"type": "Ready", "status": "False", "reason": reason, "message": "",
            "lastTransitionTime": "2030-01-01T00:00:00Z"}]))
        .unwrap()
    }

    fn new(metadata: &Metadata) -> Contender<'_> {
        Contender::new(metadata, &[], false)
    }

    /// Whether the one is served and the other is not.
    fn stays(one: Contender<'_>, other: Contender<'_>) -> bool {
        let is_refused = elder(one, [one, other]).is_some();
        assert_ne!(is_refused, elder(other, [one, other]).is_some(), "just one of them is served");
        !is_refused
    }

    #[test]
    fn who_was_there_first_stays() {
        assert!(stays(new(&named(TWINS[0], "b", 1)), new(&named(TWINS[1], "a", 2))));
    }

    #[test]
    fn of_two_made_in_one_second_the_smaller_uid_stays() {
        assert!(stays(new(&named(TWINS[0], "a", 1)), new(&named(TWINS[1], "b", 1))));
    }

    #[test]
    fn who_is_served_already_stays_whatever_the_clocks_said() {
        let (older, younger) = (named(TWINS[0], "a", 1), named(TWINS[1], "b", 2));
        let (filling, refused) = (saying("Filling"), saying("NameHashCollision"));
        let served = Contender::new(&younger, &filling, false);
        assert!(stays(served, new(&older)));
        assert!(stays(served, Contender::new(&older, &refused, true)), "it was refused before");
        assert!(!stays(served, Contender::new(&older, &filling, false)), "both are: then the older");
    }

    #[test]
    fn who_has_something_before_anybody_has_said_anything_stays() {
        let (older, younger) = (named(TWINS[0], "a", 1), named(TWINS[1], "b", 1));
        assert!(stays(Contender::new(&younger, &[], true), new(&older)));
    }

    #[test]
    fn names_of_different_hashes_get_on() {
        assert_eq!(elder(new(&named("a", "b", 2)), [new(&named("b", "a", 1))]), None);
    }
}
