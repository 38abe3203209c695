//! PriorityClasses: what a Pod may matter, by name.

use serde_json::Value;

use super::at::{At, Report};
use super::metadata::{self, NameRule};

/// Classes that every cluster has: name, priority, and what they are for in Kubernetes' own words.
pub(crate) const SYSTEM: [(&str, i64, &str); 2] = [
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
];

const PREFIX: &str = "system-";
const MOST: i64 = 1_000_000_000;

pub(super) fn create(class: &At) {
    metadata::new_of_kubernetes(&class.field("metadata"), false, NameRule::Dns1123Subdomain);
    let (metadata, value) = (class.field("metadata"), class.field("value"));
    let name = metadata.field("name");
    if name.text().starts_with(PREFIX) {
        if let Err(why) = known(name.text(), value.integer(), class.flag_of("globalDefault")) {
            let reserved =
                "priority class names with 'system-' prefix are reserved for system use only. error: ";
            name.forbidden(format!("{reserved}{why}"));
        }
    } else if value.integer() > MOST {
        value.forbidden(format!("maximum allowed value of a user defined priority is {MOST}"));
    }
    if let Some(policy) = class.field("preemptionPolicy").given() {
        policy.must_be_given_and_one_of(&["PreemptLowerPriority", "Never"]);
    }
}

/// Whether it is one of the system's as every cluster has it.
fn known(name: &str, value: i64, is_default: bool) -> Result<(), String> {
    let Some((_, expected, _)) = SYSTEM.iter().find(|(known, ..)| *known == name) else {
        return Err(format!("{name} is not a known system priority class"));
    };
    if value != *expected {
        return Err(format!("value of {name} PriorityClass must be {expected}"));
    }
    if is_default {
        return Err(format!("globalDefault of {name} PriorityClass must be false"));
    }
    Ok(())
}

pub(super) fn update(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    let silent = Report::default();
    let before = new.other(old, &silent);
    if new.integer_of("value") != before.integer_of("value") {
        new.field("value").forbidden("may not be changed in an update.");
    }
    metadata::immutable(&new.field("preemptionPolicy"), &before.field("preemptionPolicy"));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{create, update};
    use crate::identity::GroupKind;

    use super::*;

    fn kind() -> GroupKind {
        GroupKind::new("scheduling.k8s.io", "PriorityClass")
    }

    fn class(name: &str, value: i64) -> Value {
        json!({"metadata": {"name": name}, "value": value, "preemptionPolicy": "Never"})
    }

    fn complaints(class: &Value) -> String {
        let errors = create(&kind(), class);
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    /// In the words of Kubernetes 1.36, written down by hand from its source.
    #[test]
    fn a_class_of_a_user_is_worth_less_than_the_systems() {
        assert_eq!(complaints(&class("high", MOST)), "");
        assert_eq!(
            complaints(&class("high", MOST + 1)),
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"
        );
        let reserved = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use \
                        only. error: ";
        assert_eq!(
            complaints(&class("system-mine", 1)),
            format!("{reserved}system-mine is not a known system priority class")
        );
        assert_eq!(
            complaints(&class("system-node-critical", 1)),
            format!("{reserved}value of system-node-critical PriorityClass must be 2000001000")
        );
        assert_eq!(complaints(&class("system-node-critical", 2_000_001_000)), "");
    }

    #[test]
    fn what_it_is_worth_stays() {
        let old = class("high", 5);
        let mut new = class("high", 6);
        new["metadata"]["resourceVersion"] = json!("1");
        new["preemptionPolicy"] = json!("PreemptLowerPriority");
        let errors: Vec<_> = update(&kind(), None, &new, &old).iter().map(ToString::to_string).collect();
        let [value, policy] = errors.as_slice() else { panic!("{errors:?}") };
        assert_eq!(value, "value: Forbidden: may not be changed in an update.");
        assert!(
            policy.starts_with("preemptionPolicy: Invalid value: ") && policy.ends_with("field is immutable")
        );
    }
}
