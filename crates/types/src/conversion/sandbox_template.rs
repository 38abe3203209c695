//! SandboxTemplate: v1alpha1 has no `volumeClaimTemplatesPolicy`; it travels as plain text in an annotation.

use serde_json::Value;

use super::object::Object;
use super::{Conversion, ConversionError};
use crate::EXTENSIONS_GROUP;
use crate::annotations::v1alpha1_state;
use crate::annotations::v1beta1_state::TEMPLATE_VOLUME_CLAIM_TEMPLATES_POLICY as POLICY;

pub(super) const CONVERSION: Conversion =
    Conversion { group: EXTENSIONS_GROUP, kind: "SandboxTemplate", to_v1beta1, to_v1alpha1 };

const FIELD: &str = "/spec/volumeClaimTemplatesPolicy";
const DEFAULT: &str = "Disallowed";

fn to_v1beta1(object: &mut Object) -> Result<(), ConversionError> {
    object.take_annotation(v1alpha1_state::TEMPLATE);
    let policy = object.take_annotation(POLICY).unwrap_or_else(|| DEFAULT.to_owned());
    if ![DEFAULT, "Allowed", "Overrides"].contains(&policy.as_str()) {
        return Err(ConversionError::Policy { key: POLICY, value: policy });
    }
    object.set(FIELD, policy.into());
    Ok(())
}

fn to_v1alpha1(object: &mut Object) {
    object.take_annotation(v1alpha1_state::TEMPLATE);
    object.take_annotation(POLICY);
    let policy = object.take(FIELD);
    if let Some(policy) = policy.as_ref().and_then(Value::as_str).filter(|policy| *policy != DEFAULT) {
        // Annotations that are full to the last byte leave no place for it; reading matters more.
        let _ = object.set_annotation(POLICY, policy.to_owned());
    }
}
