//! Reading collections: at the latest revision or an earlier one, whole or page by page.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Api, Target, is_as_stored, shown};
use crate::options::ListOptions;
use crate::resource::Resource;
use crate::selector::Selector;
use crate::status::Status;
use crate::store::{Entry, Key, Listing, Revision, Store};

/// A list, or a part of one.
pub struct Page {
    pub revision: Revision,
    pub entries: Vec<Arc<Entry>>,
    /// What to ask with for the rest.
    pub continuation: Option<String>,
    /// How many come after this page, where that is known.
    pub remaining: Option<usize>,
}

/// Where the next page starts. Clients send it back as they got it.
#[derive(Serialize, Deserialize)]
struct Place {
    /// At which revision the list is read.
    revision: u64,
    /// The last key of the page before.
    namespace: String,
    name: String,
}

impl Api {
    pub fn list(&self, target: &Target<'_>, options: &ListOptions) -> Result<Page, Status> {
        let known = &target.resource.selectable;
        options.selector.fields.check(known).map_err(Status::bad_request)?;
        let place = options.continuation.as_deref().map(place).transpose()?;
        let mut listing = self.listing(target, options, place.as_ref())?;
        if !options.selector.is_empty() {
            listing.entries.retain(|entry| is_selected(target.resource, &options.selector, entry));
        }
        Ok(page(listing, options))
    }

    fn listing(
        &self,
        target: &Target<'_>,
        options: &ListOptions,
        place: Option<&Place>,
    ) -> Result<Listing, Status> {
        let scope = target.resource.scope(target.namespace);
        if let Some(place) = place {
            let revision = Revision(place.revision);
            not_before(&self.store, revision)?;
            let namespace = Some(place.namespace.as_str()).filter(|namespace| !namespace.is_empty());
            let last = target.resource.key(namespace, &place.name);
            let listing = self.store.list_at(&scope, revision, Some(&last));
            return listing.map_err(|_| Status::expired(CONTINUE_TOO_OLD));
        }
        let wanted = options.resource_version.as_deref().map(revision).transpose();
        let wanted = wanted
            .map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))?
            .unwrap_or_default();
        not_before(&self.store, wanted)?;
        match options.resource_version_match.as_deref() {
            Some("Exact") => {
                self.store.list_at(&scope, wanted, None).map_err(|_| Status::expired(LIST_TOO_OLD))
            }
            // A page of an old list goes on where the list began.
            None if options.limit > 0 && wanted > Revision(0) => {
                self.store.list_at(&scope, wanted, None).map_err(|_| Status::expired(LIST_TOO_OLD))
            }
            _ => Ok(self.store.list(&scope)),
        }
    }
}

const CONTINUE_TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. \
    You can start a new list without the continue parameter.";

const LIST_TOO_OLD: &str = "The resourceVersion for the provided list is too old.";

/// Whether a selector wants an object, as this version of it shows it. Labels and names are the same in every version.
pub(super) fn is_selected(resource: &Resource, selector: &Selector, entry: &Entry) -> bool {
    let at = |pointer: &str| match pointer {
        "/metadata/name" => Some(entry.key.name().into()),
        "/metadata/namespace" => entry.key.namespace().map(Value::from),
        _ if is_as_stored(resource, entry) => entry.text.at(pointer),
        _ => shown(resource, entry).ok()?.pointer(pointer).cloned(),
    };
    selector.labels.matches_labels(|name| entry.summary.label(name))
        && selector.fields.matches(&resource.selectable, at)
}

fn page(listing: Listing, options: &ListOptions) -> Page {
    let Listing { revision, mut entries } = listing;
    let total = entries.len();
    if options.limit == 0 || total <= options.limit {
        return Page { revision, entries, continuation: None, remaining: None };
    }
    entries.truncate(options.limit);
    let continuation = entries.last().map(|last| token(revision, &last.key));
    let remaining = options.selector.is_empty().then_some(total - options.limit);
    Page { revision, entries, continuation, remaining }
}

fn token(revision: Revision, last: &Key) -> String {
    let namespace = last.namespace().unwrap_or_default().to_owned();
    let place = Place { revision: revision.0, namespace, name: last.name().to_owned() };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&place).expect("plain fields become JSON"))
}

fn place(token: &str) -> Result<Place, Status> {
    let why = "invalid continue token: continue key is not valid: it is not one of this server's";
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| Status::bad_request(why))?;
    serde_json::from_slice(&bytes).map_err(|_| Status::bad_request(why))
}

/// A version that a client names, or what is wrong with it.
pub(super) fn revision(text: &str) -> Result<Revision, String> {
    let quoted = crate::field::Quoted(text);
    let why = format!(
        "resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: invalid syntax"
    );
    text.parse().map_err(|_| why)
}

/// Refuses to speak of a time that has not come yet.
pub(super) fn not_before(store: &Store, wanted: Revision) -> Result<(), Status> {
    let latest = store.revision();
    if wanted <= latest {
        return Ok(());
    }
    let message = format!("Timeout: Too large resource version: {wanted}, current: {latest}");
    let cause = crate::status::Cause {
        reason: "ResourceVersionTooLarge".into(),
        message: "Too large resource version".into(),
        field: String::new(),
    };
    Err(Status::new(504, "Timeout", message).with_causes(vec![cause]).retry_after(1))
}
