//! SandboxWarmPool: v1alpha1 has no `observedGeneration`.

use super::object::Object;
use super::state::{Carried, State};
use super::{Conversion, ConversionError};
use crate::EXTENSIONS_GROUP;
use crate::annotations::{v1alpha1_state, v1beta1_state};

pub(super) const CONVERSION: Conversion =
    Conversion { group: EXTENSIONS_GROUP, kind: "SandboxWarmPool", to_v1beta1, to_v1alpha1 };

const ONLY_IN_V1BETA1: [Carried; 1] =
    [Carried { pointer: "/status/observedGeneration", check: is_generation }];

fn to_v1beta1(object: &mut Object) -> Result<(), ConversionError> {
    object.take_annotation(v1alpha1_state::POOL);
    let carried = State::taken_from(object, v1beta1_state::POOL)?;
    carried.restore(object, &ONLY_IN_V1BETA1, v1beta1_state::POOL)
}

fn to_v1alpha1(object: &mut Object) {
    object.take_annotation(v1alpha1_state::POOL);
    object.take_annotation(v1beta1_state::POOL);
    let mut carried = State::default();
    carried.carry(object, &ONLY_IN_V1BETA1);
    carried.leave_or_name_in(object, v1beta1_state::POOL);
}

/// An int64 that is not negative, as the schema has it.
fn is_generation(value: &serde_json::Value) -> Result<(), serde_json::Error> {
    match value.as_i64() {
        Some(0..) => Ok(()),
        _ => Err(serde::de::Error::custom(format_args!("{value} is no generation"))),
    }
}
