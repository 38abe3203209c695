//! A place in an object under examination: the value that stands there, how one gets there, and where to report what is
//! wrong with it. The way is written down only when there is something to report.

mod rules;

use std::cell::RefCell;
use std::fmt;

use asb_types::quantity::Quantity;
use serde_json::Value;

use crate::field::{Error, Problem};

/// A value, or the lack of one, at a path of an object.
#[derive(Clone, Copy)]
pub(super) struct At<'v, 'p> {
    pub(super) value: &'v Value,
    path: Path<'p>,
    report: &'p Report,
}

/// All that was found wrong, in the order in which it was found.
#[derive(Default)]
pub(super) struct Report(RefCell<Vec<Error>>);

#[derive(Clone, Copy)]
enum Path<'p> {
    Root,
    Nowhere,
    Field(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
    Key(&'p Path<'p>, &'p str),
}

/// Runs rules over an object and gives what they reported.
pub(super) fn examine(object: &Value, rules: impl FnOnce(&At)) -> Vec<Error> {
    let report = Report::default();
    rules(&At { value: object, path: Path::Root, report: &report });
    report.0.into_inner()
}

impl<'v, 'p> At<'v, 'p> {
    /// Another object at the same place, such as the one that this one replaces. Nothing is reported about it.
    pub(super) fn other<'o, 'c>(&'c self, value: &'o Value, silent: &'c Report) -> At<'o, 'c> {
        At { value, path: self.path, report: silent }
    }

    /// Another value, as if it stood here.
    pub(super) fn holding<'o>(self, value: &'o Value) -> At<'o, 'p> {
        At { value, path: self.path, report: self.report }
    }

    /// Nowhere in particular, for errors of which Kubernetes names no field.
    pub(super) fn root(&self) -> At<'static, '_> {
        At { value: &Value::Null, path: Path::Nowhere, report: self.report }
    }

    pub(super) fn field<'c>(&'c self, name: &'c str) -> At<'v, 'c> {
        self.field_shown_as(name, name)
    }

    /// A field that Kubernetes reports under another name than the one it has.
    pub(super) fn field_shown_as<'c>(&'c self, name: &str, shown: &'c str) -> At<'v, 'c> {
        let value = self.value.get(name).unwrap_or(&Value::Null);
        At { value, path: Path::Field(&self.path, shown), report: self.report }
    }

    /// The same value, reported one step below.
    pub(super) fn shown_under<'c>(&'c self, name: &'c str) -> At<'v, 'c> {
        At { value: self.value, path: Path::Field(&self.path, name), report: self.report }
    }

    /// A value of a map, reported as `map[key]`.
    pub(super) fn key<'c>(&'c self, key: &'c str) -> At<'v, 'c> {
        let value = self.value.get(key).unwrap_or(&Value::Null);
        At { value, path: Path::Key(&self.path, key), report: self.report }
    }

    pub(super) fn index(&self, index: usize) -> At<'v, '_> {
        let value = self.value.get(index).unwrap_or(&Value::Null);
        At { value, path: Path::Index(&self.path, index), report: self.report }
    }

    pub(super) fn items(&self) -> impl Iterator<Item = At<'v, '_>> {
        (0..self.len_of_list()).map(|index| self.index(index))
    }

    /// The values of a map, each with its key.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'v str, At<'v, '_>)> {
        let keys = self.value.as_object().into_iter().flat_map(|map| map.keys());
        keys.map(|key| (key.as_str(), self.key(key)))
    }

    /// The place, if there is something.
    pub(super) fn given(self) -> Option<Self> {
        self.exists().then_some(self)
    }

    pub(super) fn exists(&self) -> bool {
        !self.value.is_null()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some_and(|value| !value.is_null())
    }

    /// The text, or none as the empty one.
    pub(super) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    pub(super) fn text_of(&self, name: &str) -> &'v str {
        self.value.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn integer(&self) -> i64 {
        self.value.as_i64().unwrap_or_default()
    }

    pub(super) fn integer_of(&self, name: &str) -> i64 {
        self.value.get(name).and_then(Value::as_i64).unwrap_or_default()
    }

    pub(super) fn flag(&self) -> bool {
        self.value.as_bool().unwrap_or_default()
    }

    pub(super) fn flag_of(&self, name: &str) -> bool {
        self.value.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn quantity(&self) -> Option<Quantity> {
        Quantity::read(self.value)
    }

    /// How many items a list or map has.
    pub(super) fn len(&self) -> usize {
        self.value.as_object().map_or_else(|| self.len_of_list(), serde_json::Map::len)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len_of_list(&self) -> usize {
        self.value.as_array().map_or(0, Vec::len)
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &'v str> {
        self.value.as_array().into_iter().flatten().map(|value| value.as_str().unwrap_or_default())
    }
}

/// What may be wrong with a value.
impl At<'_, '_> {
    pub(super) fn required(&self, detail: &str) {
        self.report(Problem::Required, detail);
    }

    pub(super) fn forbidden(&self, detail: impl Into<String>) {
        self.report(Problem::Forbidden, detail);
    }

    pub(super) fn invalid(&self, value: impl Into<Value>, detail: impl Into<String>) {
        self.report(Problem::Invalid(value.into()), detail);
    }

    /// A value of a type of Kubernetes' own, in the text that its server shows it as.
    pub(super) fn invalid_shown(&self, value: String, detail: impl Into<String>) {
        self.report(Problem::InvalidShown(value), detail);
    }

    pub(super) fn duplicate(&self, value: impl Into<Value>) {
        self.report(Problem::Duplicate(value.into()), "");
    }

    pub(super) fn duplicate_shown(&self, value: String, detail: &str) {
        self.report(Problem::DuplicateShown(value), detail);
    }

    pub(super) fn not_found(&self, value: &str, detail: impl Into<String>) {
        self.report(Problem::NotFound(value.into()), detail);
    }

    pub(super) fn not_supported(&self, value: impl Into<Value>, supported: &[&str]) {
        self.push(Error::not_supported(self.path.to_string(), value, supported));
    }

    pub(super) fn too_long(&self, most: usize) {
        self.push(Error::too_long(self.path.to_string(), most));
    }

    pub(super) fn too_many(&self, actual: usize, most: usize) {
        self.push(Error::too_many(self.path.to_string(), actual, most));
    }

    pub(super) fn internal(&self, detail: impl Into<String>) {
        self.report(Problem::Internal, detail);
    }

    fn report(&self, problem: Problem, detail: impl Into<String>) {
        self.push(Error::new(self.path.to_string(), problem, detail));
    }

    fn push(&self, error: Error) {
        self.report.0.borrow_mut().push(error);
    }

    /// How much was reported so far, about anything.
    pub(super) fn reported(&self) -> usize {
        self.report.0.borrow().len()
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Nowhere => formatter.write_str("[]"),
            Self::Field(Self::Root, name) => formatter.write_str(name),
            Self::Field(parent, name) => write!(formatter, "{parent}.{name}"),
            Self::Index(parent, index) => write!(formatter, "{parent}[{index}]"),
            Self::Key(parent, key) => write!(formatter, "{parent}[{key}]"),
        }
    }
}
