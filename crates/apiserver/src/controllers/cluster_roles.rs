//! Keeps the rules of ClusterRoles that gather those of others.

use std::sync::Arc;

use serde_json::Value;

use super::Controller;
use crate::api::Api;
use crate::security::authorization::aggregation::aggregated;
use crate::store::Scope;

const ROLES: &str = "clusterroles.rbac.authorization.k8s.io";

pub(super) struct ClusterRoles(pub Arc<Api>);

impl Controller for ClusterRoles {
    const RESOURCES: &'static [&'static str] = &[ROLES];

    fn api(&self) -> &Api {
        &self.0
    }

    async fn begin(&self) {
        work(&self.0).await;
    }
}

/// One round. A role that gathers from one that changed here is settled by the event of that change.
async fn work(api: &Api) {
    let entries = api.store().list(&Scope::resource(ROLES)).entries;
    let roles: Vec<Value> = entries.iter().map(|entry| entry.value()).collect();
    let all: Vec<&Value> = roles.iter().collect();
    for (entry, role) in entries.iter().zip(&roles) {
        let Some(gathered) = aggregated(role, &all) else { continue };
        let written = api.amend_seen(entry, None, |role| role["rules"] = gathered.clone().into()).await;
        if let Err(status) = written {
            tracing::warn!(role = entry.key.name(), error = %status, "a role could not gather its rules");
        }
    }
}
