//! The events of a claim.

use asb_types::conditions::claim_ready;

use crate::report::{Event, Severity};

pub(super) fn adopted(sandbox: &str) -> Event {
    normal("SandboxAdopted", "Adoption", format!("Adopted warm pool Sandbox {sandbox:?}"))
}

pub(super) fn provisioned(sandbox: &str) -> Event {
    normal("SandboxProvisioned", "Provisioning", format!("Created Sandbox {sandbox:?}"))
}

pub(super) fn expired() -> Event {
    normal(claim_ready::EXPIRED, "Claim Expired", "Claim expired".to_owned())
}

pub(super) fn deleting(why: &str) -> Event {
    normal(claim_ready::EXPIRED, "Deleting", format!("Deleting Claim ({why})"))
}

fn normal(reason: &'static str, action: &'static str, note: String) -> Event {
    Event { severity: Severity::Normal, reason, action, note }
}
