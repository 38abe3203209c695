//! Fields that are not kept when they hold nothing, since Kubernetes' own types do not write them. Which ones, is data
//! made from those types: `kubernetes/shapes.txt`, and how to read it is said next to it.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::identity::GroupKind;

/// The fields of a type that are left out, or hold something that is.
type Shape = HashMap<&'static str, Field>;

struct Field {
    omitted: Omitted,
    /// The type of what is in it.
    inner: Option<&'static str>,
    holds: Holds,
}

/// When a field is left out.
enum Omitted {
    Never,
    WhenNull,
    WhenEmpty,
}

enum Holds {
    One,
    List,
    Map,
}

static SHAPES: LazyLock<HashMap<&'static str, Shape>> =
    LazyLock::new(|| include_str!("../../kubernetes/shapes.txt").lines().filter_map(read_type).collect());

/// Leaves out what the kind does not write.
pub(super) fn apply(kind: &GroupKind, object: &mut Value) {
    let package = kind.group.split('.').next().filter(|package| !package.is_empty()).unwrap_or("core");
    let known = kind.group.is_empty() || kind.group.ends_with(".k8s.io");
    if known {
        prune(object, &format!("{package}/v1.{}", kind.kind));
    }
}

/// Goes as deep as types do, whatever the object is.
fn prune(object: &mut Value, of: &str) {
    let (Some(shape), Some(fields)) = (SHAPES.get(of), object.as_object_mut()) else { return };
    fields.retain(|name, value| {
        let Some(field) = shape.get(name.as_str()) else { return true };
        if let Some(inner) = field.inner {
            field.each(value, |value| prune(value, inner));
        }
        !field.omits(value)
    });
}

impl Field {
    fn each(&self, value: &mut Value, visit: impl FnMut(&mut Value)) {
        match self.holds {
            Holds::One => std::iter::once(value).for_each(visit),
            Holds::List => value.as_array_mut().into_iter().flatten().for_each(visit),
            Holds::Map => value.as_object_mut().into_iter().flat_map(|map| map.values_mut()).for_each(visit),
        }
    }

    fn omits(&self, value: &Value) -> bool {
        match self.omitted {
            Omitted::Never => false,
            Omitted::WhenNull => value.is_null(),
            Omitted::WhenEmpty => match value {
                Value::Null => true,
                Value::Bool(flag) => !flag,
                Value::Number(number) => number.as_i64() == Some(0),
                Value::String(text) => text.is_empty(),
                Value::Array(list) => list.is_empty(),
                Value::Object(map) => map.is_empty(),
            },
        }
    }
}

/// `core/v1.EnvVar: value- valueFrom?=core/v1.EnvVarSource`
fn read_type(line: &'static str) -> Option<(&'static str, Shape)> {
    let (name, fields) = line.split_once(':')?;
    Some((name, fields.split_whitespace().map(read_field).collect()))
}

fn read_field(text: &'static str) -> (&'static str, Field) {
    let (left, inner) = text.split_once('=').map_or((text, None), |(left, inner)| (left, Some(inner)));
    let (left, holds) = match (left.strip_suffix("[]"), left.strip_suffix("{}")) {
        (Some(left), _) => (left, Holds::List),
        (_, Some(left)) => (left, Holds::Map),
        _ => (left, Holds::One),
    };
    let (name, omitted) = match (left.strip_suffix('-'), left.strip_suffix('?')) {
        (Some(name), _) => (name, Omitted::WhenEmpty),
        (_, Some(name)) => (name, Omitted::WhenNull),
        _ => (left, Omitted::Never),
    };
    (name, Field { omitted, inner, holds })
}
