//! Evaluates the rules of a schema on an object: at each value its own rules first, then those inside.

use kube_cel::cel::{Context, Value};
use serde_json::Value as Json;

use super::budget::Budget;
use super::conversion::{convert, optional};
use super::functions::CONTEXT;
use super::program::Program;
use super::rule::Rule;
use super::{Node, failure};
use crate::field::{Error, Problem};
use crate::schema::compiled::Verdict;
use crate::schema::correlation::{Correlated, KeyedItems};
use crate::schema::path::Path;
use crate::schema::{Schema, Shape};

/// `tolerates` makes rules that fail on what is unchanged only warn.
pub(in crate::schema) fn evaluate(
    node: &Node,
    new: &Json,
    old: Option<&Json>,
    path: &Path<'_>,
    tolerates: bool,
) -> Verdict {
    let was = old.filter(|_| tolerates).map(|old| Correlated { schema: &node.schema, new, old });
    let mut walk = Walk { verdict: Verdict::default(), budget: Budget::new(), is_over: false };
    walk.value(node, new, old, Tolerance { here: was, above: None }, path);
    walk.verdict
}

struct Walk {
    verdict: Verdict,
    budget: Budget,
    /// The budget is spent: nothing more is evaluated.
    is_over: bool,
}

/// What decides whether a failure is tolerated: the old value here, or of the nearest value above that has one.
#[derive(Clone, Copy)]
struct Tolerance<'a> {
    here: Option<Correlated<'a>>,
    above: Option<Correlated<'a>>,
}

impl<'a> Tolerance<'a> {
    fn tolerates(self) -> bool {
        self.here.or(self.above).is_some_and(|was| was.is_unchanged())
    }

    fn inside(self, child: impl FnOnce(Correlated<'a>) -> Option<Correlated<'a>>) -> Self {
        match self.here {
            None => self,
            Some(here) => Self { here: child(here), above: Some(here) },
        }
    }
}

impl Walk {
    fn value(&mut self, node: &Node, new: &Json, old: Option<&Json>, was: Tolerance<'_>, path: &Path<'_>) {
        if self.is_over || new.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        if !node.rules.is_empty() {
            self.rules(node, new, old, was, path);
        }
        match new {
            Json::Array(values) => self.items(node, values, old, was, path),
            Json::Object(_) => self.fields(node, new, old, was, path),
            _ => {}
        }
    }

    fn items(
        &mut self,
        node: &Node,
        values: &[Json],
        old: Option<&Json>,
        was: Tolerance<'_>,
        path: &Path<'_>,
    ) {
        let Some(items) = &node.items else { return };
        let old = old.and_then(|old| KeyedItems::new(&node.schema, old));
        let known = was.here.and_then(|here| here.items());
        for (index, value) in values.iter().enumerate() {
            let old = old.as_ref().and_then(|old| old.get(value));
            let was = was.inside(|here| here.item(known.as_ref()?, here.new.as_array()?.get(index)?));
            self.value(items, value, old, was, &path.index(index));
        }
    }

    fn fields(&mut self, node: &Node, new: &Json, old: Option<&Json>, was: Tolerance<'_>, path: &Path<'_>) {
        let Json::Object(values) = new else { return };
        let inside = |name: &str| match (path.is_root(), name) {
            (true, "apiVersion" | "kind") => Tolerance { here: None, above: None },
            _ => was.inside(|here| here.field(name)),
        };
        if let Some(others) = &node.others {
            for (name, value) in values {
                self.value(others, value, old.and_then(|old| old.get(name)), inside(name), &path.key(name));
            }
        }
        for (name, field) in &node.fields {
            if let Some(value) = values.get(name) {
                self.value(field, value, old.and_then(|old| old.get(name)), inside(name), &path.field(name));
            }
        }
    }

    fn rules(&mut self, node: &Node, new: &Json, old: Option<&Json>, was: Tolerance<'_>, path: &Path<'_>) {
        for rule in &node.rules {
            if self.is_over {
                return;
            }
            match &rule.program {
                None => {}
                Some(Err(why)) => {
                    let detail = format!("rule compile error: {why}");
                    self.verdict.errors.push(Error::invalid(path.name(), type_of(&node.schema), detail));
                }
                // Rules about changes wait for one.
                Some(Ok(program))
                    if program.uses_old_value && old.is_none() && !rule.accepts_no_old_value => {}
                Some(Ok(program)) => self.rule(node, rule, program, (new, old), was, path),
            }
        }
    }

    fn rule(
        &mut self,
        node: &Node,
        rule: &Rule,
        program: &Program,
        (new, old): (&Json, Option<&Json>),
        was: Tolerance<'_>,
        path: &Path<'_>,
    ) {
        let context = variables(node, rule, program, new, old);
        let Some(result) = self.budget.spend(|| program.run(&context)) else {
            let detail = format!(
                "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to \
                 call cost exceeds limit for rule: {}",
                rule.title()
            );
            self.verdict.errors.push(Error::invalid(path.name(), type_of(&node.schema), detail));
            self.is_over = true;
            return;
        };
        let title = rule.title();
        match result {
            Ok(Value::Bool(true)) => {}
            Ok(_) => {
                let detail = self.message(rule, &context).unwrap_or_else(|| rule.fixed_message());
                let error = broken(rule, &node.schema, new, path, detail);
                if !program.uses_old_value && was.tolerates() {
                    self.verdict.warnings.push(error.to_string());
                } else {
                    self.verdict.errors.push(error);
                }
            }
            Err(error) => {
                let detail = match failure::described(&error) {
                    Some(text) => format!("{text} evaluating rule: {title}"),
                    None => format!(
                        "'no such overload': call arguments did not match a supported operator, function or macro \
                         signature for rule: {title}"
                    ),
                };
                self.verdict.errors.push(Error::invalid(path.name(), type_of(&node.schema), detail));
            }
        }
    }

    /// The message that the rule computes, unless that fails or is of no use.
    fn message(&self, rule: &Rule, context: &Context<'_>) -> Option<String> {
        const MOST_BYTES: usize = 5 << 10;
        let program = rule.message_program.as_ref()?;
        let Ok(Value::String(text)) = self.budget.spend(|| program.run(context))? else { return None };
        let text = text.trim();
        let usable = !text.is_empty() && text.len() <= MOST_BYTES && !text.contains('\n');
        usable.then(|| text.to_owned())
    }
}

fn variables(
    node: &Node,
    rule: &Rule,
    program: &Program,
    new: &Json,
    old: Option<&Json>,
) -> Context<'static> {
    // A computed message may look at anything.
    let looks_at = program.looks_at.as_ref().filter(|_| rule.message_program.is_none());
    let convert = |value: &Json| convert(&node.schema, value, node.is_resource, looks_at);
    let mut context = CONTEXT.new_inner_scope();
    context.add_variable_from_value("self", convert(new));
    if program.uses_old_value {
        let old = old.map(convert);
        match (rule.accepts_no_old_value, old) {
            (true, old) => context.add_variable_from_value("oldSelf", optional(old)),
            (false, Some(old)) => context.add_variable_from_value("oldSelf", old),
            (false, None) => {}
        }
    }
    context
}

fn broken(rule: &Rule, schema: &Schema, value: &Json, path: &Path<'_>, detail: String) -> Error {
    let field = match rule.field.as_str() {
        "" => path.name(),
        field if path.is_root() => field.to_owned(),
        field => format!("{path}.{field}"),
    };
    let shown = !matches!(schema.shape, Shape::Object(_) | Shape::Array(_)) || schema.is_untyped;
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => Error::forbidden(field, detail),
        Some("FieldValueRequired") => Error::required(field, detail),
        Some("FieldValueDuplicate") if shown => Error::duplicate(field, value.clone()),
        Some("FieldValueDuplicate") => Error::new(field, Problem::Duplicate(Json::Null), ""),
        _ if shown => Error::invalid(field, value.clone(), detail),
        _ => Error::new(field, Problem::InvalidUnshown, detail),
    }
}

fn type_of(schema: &Schema) -> &'static str {
    match schema.shape {
        Shape::IntOrString | Shape::Any => "",
        _ if schema.is_untyped => "",
        Shape::Object(_) => "object",
        Shape::Array(_) => "array",
        Shape::String => "string",
        Shape::Integer => "integer",
        Shape::Number => "number",
        Shape::Boolean => "boolean",
    }
}
