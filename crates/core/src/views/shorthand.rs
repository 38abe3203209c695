//! What is kept of objects in short spellings, and of those that they stand for.

use std::fmt::Debug;
use std::marker::PhantomData;

use serde_json::{Value, json};

use super::{BadField, ClaimView, PoolView, TemplateView, View};
use crate::document::{Document, Documents};
use crate::object::Metadata;
use crate::write::Kind;

/// Which kind is spelled.
pub trait Spelling: Clone + Debug + PartialEq + Send + Sync + 'static {
    const KIND: Kind;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShortClaim {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShortTemplate {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShortPool {}

impl Spelling for ShortClaim {
    const KIND: Kind = Kind::ShorthandClaim;
}

impl Spelling for ShortTemplate {
    const KIND: Kind = Kind::ShorthandTemplate;
}

impl Spelling for ShortPool {
    const KIND: Kind = Kind::ShorthandPool;
}

/// An object in a short spelling. What it says is looked into by its translation alone.
#[derive(Clone, Debug, PartialEq)]
pub struct ShorthandView<S> {
    pub metadata: Metadata,
    pub spec: Document,
    /// Null until it is written.
    pub status: Document,
    spelling: PhantomData<S>,
}

impl<S: Spelling> View for ShorthandView<S> {
    const KIND: Kind = S::KIND;

    fn read(metadata: Metadata, object: &Value) -> Result<Self, BadField> {
        let (spec, status) = ((&object["spec"]).into(), (&object["status"]).into());
        Ok(Self { metadata, spec, status, spelling: PhantomData })
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn share(&mut self, documents: &mut Documents) {
        self.spec = documents.share(&self.spec);
    }
}

/// A kind that a short spelling can stand for.
pub trait Canonical: View {
    /// The spec as it is stored, where a short spelling is in control of the object.
    fn spelled(&self) -> Option<&Document>;

    fn status(&self) -> Value;
}

impl Canonical for ClaimView {
    fn spelled(&self) -> Option<&Document> {
        self.spelled.as_ref()
    }

    fn status(&self) -> Value {
        json!(self.status)
    }
}

impl Canonical for TemplateView {
    fn spelled(&self) -> Option<&Document> {
        self.spelled.as_ref()
    }

    fn status(&self) -> Value {
        json!(self.status)
    }
}

impl Canonical for PoolView {
    fn spelled(&self) -> Option<&Document> {
        self.spelled.as_ref()
    }

    fn status(&self) -> Value {
        json!(self.status)
    }
}

/// What [`Canonical::spelled`] keeps. Whole specs are compared only where one is translated from another.
pub(super) fn spelled(metadata: &Metadata, object: &Value) -> Option<Document> {
    let owner = metadata.owner.as_ref()?;
    Kind::SHORTHAND.into_iter().any(|kind| owner.is(kind)).then(|| (&object["spec"]).into())
}
