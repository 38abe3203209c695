//! A list as pieces of text, each made when the client has taken the one before: what is waiting to be sent is never more
//! than a piece, however long the list is and however slowly it is read.

use std::borrow::Cow;
use std::sync::Arc;
use std::vec;

use jiff::Timestamp;

use super::{Shape, columns, head};
use crate::api::{Page, is_as_stored, shown};
use crate::negotiation::Form;
use crate::resource::Resource;
use crate::status::Status;
use crate::store::Entry;
use crate::table::IncludeObject;
use crate::text::Text;

/// About how long a piece is.
const PIECE: usize = 64 * 1024;

pub(in crate::server) struct Parts {
    resource: Arc<Resource>,
    shape: Shape,
    now: Timestamp,
    left: vec::IntoIter<Arc<Entry>>,
    text: Vec<u8>,
    pub(super) is_done: bool,
}

impl Parts {
    pub(super) fn new(resource: &Arc<Resource>, page: Page, shape: Shape) -> Self {
        let mut text = head(resource, &page, shape).to_string().into_bytes();
        text.pop();
        let opening: &[u8] = match shape.representation.form {
            Form::Table(_) => b",\"rows\":[",
            _ => b",\"items\":[",
        };
        text.extend_from_slice(opening);
        let (left, now) = (page.entries.into_iter(), Timestamp::now());
        Self { resource: Arc::clone(resource), shape, now, left, text, is_done: false }
    }

    fn write(&mut self, entry: &Entry) {
        let Ok(object) = shown_text(&self.resource, entry) else { return };
        match self.shape.representation.form {
            Form::Table(_) => self.write_row(&object),
            Form::Partial(_, version) => write_partial(&object, version, &mut self.text),
            _ => write_item(&self.resource, &object, &mut self.text),
        }
    }

    /// The cells come from a tree, and what the row holds of its object from the text.
    fn write_row(&mut self, object: &Text) {
        // Columns of definitions may show anything.
        let tree = if self.resource.is_built_in() { object.value_without_managers() } else { object.value() };
        let mut row = columns(&self.resource).row(tree, IncludeObject::None, self.now);
        row.as_object_mut().and_then(|row| row.remove("object"));
        self.text.extend(row.to_string().as_bytes());
        self.text.pop();
        self.text.extend_from_slice(b",\"object\":");
        match self.shape.include {
            IncludeObject::None => self.text.extend_from_slice(b"null"),
            IncludeObject::Metadata => write_partial(object, "v1", &mut self.text),
            IncludeObject::Object => self.text.extend_from_slice(object.json()),
        }
        self.text.push(b'}');
    }
}

impl Iterator for Parts {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.is_done {
            return None;
        }
        while self.text.len() < PIECE {
            let Some(entry) = self.left.next() else { break };
            self.write(&entry);
            let end: &[u8] = if self.left.len() == 0 { b"]}" } else { b"," };
            self.text.extend_from_slice(end);
        }
        self.is_done = self.left.len() == 0;
        Some(std::mem::take(&mut self.text))
    }
}

fn shown_text<'a>(resource: &Resource, entry: &'a Entry) -> Result<Cow<'a, Text>, Status> {
    if is_as_stored(resource, entry) {
        return Ok(Cow::Borrowed(&entry.text));
    }
    Ok(Cow::Owned(Text::of(&shown(resource, entry)?)))
}

fn write_partial(object: &Text, version: &str, text: &mut Vec<u8>) {
    text.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/");
    text.extend_from_slice(version.as_bytes());
    text.extend_from_slice(b"\",\"metadata\":");
    text.extend_from_slice(object.metadata());
    text.push(b'}');
}

/// Items of Kubernetes' own lists leave out what the list says already.
fn write_item(resource: &Resource, object: &Text, text: &mut Vec<u8>) {
    if resource.is_built_in() {
        text.push(b'{');
        text.extend_from_slice(object.rest());
    } else {
        text.extend_from_slice(object.json());
    }
}
