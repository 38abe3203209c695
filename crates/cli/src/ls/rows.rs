//! What is shown of each kind in a row.

use asb_types::annotations::TEMPLATE_REF;
use asb_types::conditions::READY;
use asb_types::v1beta1::{Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Resource, ResourceExt};
use serde::Serialize;

use crate::output::table::Cell;
use crate::output::tone::Tone;

/// A kind that can be listed.
pub(super) trait Row: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Serialize {
    const PLURAL: &'static str;
    /// Between the name and the age.
    const COLUMNS: &'static [&'static str];
    /// After the age, for who wants more.
    const WIDE: &'static [&'static str];

    fn cells(&self) -> Vec<Cell>;
    fn wide_cells(&self) -> Vec<Cell>;
}

impl Row for Sandbox {
    const PLURAL: &'static str = "sandboxes";
    const COLUMNS: &'static [&'static str] = &["STATUS", "READY", "OWNER"];
    const WIDE: &'static [&'static str] = &["NODE", "IP", "IMAGE", "TEMPLATE"];

    fn cells(&self) -> Vec<Cell> {
        let phase = self.status.as_ref().and_then(|status| status.phase);
        let conditions = self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        vec![
            phase.map(|phase| format!("{phase:?}")).unwrap_or_default().into(),
            ready(conditions),
            owner(self).into(),
        ]
    }

    fn wide_cells(&self) -> Vec<Cell> {
        let status = self.status.clone().unwrap_or_default();
        let template = self.annotations().get(TEMPLATE_REF).cloned().unwrap_or_default();
        let address = status.pod_ips.first().cloned().unwrap_or_default();
        vec![
            status.node_name.into(),
            address.into(),
            image(&self.spec.pod_template.spec).into(),
            template.into(),
        ]
    }
}

impl Row for SandboxClaim {
    const PLURAL: &'static str = "claims";
    const COLUMNS: &'static [&'static str] = &["STATUS", "READY", "SANDBOX", "POOL"];
    const WIDE: &'static [&'static str] = &["LAUNCH"];

    fn cells(&self) -> Vec<Cell> {
        let status = self.status.clone().unwrap_or_default();
        let phase = status.phase.map(|phase| format!("{phase:?}")).unwrap_or_default();
        let pool = self.spec.warm_pool_ref.name.clone();
        vec![phase.into(), ready(&status.conditions), status.sandbox.name.into(), pool.into()]
    }

    fn wide_cells(&self) -> Vec<Cell> {
        let launch = self.status.as_ref().and_then(|status| status.launch.as_ref()?.r#type);
        vec![launch.map(|launch| format!("{launch:?}")).unwrap_or_default().into()]
    }
}

impl Row for SandboxWarmPool {
    const PLURAL: &'static str = "pools";
    const COLUMNS: &'static [&'static str] = &["READY", "SIZE", "TEMPLATE"];
    const WIDE: &'static [&'static str] = &["STATE"];

    fn cells(&self) -> Vec<Cell> {
        let status = self.status.clone().unwrap_or_default();
        let wanted = status.desired_replicas.unwrap_or(self.spec.replicas);
        let tone = if status.ready_replicas >= wanted { Tone::Good } else { Tone::Uncertain };
        let count = Cell::toned(format!("{}/{wanted}", status.ready_replicas), tone);
        vec![count, size(self).into(), self.spec.sandbox_template_ref.name.clone().into()]
    }

    fn wide_cells(&self) -> Vec<Cell> {
        let conditions = self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let reason = conditions.iter().find(|it| it.type_ == READY).map(|it| it.reason.clone());
        vec![reason.unwrap_or_default().into()]
    }
}

impl Row for SandboxTemplate {
    const PLURAL: &'static str = "templates";
    const COLUMNS: &'static [&'static str] = &["READY", "IMAGE"];
    const WIDE: &'static [&'static str] = &["NETWORK"];

    fn cells(&self) -> Vec<Cell> {
        let conditions = self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        vec![ready(conditions), image(&self.spec.pod_template.spec).into()]
    }

    fn wide_cells(&self) -> Vec<Cell> {
        vec![format!("{:?}", self.spec.network_policy_management).into()]
    }
}

/// Yes, or why not.
fn ready(conditions: &[Condition]) -> Cell {
    match conditions.iter().find(|condition| condition.type_ == READY) {
        None => Cell::from(""),
        Some(ready) if ready.status == "True" => Cell::toned("yes", Tone::Good),
        Some(ready) => Cell::toned(ready.reason.clone(), Tone::Uncertain),
    }
}

/// Whose it is: a claim's, or still its pool's.
fn owner(sandbox: &Sandbox) -> String {
    let owner = sandbox.owner_references().iter().find(|owner| owner.controller == Some(true));
    owner.map_or_else(String::new, |owner| match owner.kind.as_str() {
        "SandboxClaim" => format!("claim/{}", owner.name),
        "SandboxWarmPool" => format!("pool/{}", owner.name),
        kind => format!("{}/{}", kind.to_lowercase(), owner.name),
    })
}

fn size(pool: &SandboxWarmPool) -> String {
    match (pool.spec.min_size, pool.spec.max_size) {
        (None, None) => pool.spec.replicas.to_string(),
        (least, most) => {
            let most = most.map_or_else(|| "…".to_owned(), |most| most.to_string());
            format!("{}–{most}", least.unwrap_or_default())
        }
    }
}

fn image(pod: &PodSpec) -> String {
    pod.containers.first().and_then(|container| container.image.clone()).unwrap_or_default()
}
