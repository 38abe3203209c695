//! Which objects of a collection a client wants: by their labels, and by the fields that clients use for it.

mod fields;
mod labels;

pub use fields::{FieldSelector, SelectableFields};
pub use labels::LabelSelector;

use crate::status::Status;

/// Both selectors of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    pub labels: LabelSelector,
    pub fields: FieldSelector,
}

impl Selector {
    pub fn parse(labels: Option<&str>, fields: Option<&str>) -> Result<Self, Status> {
        let labels = LabelSelector::parse(labels.unwrap_or_default()).map_err(Status::bad_request)?;
        let fields = FieldSelector::parse(fields.unwrap_or_default()).map_err(Status::bad_request)?;
        Ok(Self { labels, fields })
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}
