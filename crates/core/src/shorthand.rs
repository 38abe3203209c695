//! Decides what an object in a short spelling needs: the object that it stands for, under the same name and with the same
//! labels, made, corrected and reported on; for a pool that brings its own template, that one too.
//!
//! The two are one thing: the short one has the say about the spec, and deleting either deletes both. What the other does
//! is left to the planner of its kind.

mod counterpart;
mod inline;
mod status;
mod translation;

use asb_types::conditions::READY;
use serde_json::Value;

use crate::document::Document;
use crate::object::{Metadata, Ownership};
use crate::report::Event;
use crate::views::{Canonical, Unreadable};
use crate::write::{Deleting, Kind, Write};

pub use status::status;
pub use translation::{Refusal, Wanted, wanted};

/// What is known about an object in a short spelling at one moment.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// The kind of the short spelling.
    pub kind: Kind,
    pub metadata: &'a Metadata,
    pub spec: &'a Document,
    pub status: &'a Document,
    /// The object of the kind that it stands for that bears its name, whosever that is.
    pub counterpart: Option<Counterpart<'a>>,
    /// The SandboxTemplate that bears its name, for a pool.
    pub template: Option<Counterpart<'a>>,
}

/// An object that a short spelling may stand for.
#[derive(Clone, Debug)]
pub struct Counterpart<'a> {
    pub metadata: &'a Metadata,
    /// Known where a short spelling is in control.
    pub spec: Option<&'a Document>,
    pub status: Value,
}

impl<'a> Counterpart<'a> {
    pub fn of<V: Canonical>(view: &'a V) -> Self {
        Self { metadata: view.metadata(), spec: view.spelled(), status: view.status() }
    }

    pub fn unreadable(object: &'a Unreadable) -> Self {
        Self { metadata: &object.metadata, spec: None, status: Value::Null }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub writes: Vec<Write>,
    pub outlook: Outlook,
    /// For whoever changed the other object behind the short one's back.
    pub event: Option<Event>,
}

/// How the object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// It is being deleted; nothing is to be said.
    Gone,
    /// The other was there and is no more: whoever deleted it meant both. To be confirmed by the API server.
    Abandoned,
    /// It cannot be translated.
    Refused(String),
    /// An object of that name is there and is not this one's.
    Taken(String),
    /// Something is about to be written; the next look has more to say.
    Changing,
    /// It has the status of the other.
    Following,
}

impl Plan {
    fn nothing(outlook: Outlook) -> Self {
        Self { writes: Vec::new(), outlook, event: None }
    }
}

/// Total and deterministic.
pub fn plan(observed: &Observed<'_>) -> Plan {
    if observed.metadata.is_deleting() {
        return Plan::nothing(Outlook::Gone);
    }
    if observed.counterpart.is_none() && !observed.recorded().is_empty() {
        let delete = Write::delete(observed.kind, observed.metadata, Deleting::Background);
        let writes = vec![delete.locked(observed.metadata.version)];
        return Plan { writes, ..Plan::nothing(Outlook::Abandoned) };
    }
    match wanted(observed.kind, observed.metadata.name(), &observed.spec.value()) {
        Err(Refusal(problem)) => Plan::nothing(Outlook::Refused(problem)),
        Ok(wanted) => translate(observed, &wanted),
    }
}

fn translate(observed: &Observed<'_>, wanted: &Wanted) -> Plan {
    let kind = observed.kind.canonical();
    let parts = [
        wanted.template.as_ref().map(|spec| (Kind::SandboxTemplate, spec, observed.template.as_ref())),
        Some((kind, &wanted.spec, observed.counterpart.as_ref())),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if let Some(taken) = parts.iter().find_map(|(kind, _, present)| observed.taken(*kind, (*present)?)) {
        return Plan::nothing(Outlook::Taken(taken));
    }
    if parts.iter().any(|(.., present)| present.is_some_and(|it| it.metadata.is_deleting())) {
        return Plan::nothing(Outlook::Following);
    }
    let mut writes: Vec<_> = parts
        .iter()
        .filter_map(|(kind, spec, present)| counterpart::write(observed, *kind, spec, *present))
        .collect();
    writes.extend(surplus(observed, wanted));
    let outlook = if writes.is_empty() { Outlook::Following } else { Outlook::Changing };
    Plan { event: meddling(observed, &wanted.spec), writes, outlook }
}

/// The template of a pool that brings none any more.
fn surplus(observed: &Observed<'_>, wanted: &Wanted) -> Option<Write> {
    let template = observed.template.as_ref().filter(|_| wanted.template.is_none())?.metadata;
    let is_ours = template.is_owned_by(&observed.metadata.uid) && !template.is_deleting();
    is_ours.then(|| Write::delete(Kind::SandboxTemplate, template, Deleting::Background))
}

/// What to tell where the other object was as it should be, and is not any more.
fn meddling(observed: &Observed<'_>, wanted: &Value) -> Option<Event> {
    let changed = observed.counterpart.as_ref()?.spec?.value() != *wanted;
    let status = observed.status.value();
    let mut conditions = status["conditions"].as_array()?.iter();
    let ready = conditions.find(|condition| condition["type"] == READY)?;
    let was_settled = ready["observedGeneration"] == observed.metadata.generation;
    let short = observed.kind.full_name();
    (changed && was_settled).then(|| {
        Event::warning(
            "ChangeUndone",
            "Translation",
            format!("its spec is what {short} {:?} says; change that one", observed.metadata.name()),
        )
    })
}

impl Observed<'_> {
    /// The UID of the object that this one was seen to stand for.
    fn recorded(&self) -> String {
        self.status.value()["canonicalUID"].as_str().unwrap_or_default().to_owned()
    }

    fn taken(&self, kind: Kind, present: &Counterpart<'_>) -> Option<String> {
        let owner = match present.metadata.ownership(&self.metadata.uid) {
            Ownership::Ours => return None,
            Ownership::Nobodys => "nobody".to_owned(),
            Ownership::Anothers(owner) => format!("{} {:?}", owner.kind, owner.name),
        };
        Some(format!(
            "{} {:?} is there already and is controlled by {owner}, not by this {}; rename one of them or delete the other",
            kind.full_name(),
            present.metadata.name(),
            self.kind.name(),
        ))
    }
}

#[cfg(test)]
mod tests;
