//! Defaults as data: at these places, this field has that value unless it is there.

use serde_json::{Map, Value};

/// `at` names fields with dots between them, and the items of a list with `[]`: `spec.containers[].ports[]`.
pub(super) struct Rule {
    pub at: &'static str,
    pub field: &'static str,
    pub unless: Unless,
    pub value: Constant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unless {
    /// Any value but null counts: what Kubernetes has as a pointer.
    Present,
    /// An empty string and zero are as good as nothing: what Kubernetes has as a plain value.
    Said,
}

#[derive(Clone, Copy)]
pub(super) enum Constant {
    Flag(bool),
    Number(i64),
    Text(&'static str),
    /// `{}`
    Object,
}

/// A default for a field that is missing.
pub(super) const fn missing(at: &'static str, field: &'static str, value: Constant) -> Rule {
    Rule { at, field, unless: Unless::Present, value }
}

/// A default for a field that is missing, empty or zero.
pub(super) const fn unsaid(at: &'static str, field: &'static str, value: Constant) -> Rule {
    Rule { at, field, unless: Unless::Said, value }
}

/// Applies rules in order, so that a later one can fill what an earlier one made. `within` goes before every place.
pub(super) fn apply(object: &mut Value, within: &str, rules: &[Rule]) {
    each(object, within, &mut |object| {
        for rule in rules {
            each_in(object, rule.at, &mut |object| rule.fill(object));
        }
    });
}

/// Visits every object at a place.
pub(super) fn each(value: &mut Value, at: &str, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    if let Some(object) = value.as_object_mut() {
        each_in(object, at, visit);
    }
}

fn each_in(object: &mut Map<String, Value>, at: &str, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    if at.is_empty() {
        return visit(object);
    }
    let (step, rest) = at.split_once('.').unwrap_or((at, ""));
    match step.strip_suffix("[]") {
        Some(list) => {
            let items = object.get_mut(list).and_then(Value::as_array_mut);
            items.into_iter().flatten().for_each(|item| each(item, rest, visit));
        }
        None => object.get_mut(step).into_iter().for_each(|value| each(value, rest, visit)),
    }
}

impl Rule {
    fn fill(&self, object: &mut Map<String, Value>) {
        let value = object.get(self.field).unwrap_or(&Value::Null);
        let fills = match self.unless {
            Unless::Present => value.is_null(),
            Unless::Said => is_zero(value),
        };
        if fills {
            object.insert(self.field.to_owned(), self.value.into());
        }
    }
}

/// What a plain value is when nobody set it.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

impl From<Constant> for Value {
    fn from(constant: Constant) -> Self {
        match constant {
            Constant::Flag(flag) => flag.into(),
            Constant::Number(number) => number.into(),
            Constant::Text(text) => text.into(),
            Constant::Object => Self::Object(Map::new()),
        }
    }
}
