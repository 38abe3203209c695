//! SandboxWarmPool: v1alpha1 has no `observedGeneration`, and no default for `replicas`.

use super::object::{Object, State};
use super::{Conversion, ConversionError};
use crate::EXTENSIONS_GROUP;
use crate::annotations::{v1alpha1_state, v1beta1_state};

pub(super) const CONVERSION: Conversion =
    Conversion { group: EXTENSIONS_GROUP, kind: "SandboxWarmPool", to_v1beta1, to_v1alpha1 };

const ONLY_IN_V1BETA1: [&str; 1] = ["/status/observedGeneration"];

fn to_v1beta1(object: &mut Object) -> Result<(), ConversionError> {
    object.take_annotation(v1alpha1_state::POOL);
    let carried = object.take_state(v1beta1_state::POOL)?.unwrap_or_default();
    carried.restore(object, &ONLY_IN_V1BETA1);
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "one signature for all kinds; this direction cannot fail")]
fn to_v1alpha1(object: &mut Object) -> Result<(), ConversionError> {
    object.take_annotation(v1alpha1_state::POOL);
    object.take_annotation(v1beta1_state::POOL);
    if object.get("/spec/replicas").is_none() {
        object.set("/spec/replicas", 1.into());
    }
    let mut carried = State::default();
    carried.carry(object, &ONLY_IN_V1BETA1);
    object.set_state(v1beta1_state::POOL, &carried);
    Ok(())
}
