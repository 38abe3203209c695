//! What chance decides follows from one number, which a run can be given.

use std::env;

use anyhow::{Context, Result};
use asb_operator::Dice;

/// `ASB_TEST_SEED`, or any.
pub(crate) fn seed() -> Result<u64> {
    number("ASB_TEST_SEED").map(|seed| seed.unwrap_or_else(|| Dice::loaded_by_chance().roll()))
}

pub(crate) fn number(name: &str) -> Result<Option<u64>> {
    let text = env::var(name).ok().filter(|text| !text.is_empty());
    text.map(|text| text.parse()).transpose().with_context(|| format!("{name} is no number"))
}
