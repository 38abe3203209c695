//! One create or delete of a pool, from its departure to its answer.

use std::sync::Arc;

use asb_core::object::Key;
use asb_core::report::Failure as Told;
use asb_core::views::PoolView;
use asb_core::write::Write;

use super::ledger::Landing;
use crate::context::Context;
use crate::queue::Urgency;
use crate::traffic::Class;
use crate::writer::Failure;

pub(super) async fn run(context: Arc<Context>, pool: Key, generation: i64, write: Write) {
    let permit = context.writer.turn(Class::Housekeeping).await;
    let landing = if is_called_off(&context, &pool, generation, &write) {
        Landing::CalledOff
    } else {
        match context.writer.write_now(&write, permit).await {
            Ok(_) => Landing::Landed,
            Err(failure) => landing(failure, &write, is_seen(&context, &write)),
        }
    };
    context.memory().pools.arrive(&pool, &write, landing, context.now());
    context.caches.queues.pools.add(&pool, Urgency::Live);
}

/// Whether a member was to be made for a pool that has changed while this waited for its turn: it may want fewer now.
fn is_called_off(context: &Context, pool: &Key, generation: i64, write: &Write) -> bool {
    let is_as_it_was =
        |pool: &Arc<PoolView>| pool.metadata.generation == generation && !pool.metadata.is_deleting();
    matches!(write, Write::Create { .. })
        && !context.caches.read(|world| world.pools.get(pool).is_some_and(is_as_it_was))
}

/// What came of an errand that was not simply done. Until the caches show that something is there, it may be.
fn landing(failure: Failure, write: &Write, is_seen: bool) -> Landing {
    match failure {
        Failure::Exists(problem) | Failure::Unanswered(problem) if !is_seen => Landing::Lost(problem),
        Failure::Exists(_) | Failure::Unanswered(_) | Failure::Conflict(_) => Landing::Landed,
        Failure::Missing(_) if matches!(write, Write::Delete { .. }) => Landing::Landed,
        Failure::Refused(problem) => Landing::Failed(Told::Permanent(problem)),
        failure => Landing::Failed(Told::Transient(failure.to_string())),
    }
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

#[cfg(test)]
mod tests {
    use asb_core::write::{Kind, Target};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_create_that_is_said_to_exist_counts_as_lost_until_it_is_seen() {
        let target = Target::new(Kind::Sandbox, Key::new("team", "pool-abcde"));
        let create = Write::Create { target, object: json!({}) };
        let exists = || Failure::Exists("it is there".to_owned());
        assert!(matches!(landing(exists(), &create, false), Landing::Lost(_)));
        assert!(matches!(landing(exists(), &create, true), Landing::Landed));
    }
}
