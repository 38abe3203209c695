//! One create or delete of a pool, from its departure to its answer.

use std::sync::Arc;

use asb_core::object::Key;
use asb_core::report::Failure as Told;
use asb_core::write::Write;

use super::ledger::Landing;
use crate::context::Context;
use crate::queue::Urgency;
use crate::traffic::Class;
use crate::writer::Failure;

pub(super) async fn run(context: Arc<Context>, pool: Key, write: Write) {
    let answer = context.writer.write(&write, Class::Housekeeping).await;
    let landing = match answer {
        // Done, or settled some other way that the caches know.
        Ok(_) | Err(Failure::Conflict(_) | Failure::Exists(_)) => Landing::Landed,
        Err(Failure::Missing(_)) if matches!(write, Write::Delete { .. }) => Landing::Landed,
        Err(Failure::Unanswered(problem)) if is_seen(&context, &write) => {
            tracing::debug!(%problem, "an errand was done though nobody answered");
            Landing::Landed
        }
        Err(Failure::Unanswered(problem)) => Landing::Lost(problem),
        Err(Failure::Refused(problem)) => Landing::Failed(Told::Permanent(problem)),
        Err(failure) => Landing::Failed(Told::Transient(failure.to_string())),
    };
    context.pools.arrive(&pool, &write, landing, context.now());
    context.caches.queues.pools.add(&pool, Urgency::Live);
}

/// Whether the caches show that it happened.
fn is_seen(context: &Context, write: &Write) -> bool {
    let key = &write.target().key;
    context.caches.read(|world| match write {
        Write::Create { .. } => world.sandboxes.entry(key).is_some(),
        Write::Delete { uid, .. } => world
            .sandboxes
            .get(key)
            .is_none_or(|sandbox| sandbox.metadata.uid != *uid || sandbox.metadata.is_deleting()),
        Write::Patch { .. } => false,
    })
}
