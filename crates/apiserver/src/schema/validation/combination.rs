//! Schemas of which a value satisfies all, any, exactly one or none.

use std::sync::Arc;

use super::finding::{Finding, Outcome};
use super::{Place, Validator};
use crate::field::Quoted;
use crate::schema::{Rules, Schema};

impl Validator<'_> {
    pub(super) fn combined(self, rules: &Rules, place: Place<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        if !rules.any_of.is_empty() {
            self.any(&rules.any_of, place, &mut outcome);
        }
        if !rules.one_of.is_empty() {
            self.one(&rules.one_of, place, &mut outcome);
        }
        if !rules.all_of.is_empty() {
            self.all(&rules.all_of, place, &mut outcome);
        }
        if let Some(not) = &rules.not
            && self.value(not, place).is_valid()
        {
            outcome.extend(Some(finding(place, "must not validate the schema (not)")));
        }
        outcome.matches += 1;
        outcome
    }

    fn any(self, schemas: &[Arc<Schema>], place: Place<'_>, outcome: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        for schema in schemas {
            let found = self.value(schema, place);
            if found.is_valid() {
                return outcome.merge(found);
            }
            keep_better(&mut best, found);
        }
        outcome.extend(Some(finding(place, "must validate at least one schema (anyOf)")));
        outcome.merge(best.unwrap_or_default());
    }

    fn one(self, schemas: &[Arc<Schema>], place: Place<'_>, outcome: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        let mut valid: Option<Outcome> = None;
        let mut count = 0;
        for schema in schemas {
            let found = self.value(schema, place);
            if found.is_valid() {
                count += 1;
                valid.get_or_insert(found);
            } else {
                keep_better(&mut best, found);
            }
        }
        match count {
            1 => outcome.merge(valid.unwrap_or_default()),
            0 => {
                outcome.extend(Some(finding(place, &format!("{ONE_ONLY} Found none valid"))));
                outcome.merge(best.unwrap_or_default());
            }
            several => {
                let rule = format!("{ONE_ONLY} Found {several} valid alternatives");
                outcome.extend(Some(finding(place, &rule)));
            }
        }
    }

    fn all(self, schemas: &[Arc<Schema>], place: Place<'_>, outcome: &mut Outcome) {
        let mut valid = 0;
        for schema in schemas {
            let found = self.value(schema, place);
            valid += usize::from(found.is_valid());
            outcome.merge(found);
        }
        if valid != schemas.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            outcome.extend(Some(finding(place, &format!("must validate all the schemas (allOf){none}"))));
        }
    }
}

const ONE_ONLY: &str = "must validate one and only one schema (oneOf).";

/// The first of those that fit best is kept.
fn keep_better(best: &mut Option<Outcome>, found: Outcome) {
    if best.as_ref().is_none_or(|best| found.matches > best.matches) {
        *best = Some(found);
    }
}

fn finding(place: Place<'_>, rule: &str) -> Finding {
    Finding::nowhere(format!("{} {rule}", Quoted(&place.path.to_string())))
}
