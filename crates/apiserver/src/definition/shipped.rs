//! Whether a stored definition of ours gives way to the one that this program ships, and what becomes of it. ADR 4 has the
//! reasons. Writing it is for others.

use std::io;

use asb_types::annotations::{AUTO_UPDATE, DEFINITION_REVISION, DEFINITION_SEAL};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{Context, SHA256};
use serde_json::Value;

use super::reading::{list, text, texts};
use crate::object::Object;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Upkeep {
    Nothing,
    Replace(Value, Cause),
    Leave(Reason),
}

/// Why a stored definition differs from the shipped one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It is of an older program.
    Outdated,
    /// It is of this revision: somebody changed it.
    Edited,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its owner says so.
    Marked,
    /// It is of a newer program, which may have stored what only its own definition lets through.
    Newer,
    /// It is going away.
    Deleting,
}

/// Both are complete with defaults.
pub(crate) fn upkeep(stored: &Value, shipped: &Value) -> Upkeep {
    let updated = updated(stored, shipped);
    let (old, new) = (revision(stored), revision(shipped));
    if updated == *stored {
        Upkeep::Nothing
    } else if stored.is_deleting() {
        Upkeep::Leave(Reason::Deleting)
    } else if annotation(stored, AUTO_UPDATE) == "false" {
        Upkeep::Leave(Reason::Marked)
    } else if old > new {
        Upkeep::Leave(Reason::Newer)
    } else {
        Upkeep::Replace(updated, if old < new { Cause::Outdated } else { Cause::Edited })
    }
}

/// The stored definition with the shipped spec. Labels and annotations that are not ours stay.
fn updated(stored: &Value, shipped: &Value) -> Value {
    let mut updated = stored.clone();
    updated["spec"] = shipped["spec"].clone();
    if let Some(versions) = updated["spec"]["versions"].as_array_mut() {
        versions.extend(still_stored(stored, shipped));
    }
    updated["metadata"]["annotations"][DEFINITION_REVISION] = annotation(shipped, DEFINITION_REVISION).into();
    updated
}

/// Versions that objects may still be stored in, and that the shipped definition has no more. They go once a storage
/// migration has taken them out of the status.
fn still_stored(stored: &Value, shipped: &Value) -> Vec<Value> {
    let in_use = texts(&stored["status"], "storedVersions");
    let is_shipped =
        |name: &str| list(&shipped["spec"], "versions").iter().any(|it| text(it, "name") == name);
    let versions = list(&stored["spec"], "versions").iter();
    let kept = versions.filter(|version| {
        let name = text(version, "name");
        in_use.iter().any(|used| used == name) && !is_shipped(name)
    });
    kept.cloned().map(not_storage).collect()
}

fn not_storage(mut version: Value) -> Value {
    version["storage"] = false.into();
    version
}

/// None counts as older than any.
fn revision(definition: &Value) -> u64 {
    annotation(definition, DEFINITION_REVISION).parse().unwrap_or_default()
}

fn annotation<'a>(definition: &'a Value, name: &str) -> &'a str {
    definition.meta("annotations").map(|annotations| text(annotations, name)).unwrap_or_default()
}

/// Marks a definition as what this program makes of a document of its own, so that the next start need not derive it.
pub(crate) fn seal(definition: &mut Value, document: &str) {
    let seal = seal_of(definition, document);
    definition["metadata"]["annotations"][DEFINITION_SEAL] = seal.into();
}

/// Whether nothing changed since: neither the document nor the spec.
pub(crate) fn is_sealed(definition: &Value, document: &str) -> bool {
    let seal = annotation(definition, DEFINITION_SEAL);
    !seal.is_empty() && seal == seal_of(definition, document)
}

fn seal_of(definition: &Value, document: &str) -> String {
    let mut hash = Hash(Context::new(&SHA256));
    hash.0.update(document.as_bytes());
    serde_json::to_writer(&mut hash, &definition["spec"]).expect("a hash takes everything");
    URL_SAFE_NO_PAD.encode(hash.0.finish())
}

struct Hash(Context);

impl io::Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(revision: &str, versions: &[&str]) -> Value {
        let versions: Vec<Value> = versions.iter().map(|name| version(name, *name == "v1beta1")).collect();
        json!({
            "metadata": {"name": "d", "annotations": {DEFINITION_REVISION: revision}},
            "spec": {"group": "g", "versions": versions},
        })
    }

    fn version(name: &str, storage: bool) -> Value {
        json!({"name": name, "served": true, "storage": storage})
    }

    fn replaced(stored: &Value, shipped: &Value) -> (Value, Cause) {
        match upkeep(stored, shipped) {
            Upkeep::Replace(object, cause) => (object, cause),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_current_stays() {
        let current = definition("2", &["v1beta1"]);
        assert_eq!(upkeep(&current, &current), Upkeep::Nothing);
    }

    #[test]
    fn an_older_definition_is_updated_and_keeps_what_is_not_ours() {
        let mut stored = definition("1", &["v1alpha1"]);
        stored["metadata"]["labels"] = json!({"theirs": "1"});
        stored["metadata"]["annotations"]["theirs"] = "1".into();
        stored["status"] = json!({"storedVersions": ["v1alpha1"]});
        let shipped = definition("2", &["v1beta1", "v1alpha1"]);
        let (updated, cause) = replaced(&stored, &shipped);
        assert_eq!((cause, &updated["spec"]), (Cause::Outdated, &shipped["spec"]));
        assert_eq!(updated["metadata"]["labels"], json!({"theirs": "1"}));
        assert_eq!(updated["metadata"]["annotations"], json!({DEFINITION_REVISION: "2", "theirs": "1"}));
        assert_eq!(updated["status"], stored["status"]);
    }

    #[test]
    fn a_definition_without_a_revision_is_older_than_any() {
        for revision in [json!({}), json!({DEFINITION_REVISION: "odd"}), json!(null)] {
            let mut stored = definition("1", &["v1beta1"]);
            stored["metadata"]["annotations"] = revision;
            assert_eq!(replaced(&stored, &definition("1", &["v1beta1"])).1, Cause::Outdated);
        }
    }

    #[test]
    fn a_definition_that_somebody_changed_is_put_back() {
        let shipped = definition("1", &["v1beta1", "v1alpha1"]);
        let (updated, cause) = replaced(&definition("1", &["v1beta1"]), &shipped);
        assert_eq!((updated, cause), (shipped, Cause::Edited));
    }

    #[test]
    fn a_marked_a_newer_and_a_deleted_definition_stay() {
        let shipped = definition("2", &["v1beta1"]);
        let with = |field: &str, value: Value| {
            let mut stored = definition("1", &["v1alpha1"]);
            stored["metadata"][field] = value;
            stored
        };
        let marked = with("annotations", json!({AUTO_UPDATE: "false"}));
        let deleted = with("deletionTimestamp", "2026-01-01T00:00:00Z".into());
        assert_eq!(upkeep(&marked, &shipped), Upkeep::Leave(Reason::Marked));
        assert_eq!(upkeep(&deleted, &shipped), Upkeep::Leave(Reason::Deleting));
        assert_eq!(upkeep(&definition("10", &["v1beta1"]), &shipped), Upkeep::Leave(Reason::Newer));
    }

    #[test]
    fn a_version_that_objects_are_stored_in_is_not_lost() {
        let mut stored = definition("1", &["v1alpha1", "v1beta1", "v0"]);
        stored["status"] = json!({"storedVersions": ["v1alpha1", "v1beta1"]});
        stored["spec"]["versions"] =
            json!([version("v1alpha1", true), version("v1beta1", false), version("v0", false)]);
        let shipped = definition("2", &["v1beta1"]);
        let (updated, _) = replaced(&stored, &shipped);
        assert_eq!(
            updated["spec"]["versions"],
            json!([version("v1beta1", true), version("v1alpha1", false)])
        );
        assert_eq!(upkeep(&updated, &shipped), Upkeep::Nothing);
    }

    #[test]
    fn a_seal_is_broken_by_a_new_document_and_by_another_spec() {
        let mut sealed = definition("1", &["v1beta1"]);
        seal(&mut sealed, "document");
        assert!(is_sealed(&sealed, "document"));
        assert!(!is_sealed(&sealed, "another document"));
        sealed["spec"]["group"] = "other".into();
        assert!(!is_sealed(&sealed, "document"));
        assert!(!is_sealed(&definition("1", &["v1beta1"]), "document"));
    }
}
