//! Our definitions: made where they are missing, and updated to what this program ships, unless there is a reason not to.

use asb_types::crd;
use serde_json::Value;

use crate::api::{self, Api};
use crate::decode::FieldValidation;
use crate::definition::shipped::{Cause, Reason, Upkeep, is_sealed, seal, upkeep};
use crate::object::Object;
use crate::rules;
use crate::status::Status;
use crate::store::Key;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";

/// Deriving definitions takes longer than all the rest of a start, and is for nothing where they are sealed. They are
/// large, and are made one after the other, so that the memory of one serves for the next.
pub(super) async fn keep(api: &Api) -> Result<(), Status> {
    let is_kept = |name: &str, document: &str| {
        api.store().get(&key(name)).is_some_and(|entry| is_sealed(&entry.value(), document))
    };
    let documents = || crd::DOCUMENTS.into_iter().chain(crd::SHORTHAND);
    if documents().all(|(name, document)| is_kept(name, document)) {
        return Ok(());
    }
    for (shipped, (_, document)) in crd::crds().into_iter().chain(crd::shorthand()).zip(documents()) {
        keep_one(api, shipped, document).await?;
    }
    Ok(())
}

async fn keep_one(api: &Api, shipped: Value, document: &str) -> Result<(), Status> {
    let shipped = settled(api, shipped)?;
    let key = key(shipped.name());
    let Some(entry) = api.store().get(&key) else {
        return api.ensure(PLURAL, GROUP, sealed(shipped, document)).await;
    };
    tell(&key, &upkeep(&entry.value(), &shipped));
    let written = api.amend(&key, None, |live| update(live, &shipped, document)).await;
    survive(&key, written)
}

/// With the defaults that storing it would add.
fn settled(api: &Api, shipped: Value) -> Result<Value, Status> {
    match api.registry().find(GROUP, "v1", PLURAL) {
        Some(resource) => rules::read(resource, shipped, FieldValidation::Strict).map(|(settled, _)| settled),
        None => Ok(shipped),
    }
}

fn update(live: &mut Value, shipped: &Value, document: &str) {
    match upkeep(live, shipped) {
        Upkeep::Leave(_) => {}
        Upkeep::Nothing => seal(live, document),
        Upkeep::Replace(updated, _) => *live = sealed(updated, document),
    }
}

fn sealed(mut definition: Value, document: &str) -> Value {
    seal(&mut definition, document);
    definition
}

/// A definition in which somebody changed what cannot be changed back is no reason not to serve everything else.
fn survive(key: &Key, written: Result<(), Status>) -> Result<(), Status> {
    match written {
        Err(status) if status.reason == "Invalid" => {
            tracing::error!(definition = key.name(), error = %status, "what this program ships cannot be stored");
            Ok(())
        }
        written => written,
    }
}

fn tell(key: &Key, upkeep: &Upkeep) {
    let definition = key.name();
    match upkeep {
        Upkeep::Nothing => {}
        Upkeep::Replace(_, Cause::Outdated) => {
            tracing::info!(definition, "updating to what this program ships");
        }
        Upkeep::Replace(_, Cause::Edited) => tracing::warn!(
            definition,
            "somebody changed it: putting back what this program ships; agents.x-k8s.io/autoupdate=false would keep it"
        ),
        Upkeep::Leave(Reason::Marked) => {
            tracing::info!(
                definition,
                "differs from what this program ships, and is marked to be left alone"
            );
        }
        Upkeep::Leave(Reason::Newer) => {
            tracing::warn!(definition, "is of a newer program, and is left as it is");
        }
        Upkeep::Leave(Reason::Deleting) => {
            tracing::warn!(definition, "is being deleted, and is made again by the next start");
        }
    }
}

fn key(name: &str) -> Key {
    Key::new(api::DEFINITIONS, None, name)
}
