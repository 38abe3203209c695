//! Conversion between v1alpha1 and v1beta1, without loss in either direction.
//!
//! It works on JSON, so that fields it need not know pass through untouched. What one version has no field for
//! travels in an annotation on the other version's view, and only where it could not be derived. What is absent stays
//! absent: the API server fills in defaults before it asks.

mod object;
mod review;
mod sandbox;
mod sandbox_claim;
mod sandbox_template;
mod sandbox_warm_pool;
mod state;

use serde_json::Value;
use thiserror::Error;

use crate::{EXTENSIONS_GROUP, GROUP, v1alpha1, v1beta1};
use object::Object;
pub use review::review;

/// A version that objects can be converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1alpha1,
    V1beta1,
}

/// Why an object could not be converted.
#[derive(Debug, Error)]
pub enum ConversionError {
    #[error("cannot convert an object without {0}")]
    Missing(&'static str),
    #[error("cannot convert an object whose {0} is not an object")]
    Malformed(&'static str),
    #[error("cannot convert {kind} of {api_version}: no such kind is served here")]
    UnknownKind { kind: String, api_version: String },
    #[error("cannot convert from or to {0}: no such version is served here")]
    UnknownVersion(String),
    #[error("annotation {key} does not hold the saved state it should")]
    State { key: &'static str, source: serde_json::Error },
    #[error("the annotations leave no room for what v1beta1 has no field for; shorten them")]
    Full,
    #[error("{field} does not fit this version's view of the object; write the object as v1beta1")]
    Omitted { field: String },
    #[error("annotation {key} is {value:?}; it must be Disallowed, Allowed or Overrides")]
    Policy { key: &'static str, value: String },
}

/// How one kind is converted, either way, in place.
struct Conversion {
    group: &'static str,
    kind: &'static str,
    to_v1beta1: fn(&mut Object) -> Result<(), ConversionError>,
    /// Cannot fail: one object that could not be shown in v1alpha1 would fail every list of its kind.
    to_v1alpha1: fn(&mut Object),
}

const CONVERSIONS: [Conversion; 4] = [
    sandbox::CONVERSION,
    sandbox_claim::CONVERSION,
    sandbox_template::CONVERSION,
    sandbox_warm_pool::CONVERSION,
];

impl Version {
    fn name(self) -> &'static str {
        match self {
            Self::V1alpha1 => v1alpha1::VERSION,
            Self::V1beta1 => v1beta1::VERSION,
        }
    }

    /// The version in an apiVersion such as `agents.x-k8s.io/v1beta1`.
    pub fn of(api_version: &str) -> Result<Self, ConversionError> {
        let known = [GROUP, EXTENSIONS_GROUP];
        match api_version.split_once('/') {
            Some((group, v1alpha1::VERSION)) if known.contains(&group) => Ok(Self::V1alpha1),
            Some((group, v1beta1::VERSION)) if known.contains(&group) => Ok(Self::V1beta1),
            _ => Err(ConversionError::UnknownVersion(api_version.to_owned())),
        }
    }
}

/// `object` in version `to`. An object already in that version is returned as it is.
pub fn convert(object: Value, to: Version) -> Result<Value, ConversionError> {
    let mut object = Object::new(object)?;
    let conversion = conversion_of(&object)?;
    if Version::of(object.api_version())? == to {
        return Ok(object.into());
    }
    match to {
        Version::V1alpha1 => (conversion.to_v1alpha1)(&mut object),
        Version::V1beta1 => (conversion.to_v1beta1)(&mut object)?,
    }
    object.set_api_version(format!("{}/{}", conversion.group, to.name()));
    Ok(object.into())
}

fn conversion_of(object: &Object) -> Result<&'static Conversion, ConversionError> {
    let group = object.api_version().split_once('/').map(|(group, _)| group);
    let found = CONVERSIONS.iter().find(|row| Some(row.group) == group && row.kind == object.kind());
    found.ok_or_else(|| ConversionError::UnknownKind {
        kind: object.kind().to_owned(),
        api_version: object.api_version().to_owned(),
    })
}

#[cfg(test)]
mod tests;
