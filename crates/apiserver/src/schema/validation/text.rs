//! The length, pattern and format of text.

use super::Validator;
use super::finding::{Finding, Outcome};
use super::kind::known_format;
use crate::field::{Problem, Quoted};
use crate::schema::path::Path;
use crate::schema::{Rules, Schema, format};

/// Only the first of these rules that is broken is spoken of.
pub(super) fn check(validator: Validator<'_>, rules: Option<&Rules>, text: &str, path: &Path<'_>) -> Outcome {
    let Some(rules) = rules else { return Outcome::default() };
    length(rules, text, path).or_else(|| pattern(validator, rules, text, path)).into()
}

fn length(rules: &Rules, text: &str, path: &Path<'_>) -> Option<Finding> {
    if rules.min_length.is_none() && rules.max_length.is_none() {
        return None;
    }
    let length = text.chars().count() as u64;
    if let Some(most) = rules.max_length.filter(|most| length > *most) {
        return Some(Finding::too_long(path, most));
    }
    let least = rules.min_length.filter(|least| length < *least)?;
    Some(Finding::invalid(path, text, &format!("should be at least {least} chars long")))
}

fn pattern(validator: Validator<'_>, rules: &Rules, text: &str, path: &Path<'_>) -> Option<Finding> {
    let pattern = rules.pattern.as_deref().filter(|pattern| !pattern.is_empty())?;
    // A schema is only used once its patterns are compiled; without one nothing matches.
    let matches = validator.patterns.get(pattern).is_some_and(|compiled| compiled.is_match(text));
    (!matches).then(|| Finding::invalid(path, text, &format!("should match '{pattern}'")))
}

/// None where the schema names no format of text.
pub(super) fn format(schema: &Schema, text: &str, path: &Path<'_>) -> Option<Outcome> {
    let format = known_format(schema)?;
    let check = format::check(format)?;
    let finding = (!check(text)).then(|| {
        let detail = format!("{path} in body must be of type {format}: {}", Quoted(text));
        Finding::with(path, Problem::TypeInvalid(text.into()), detail)
    });
    Some(finding.into())
}
