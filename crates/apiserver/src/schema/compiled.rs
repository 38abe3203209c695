//! A schema with all that its use needs prepared: patterns and rules are compiled once. This is the door through which
//! objects of user-defined kinds are defaulted, pruned and validated.

use std::collections::HashMap;
use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use super::correlation::Correlated;
use super::defaulting::Overgrown;
use super::expression::{self, Node};
use super::path::Path;
use super::validation::Validator;
use super::{Schema, Shape, defaulting, embedded, lists, pattern, pruning};
use crate::field::{Error, Problem};

/// Shared by all who serve its kind, on any thread.
#[derive(Debug)]
pub struct Compiled {
    schema: Arc<Schema>,
    patterns: HashMap<String, Regex>,
    rules: Option<Node>,
}

/// What validation has to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    pub errors: Vec<Error>,
    /// Broken rules that are let pass because what breaks them was there before.
    pub warnings: Vec<String>,
}

impl Compiled {
    /// The schema is that of a whole object. Fails on a pattern that is none.
    pub fn new(schema: Arc<Schema>) -> Result<Self, Vec<Error>> {
        Self::of_value(schema, true)
    }

    /// The schema is that of a value inside an object.
    pub(crate) fn of_value(schema: Arc<Schema>, is_resource: bool) -> Result<Self, Vec<Error>> {
        let mut patterns = HashMap::new();
        let mut errors = Vec::new();
        collect_patterns(&schema, &mut patterns, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        let rules = Node::new(&schema, is_resource);
        Ok(Self { schema, patterns, rules })
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Fills in what is left out, and drops nulls that are no values.
    pub fn default(&self, value: &mut Value) -> Result<(), Overgrown> {
        defaulting::default(&self.schema, value)
    }

    /// Removes unknown fields, also of the metadata, and returns their paths in the order in which Kubernetes names
    /// them: `strict decoding error: unknown field "spec.foo"`.
    pub fn prune(&self, value: &mut Value) -> Vec<String> {
        pruning::prune(&self.schema, value)
    }

    /// An embedded object that cannot be read as one. Kubernetes refuses that when it decodes a request.
    pub fn unreadable(&self, value: &Value) -> Option<Error> {
        embedded::unreadable(&self.schema, value)
    }

    /// Validates an object, or a change of one. The object has been defaulted and pruned.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Verdict {
        self.validate_with(Vec::new(), new, old, Vec::new())
    }

    /// `before` and `more` are what else is wrong: they count before rules are looked at.
    pub(crate) fn validate_with(
        &self,
        before: Vec<Error>,
        new: &Value,
        old: Option<&Value>,
        more: Vec<Error>,
    ) -> Verdict {
        let was = old.map(|old| Correlated { schema: &self.schema, new, old });
        let mut errors = [before, self.values().validate(&self.schema, new, was, ""), more].concat();
        errors.extend(embedded::validate(&self.schema, new));
        errors.extend(self.new_duplicates(new, old));
        self.with_rules(errors, new, old)
    }

    /// Validates a change of the status alone.
    pub fn validate_status(&self, new: &Value, old: &Value) -> Verdict {
        self.validate_status_with(new, old, Vec::new())
    }

    pub(crate) fn validate_status_with(&self, new: &Value, old: &Value, more: Vec<Error>) -> Verdict {
        let mut errors = Vec::new();
        if let (Some(status), Some(schema)) = (new.get("status"), self.schema.field("status")) {
            let was = Correlated { schema: &self.schema, new, old }.field("status");
            errors = self.values().validate(schema, status, was, "status");
        }
        errors.extend(more);
        errors.extend(self.new_duplicates(new, Some(old)));
        self.with_rules(errors, new, Some(old))
    }

    /// A default of a definition, which stands at `field`: checked as if it had been there before, and as if not.
    pub(crate) fn validate_default(&self, value: &Value, field: &str) -> Vec<Error> {
        let mut errors = Vec::new();
        if pruning::has_unknown_fields(&self.schema, value) {
            errors.push(Error::invalid(field, value.clone(), "must not have unknown fields"));
        }
        let inside = |mut error: Error| {
            error.field = format!("{field}.{}", error.field);
            error
        };
        let mut found: Vec<Error> = match embedded::unreadable(&self.schema, value) {
            Some(error) => vec![inside(error)],
            None => embedded::validate(&self.schema, value).into_iter().map(inside).collect(),
        };
        if found.is_empty() {
            found = self.values().validate(&self.schema, value, None, field);
        }
        if let Some(rules) = self.rules.as_ref().filter(|_| found.is_empty()) {
            let path = Path::starting_at(field);
            found = expression::evaluate(rules, value, Some(value), &path, false).errors;
            if found.is_empty() {
                found = expression::evaluate(rules, value, None, &path, false).errors;
            }
        }
        errors.append(&mut found);
        errors
    }

    fn values(&self) -> Validator<'_> {
        Validator { patterns: &self.patterns }
    }

    /// Duplicates are let be where there were any before.
    fn new_duplicates(&self, new: &Value, old: Option<&Value>) -> Vec<Error> {
        let found = lists::duplicates(&self.schema, new);
        let tolerates =
            !found.is_empty() && old.is_some_and(|old| !lists::duplicates(&self.schema, old).is_empty());
        if tolerates { Vec::new() } else { found }
    }

    fn with_rules(&self, errors: Vec<Error>, new: &Value, old: Option<&Value>) -> Verdict {
        let mut verdict = Verdict { errors, warnings: Vec::new() };
        let Some(rules) = &self.rules else { return verdict };
        if verdict.errors.iter().any(blocks_rules) {
            verdict.errors.push(Error::invalid("<nil>", Value::Null, RULES_NOT_CHECKED));
            return verdict;
        }
        let mut found = expression::evaluate(rules, new, old, &Path::ROOT, true);
        verdict.errors.append(&mut found.errors);
        verdict.warnings.append(&mut found.warnings);
        verdict
    }
}

const RULES_NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the \
                                 existing errors to complete validation";

/// Rules are written for values of the right type and size.
fn blocks_rules(error: &Error) -> bool {
    matches!(
        error.problem,
        Problem::NotSupported(_)
            | Problem::Required
            | Problem::TooLong
            | Problem::TooMany(_)
            | Problem::TypeInvalid(_)
    )
}

fn collect_patterns(schema: &Schema, patterns: &mut HashMap<String, Regex>, errors: &mut Vec<Error>) {
    if let Some(rules) = &schema.rules {
        if let Some(text) = rules.pattern.as_ref().filter(|text| !patterns.contains_key(*text)) {
            match pattern::compile(text) {
                Ok(compiled) => drop(patterns.insert(text.clone(), compiled)),
                Err(why) => {
                    let detail = format!("must be a valid regular expression, but isn't: {why}");
                    errors.push(Error::invalid("pattern", text.as_str(), detail));
                }
            }
        }
        let parts = rules.all_of.iter().chain(&rules.any_of).chain(&rules.one_of).chain(&rules.not);
        parts.for_each(|part| collect_patterns(part, patterns, errors));
    }
    match &schema.shape {
        Shape::Object(fields) => {
            let inside = fields.known.values().chain(&fields.others);
            inside.for_each(|field| collect_patterns(field, patterns, errors));
        }
        Shape::Array(items) => collect_patterns(items, patterns, errors),
        _ => {}
    }
}
