//! Amounts of resources, as limits and sizes count them: never below zero.

use std::collections::BTreeMap;

use asb_core::pod::quantity as amount;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

pub(crate) type List = BTreeMap<String, Quantity>;

/// Whole units, rounded up; nothing for what is no amount, or a negative one.
pub(crate) fn units(quantity: &Quantity) -> u64 {
    u64::try_from(amount::units(quantity)).unwrap_or_default()
}

/// Thousandths, rounded up: how processors are counted.
pub(crate) fn thousandths(quantity: &Quantity) -> u64 {
    u64::try_from(amount::thousandths(quantity)).unwrap_or_default()
}

/// The amount of a resource in a list, in the unit in which it is counted. Zero means that it is not named.
pub(crate) fn counted(list: Option<&List>, resource: &str) -> u64 {
    let count = if resource == "cpu" { thousandths } else { units };
    list.and_then(|list| list.get(resource)).map_or(0, count)
}
