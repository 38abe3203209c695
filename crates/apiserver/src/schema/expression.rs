//! Rules in CEL: compiled once for a schema, then evaluated on every object of it. The language and its functions are
//! kube-cel's; what is evaluated when, on what, and how a failure is worded is decided here.

mod budget;
mod casts;
mod check;
mod conversion;
mod escape;
mod evaluation;
mod failure;
mod functions;
mod loops;
mod parsing;
pub(crate) mod paths;
mod program;
mod rule;
mod tree;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Schema, Shape};
use rule::Rule;

pub(crate) use check::Output;
pub(super) use evaluation::evaluate;
pub(crate) use program::Program;

/// The rules of a schema and of everything inside that has any.
#[derive(Debug)]
pub(super) struct Node {
    schema: Arc<Schema>,
    rules: Vec<Rule>,
    /// The value is a whole object: rules may look at its kind and its name.
    is_resource: bool,
    fields: BTreeMap<String, Node>,
    others: Option<Box<Node>>,
    items: Option<Box<Node>>,
}

impl Node {
    /// None where there are no rules.
    pub(super) fn new(schema: &Arc<Schema>, is_resource: bool) -> Option<Self> {
        let rules = schema.rules.iter().flat_map(|rules| &rules.expressions);
        let mut node = Self {
            schema: Arc::clone(schema),
            rules: rules.map(|rule| Rule::new(rule, schema)).collect(),
            is_resource,
            fields: BTreeMap::new(),
            others: None,
            items: None,
        };
        let child = |schema: &Arc<Schema>| Self::new(schema, schema.is_embedded_resource);
        match &schema.shape {
            Shape::Object(fields) => {
                let known = fields.known.iter();
                node.fields = known.filter_map(|(name, field)| Some((name.clone(), child(field)?))).collect();
                node.others = fields.others.as_ref().and_then(child).map(Box::new);
            }
            Shape::Array(items) => node.items = child(items).map(Box::new),
            _ => {}
        }
        let has_rules = !node.rules.is_empty()
            || !node.fields.is_empty()
            || node.others.is_some()
            || node.items.is_some();
        has_rules.then_some(node)
    }
}
