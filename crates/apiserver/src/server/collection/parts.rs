//! A list as pieces of text, each made when the client has taken the one before: what is waiting to be sent is never more
//! than a piece, however long the list is and however slowly it is read.

use std::sync::Arc;
use std::vec;

use jiff::Timestamp;
use serde_json::Value;

use super::{Shape, columns, head, partial};
use crate::api::{Page, shown};
use crate::negotiation::Form;
use crate::resource::Resource;
use crate::store::Entry;

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
        let Ok(object) = shown(&self.resource, &entry.value) else { return };
        match self.shape.representation.form {
            Form::Table(_) => {
                let row = columns(&self.resource).row(&object, self.shape.include, self.now);
                write_value(&row, &mut self.text);
            }
            Form::Partial(_, version) => write_value(&partial(&object, version), &mut self.text),
            _ => write_item(&self.resource, &object, &mut self.text),
        }
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

fn write_value(value: &Value, text: &mut Vec<u8>) {
    serde_json::to_writer(text, value).expect("a JSON value becomes JSON");
}

/// Items of Kubernetes' own lists leave out what the list says already.
fn write_item(resource: &Resource, object: &Value, text: &mut Vec<u8>) {
    let Some(fields) = object.as_object().filter(|_| resource.is_built_in()) else {
        write_value(object, text);
        return;
    };
    text.push(b'{');
    let kept = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind"));
    for (index, (name, value)) in kept.enumerate() {
        if index > 0 {
            text.push(b',');
        }
        serde_json::to_writer(&mut *text, name).expect("text becomes JSON");
        text.push(b':');
        write_value(value, text);
    }
    text.push(b'}');
}
