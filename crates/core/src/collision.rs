//! Names whose short hashes are equal. Selectors and network policies go by the hash, so that only one of such objects
//! can be served; the one that was there first is.

use asb_types::annotations::POD_NAME;
use asb_types::hash::fnv1a_hex;
use jiff::Timestamp;

use crate::object::{Metadata, Uid};

/// The object of the same kind and namespace that has the hash of this one's name and came first.
pub fn elder<'a>(
    metadata: &Metadata,
    others: impl IntoIterator<Item = &'a Metadata>,
) -> Option<&'a Metadata> {
    let hash = fnv1a_hex(metadata.name());
    let collides = |other: &Metadata| {
        other.key.namespace == metadata.key.namespace
            && other.key.name != metadata.key.name
            && fnv1a_hex(other.name()) == hash
    };
    others
        .into_iter()
        .filter(|other| collides(other) && rank(other) < rank(metadata))
        .min_by_key(|other| rank(other))
}

/// Who comes first. Creation times have whole seconds: of two Sandboxes made in one, the one that has its Pod already does.
fn rank(metadata: &Metadata) -> (Timestamp, bool, &Uid) {
    (metadata.created, metadata.annotation(POD_NAME).is_none(), &metadata.uid)
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

    #[test]
    fn who_was_there_first_stays() {
        let (first, second) = (named(TWINS[0], "b", 1), named(TWINS[1], "a", 2));
        assert_eq!(elder(&second, [&first, &second]), Some(&first));
        assert_eq!(elder(&first, [&first, &second]), None);
    }

    #[test]
    fn of_two_made_in_one_second_the_smaller_uid_stays() {
        let (first, second) = (named(TWINS[0], "b", 1), named(TWINS[1], "a", 1));
        assert_eq!(elder(&first, [&second]), Some(&second));
        assert_eq!(elder(&second, [&first]), None);
    }

    #[test]
    fn of_two_made_in_one_second_the_one_that_has_its_pod_stays() {
        let (mut first, second) = (named(TWINS[0], "b", 1), named(TWINS[1], "a", 1));
        first.annotations.insert(POD_NAME.to_owned(), TWINS[0].to_owned());
        assert_eq!(elder(&first, [&second]), None);
        assert_eq!(elder(&second, [&first]), Some(&first));
    }

    #[test]
    fn names_of_different_hashes_get_on() {
        assert_eq!(elder(&named("a", "b", 2), [&named("b", "a", 1)]), None);
    }
}
