//! What a request asks for beside the object: the options in its query, and the body of a deletion.

use serde_json::{Value, json};

use super::at::{At, examine};
use super::metadata::field_manager;
use crate::field::Error;

/// The options of a request that writes, as far as they have rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    pub dry_run: Vec<String>,
    pub field_manager: String,
    pub field_validation: String,
}

/// The options of a patch, beside those of any write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patch {
    Apply,
    /// `force` says whether the option is there at all.
    Other {
        force: bool,
    },
}

/// The options of a list or watch, as far as they have rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    pub watch: bool,
    pub resource_version: String,
    pub resource_version_match: String,
    pub continuation: String,
    pub send_initial_events: Option<bool>,
}

/// Of a creation or an update.
pub fn write(options: &WriteOptions) -> Vec<Error> {
    examine(&written(options), written_rules)
}

pub fn patch(options: &WriteOptions, patch: Patch) -> Vec<Error> {
    examine(&written(options), |query| {
        match patch {
            Patch::Apply if options.field_manager.is_empty() => {
                query.field("fieldManager").required("is required for apply patch");
            }
            Patch::Other { force: true } => {
                query.field("force").forbidden("may not be specified for non-apply patch");
            }
            Patch::Apply | Patch::Other { force: false } => {}
        }
        written_rules(query);
    })
}

fn written(options: &WriteOptions) -> Value {
    json!({
        "dryRun": options.dry_run,
        "fieldManager": options.field_manager,
        "fieldValidation": options.field_validation,
    })
}

fn written_rules(query: &At) {
    field_manager(&query.field("fieldManager"));
    dry_run(&query.field("dryRun"));
    query.field("fieldValidation").must_be_one_of(&["", "Ignore", "Strict", "Warn"]);
}

fn dry_run(stages: &At) {
    if stages.texts().any(|stage| stage != "All") {
        stages.not_supported(stages.value.clone(), &["All"]);
    }
}

/// The body of a deletion, `DeleteOptions`.
pub fn delete(options: &Value) -> Vec<Error> {
    examine(options, |options| {
        let policy = options.field("propagationPolicy");
        if policy.exists() && options.has("orphanDependents") {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            policy.invalid(policy.value.clone(), detail);
        }
        policy.may_be_one_of(&["Foreground", "Background", "Orphan", "nil"]);
        if policy.text() == "nil" {
            policy.not_supported("nil", &["Foreground", "Background", "Orphan", "nil"]);
        }
        dry_run(&options.field("dryRun"));
        unsafely(options);
    })
}

/// Deleting what cannot be read goes with nothing else.
fn unsafely(options: &At) {
    let place = options.field("ignoreStoreReadErrorWithClusterBreakingPotential");
    if !place.flag() {
        return;
    }
    for name in ["dryRun", "propagationPolicy", "orphanDependents", "gracePeriodSeconds", "preconditions"] {
        let option = options.field(name);
        if option.exists() && !(name == "dryRun" && option.is_empty()) {
            place.invalid(true, format!("cannot be set together with .{name}"));
        }
    }
}

/// Of a list, or of a watch.
pub fn list(options: &ListOptions) -> Vec<Error> {
    examine(&json!({}), |query| if options.watch { watched(query, options) } else { listed(query, options) })
}

fn listed(query: &At, options: &ListOptions) {
    let place = query.field("resourceVersionMatch");
    let (version, wanted) = (options.resource_version.as_str(), options.resource_version_match.as_str());
    if !wanted.is_empty() {
        if version.is_empty() {
            place.forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !options.continuation.is_empty() {
            place.forbidden("resourceVersionMatch is forbidden when continue is provided");
        }
        if !["Exact", "NotOlderThan"].contains(&wanted) {
            place.not_supported(wanted, &["Exact", "NotOlderThan", ""]);
        }
        if wanted == "Exact" && version == "0" {
            place.forbidden("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
    }
    if options.send_initial_events.is_some() {
        query.field("sendInitialEvents").forbidden("sendInitialEvents is forbidden for list");
    }
}

fn watched(query: &At, options: &ListOptions) {
    let place = query.field("resourceVersionMatch");
    let wanted = options.resource_version_match.as_str();
    if options.send_initial_events.is_some() && wanted != "NotOlderThan" {
        place.forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if wanted.is_empty() {
        return;
    }
    if options.send_initial_events.is_none() {
        place.forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    }
    if wanted != "NotOlderThan" {
        place.not_supported(wanted, &["NotOlderThan"]);
    }
    if !options.continuation.is_empty() {
        place.forbidden("resourceVersionMatch is forbidden when continue is provided");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(errors: Vec<Error>) -> Vec<String> {
        errors.iter().map(Error::to_string).collect()
    }

    #[test]
    fn a_dry_run_is_of_all_stages_or_none() {
        let options = WriteOptions { dry_run: vec!["Some".into()], ..WriteOptions::default() };
        assert_eq!(
            texts(write(&options)),
            [r#"dryRun: Unsupported value: ["Some"]: supported values: "All""#]
        );
    }

    #[test]
    fn applying_takes_a_manager() {
        let errors = texts(patch(&WriteOptions::default(), Patch::Apply));
        assert_eq!(errors, ["fieldManager: Required value: is required for apply patch"]);
        let errors = texts(patch(&WriteOptions::default(), Patch::Other { force: true }));
        assert_eq!(errors, ["force: Forbidden: may not be specified for non-apply patch"]);
        let named = WriteOptions { field_manager: "me".into(), ..WriteOptions::default() };
        assert_eq!(patch(&named, Patch::Apply), []);
    }

    #[test]
    fn a_manager_has_a_short_and_printable_name() {
        let options =
            WriteOptions { field_manager: "a\n".to_owned() + &"b".repeat(127), ..WriteOptions::default() };
        let errors = texts(write(&options));
        assert_eq!(errors[0], "fieldManager: Too long: may not be more than 128 bytes");
        assert!(errors[1].ends_with(": invalid character U+000A (at position 1)"), "{}", errors[1]);
        let fine = WriteOptions { field_manager: "fine name-1.é".into(), ..WriteOptions::default() };
        assert_eq!(write(&fine), []);
    }

    #[test]
    fn a_match_needs_a_version() {
        let options = ListOptions { resource_version_match: "Exact".into(), ..ListOptions::default() };
        let expected = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
        assert_eq!(texts(list(&options)), [expected]);
        let watch = ListOptions { watch: true, send_initial_events: Some(true), ..ListOptions::default() };
        let expected = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        assert_eq!(texts(list(&watch)), [expected]);
    }

    #[test]
    fn a_deletion_knows_three_policies() {
        let errors = texts(delete(&json!({"propagationPolicy": "Later"})));
        let expected = r#"propagationPolicy: Unsupported value: "Later": supported values: "Foreground", "Background", "Orphan", "nil""#;
        assert_eq!(errors, [expected]);
        assert_eq!(delete(&json!({"propagationPolicy": "nil"})).len(), 1);
        assert_eq!(delete(&json!({"propagationPolicy": "Orphan", "orphanDependents": true})).len(), 1);
    }
}
