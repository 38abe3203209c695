//! The roles and bindings that every cluster has: made where they are missing, and completed where they are not.

use futures::future::try_join_all;
use serde_json::Value;

use crate::api::Api;
use crate::object::Object;
use crate::options::DeleteOptions;
use crate::security::authorization::reconciliation::{Upkeep, upkeep};
use crate::security::authorization::{GROUP, bootstrap};
use crate::status::Status;
use crate::store::Key;

pub(super) async fn keep(api: &Api) -> Result<(), Status> {
    try_join_all(bootstrap::objects().into_iter().map(|expected| keep_one(api, expected))).await.map(drop)
}

async fn keep_one(api: &Api, expected: Value) -> Result<(), Status> {
    let plural = plural(&expected);
    let key = Key::new(&format!("{plural}.{GROUP}"), None, expected.name());
    let Some(entry) = api.store().get(&key) else { return api.ensure(plural, GROUP, expected).await };
    let name = key.name();
    match upkeep(&entry.value(), &expected) {
        Upkeep::Nothing => Ok(()),
        Upkeep::Change(_) => {
            tracing::info!(plural, name, "adding what this version comes with");
            api.amend(&key, None, |live| complete(live, &expected)).await
        }
        Upkeep::Recreate => {
            tracing::info!(plural, name, "binding anew, to the role that this version comes with");
            api.remove(&key, &DeleteOptions::default()).await?;
            api.ensure(plural, GROUP, expected).await
        }
        Upkeep::Protected => {
            tracing::warn!(
                plural,
                name,
                "lacks what this version comes with, and is marked to be left alone"
            );
            Ok(())
        }
    }
}

fn complete(live: &mut Value, expected: &Value) {
    if let Upkeep::Change(completed) = upkeep(live, expected) {
        *live = completed;
    }
}

fn plural(object: &Value) -> &'static str {
    if object["kind"] == "ClusterRole" { "clusterroles" } else { "clusterrolebindings" }
}
