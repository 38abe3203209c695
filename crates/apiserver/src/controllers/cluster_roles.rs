//! Keeps the rules of ClusterRoles that gather those of others.

use std::sync::Arc;

use serde_json::Value;

use super::driver::Controller;
use crate::api::Api;
use crate::security::authorization::aggregation::aggregated;
use crate::status::Status;
use crate::store::{Event, Scope};

const ROLES: &str = "clusterroles.rbac.authorization.k8s.io";

pub(super) struct ClusterRoles(pub Arc<Api>);

impl Controller for ClusterRoles {
    const NAME: &'static str = "cluster roles";
    const RESOURCES: &'static [&'static str] = &[ROLES];
    type Item = ();

    fn api(&self) -> &Api {
        &self.0
    }

    fn all(&self) -> Vec<()> {
        vec![()]
    }

    fn touched(&self, _event: &Event) -> Vec<()> {
        vec![()]
    }

    /// One round. A role that gathers from one that changed here is settled by the event of that change.
    async fn tend(&self, (): &()) -> Result<(), Status> {
        let entries = self.0.store().list(&Scope::resource(ROLES)).entries;
        let roles: Vec<Value> = entries.iter().map(|entry| entry.value()).collect();
        let all: Vec<&Value> = roles.iter().collect();
        let mut outcome = Ok(());
        for (entry, role) in entries.iter().zip(&roles) {
            let Some(gathered) = aggregated(role, &all) else { continue };
            let written =
                self.0.amend_seen(entry, None, |role| role["rules"] = gathered.clone().into()).await;
            outcome = outcome.and(written);
        }
        outcome
    }
}
