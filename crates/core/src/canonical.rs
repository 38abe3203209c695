//! One form for all spellings of a spec that Kubernetes takes for the same. An operator that holds objects as Go structs
//! writes them back without what is empty or zero, and `0.5` as `500m`; neither is a change.
//!
//! Go tells "not set" from "zero" only where a field is a pointer. The tables here say which fields those are in the
//! specs of Pods and PersistentVolumeClaims.

use asb_types::quantity::Quantity;
use serde_json::{Map, Value};

/// Where zero, false or an empty text is something else than nothing.
const POINTERS: &[&str] = &[
    "activeDeadlineSeconds",
    "allowPrivilegeEscalation",
    "apiGroup",
    "automountServiceAccountToken",
    "defaultMode",
    "enableServiceLinks",
    "expirationSeconds",
    "fsGroup",
    "hostProcess",
    "hostUsers",
    "lun",
    "maxExpirationSeconds",
    "minDomains",
    "mode",
    "optional",
    "priority",
    "privileged",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "runtimeClassName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "storageClassName",
    "terminationGracePeriodSeconds",
    "tolerationSeconds",
    "volumeAttributesClassName",
];

/// Objects that are no pointers: empty and absent are the same.
const STRUCTS: &[&str] = &["metadata", "preference", "resources", "resourceFieldRef"];

/// Maps whose keys are the user's: what an entry says is kept whatever it is.
const MAPS: &[&str] =
    &["annotations", "labels", "matchLabels", "nodeSelector", "options", "volumeAttributes"];

/// Maps from a resource to an amount of it.
const AMOUNTS: &[&str] = &["limits", "overhead", "requests"];

/// Single amounts. A divisor of zero is none.
const AMOUNT: &[&str] = &["divisor", "sizeLimit"];

/// The form in which two specs are equal if and only if they mean the same.
pub(crate) fn form(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(object(fields)),
        Value::Array(items) => items.iter().map(form).collect(),
        other => other.clone(),
    }
}

fn object(fields: &Map<String, Value>) -> Map<String, Value> {
    fields.iter().filter_map(|(name, value)| Some((name.clone(), field(name, value)?))).collect()
}

fn field(name: &str, value: &Value) -> Option<Value> {
    let known = |names: &[&str]| names.contains(&name);
    match value {
        Value::Null => None,
        Value::Object(entries) if known(MAPS) || known(AMOUNTS) => {
            let entries = entries.iter().filter(|(_, entry)| !entry.is_null());
            let keep = |entry: &Value| if known(AMOUNTS) { amount(entry) } else { form(entry) };
            let entries: Map<_, _> = entries.map(|(key, entry)| (key.clone(), keep(entry))).collect();
            (!entries.is_empty()).then_some(Value::Object(entries))
        }
        Value::Object(fields) => {
            let fields = object(fields);
            (!fields.is_empty() || !known(STRUCTS)).then_some(Value::Object(fields))
        }
        Value::Array(items) => (!items.is_empty()).then(|| form(value)),
        _ if known(AMOUNT) => (name != "divisor" || !is_no_amount(value)).then(|| amount(value)),
        _ => (known(POINTERS) || !is_zero(value)).then(|| value.clone()),
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn is_no_amount(value: &Value) -> bool {
    Quantity::read(value).is_some_and(|quantity| quantity.is_zero())
}

/// The value in billionths, which is as fine as amounts are; what is no amount stays as it is.
fn amount(value: &Value) -> Value {
    Quantity::read(value).map_or_else(|| form(value), |quantity| quantity.billionths().to_string().into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn spellings_that_mean_the_same_have_one_form() {
        let pairs = [
            (json!({"tolerations": [], "affinity": null, "hostNetwork": false}), json!({})),
            (
                json!({"containers": [{"name": "a", "tty": false, "resources": {}}]}),
                json!({"containers": [{"name": "a"}]}),
            ),
            (
                json!({"resources": {"limits": {"cpu": 1}}}),
                json!({"resources": {"limits": {"cpu": "1000m"}}}),
            ),
            (
                json!({"resources": {"requests": {"storage": "1024Mi"}}}),
                json!({"resources": {"requests": {"storage": "1Gi"}}}),
            ),
            (json!({"emptyDir": {"sizeLimit": "0.5Gi"}}), json!({"emptyDir": {"sizeLimit": "512Mi"}})),
            (
                json!({"resourceFieldRef": {"resource": "a", "divisor": "0"}}),
                json!({"resourceFieldRef": {"resource": "a"}}),
            ),
            (json!({"overhead": {"cpu": "0.25"}}), json!({"overhead": {"cpu": "250m"}})),
            (json!({"nodeSelector": {}}), json!({})),
        ];
        for (left, right) in pairs {
            assert_eq!(form(&left), form(&right), "{left} and {right}");
        }
    }

    #[test]
    fn what_means_something_else_has_another_form() {
        let pairs = [
            (json!({"automountServiceAccountToken": false}), json!({})),
            (json!({"storageClassName": ""}), json!({})),
            (json!({"terminationGracePeriodSeconds": 0}), json!({})),
            (json!({"volumes": [{"emptyDir": {}}]}), json!({"volumes": [{}]})),
            (json!({"namespaceSelector": {}}), json!({})),
            (json!({"args": [""]}), json!({"args": []})),
            (json!({"nodeSelector": {"a": ""}}), json!({})),
            (json!({"limits": {"cpu": "0"}}), json!({})),
            (json!({"emptyDir": {"sizeLimit": "0"}}), json!({"emptyDir": {}})),
            (
                json!({"env": [{"name": "A", "value": "1000m"}]}),
                json!({"env": [{"name": "A", "value": "1"}]}),
            ),
        ];
        for (left, right) in pairs {
            assert_ne!(form(&left), form(&right), "{left} and {right}");
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let name = "tty|limits|labels|optional|resources|divisor|emptyDir|items";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..2).prop_map(Value::from),
            "(|0|1Gi|x)".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map(name, inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    /// Fields that say nothing, wherever there is an object.
    fn padded(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(padded).collect(),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), padded(value)));
                let nothing = ("nothing".to_owned(), Value::Null);
                Value::Object(fields.chain([nothing]).collect())
            }
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn fields_that_say_nothing_change_no_form(value in any_value()) {
            prop_assert_eq!(form(&padded(&value)), form(&value));
        }
    }
}
