//! Decides what a request to delete makes of an object: gone at once, marked and waiting for somebody, or nothing new.
//! Pure; the doing is for [`crate::api`].

use jiff::Timestamp;
use serde_json::Value;

use crate::definition;
use crate::object::{Object, child, moment, seconds_after, time};
use crate::options::{DeleteOptions, Propagation};

/// Kept on an object until its dependents have been let go.
pub const ORPHAN: &str = "orphan";

/// Kept on an object until its dependents are gone.
pub const FOREGROUND: &str = "foregroundDeletion";

/// What becomes of the object.
#[derive(Clone, Debug, PartialEq)]
pub enum Deletion {
    /// It goes, now.
    Now,
    /// It stays, marked like this, until its finalizers are removed or its time is up.
    Marked(Value),
    /// It is marked like this, so that watches see it, and goes in the same moment.
    MarkedThenGone(Value),
    /// It was being deleted already, and this changes nothing.
    Pending,
}

/// How long an object has to end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grace {
    /// Its kind knows no such thing.
    Unknown,
    /// Nothing of it runs, so there is nothing to wait for.
    Needless,
    /// So many seconds where the client asks for nothing else.
    Usually(i64),
}

pub fn decide(object: &Value, options: &DeleteOptions, grace: Grace, now: Timestamp) -> Deletion {
    let mut marked = object.clone();
    // Kubernetes takes less than nothing for a second.
    let asked = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let graceful = match grace {
        Grace::Unknown => Graceful::No,
        _ if object.is_deleting() => shorten(&mut marked, asked, now),
        Grace::Needless => mark_graceful(&mut marked, 0, now),
        Grace::Usually(seconds) => mark_graceful(&mut marked, asked.unwrap_or(seconds), now),
    };
    if graceful == Graceful::Pending {
        return Deletion::Pending;
    }
    set_propagation(&mut marked, options);
    let waits_for_finalizers = marked.finalizers().next().is_some();
    match graceful {
        Graceful::For(seconds) if seconds > 0 || waits_for_finalizers => Deletion::Marked(marked),
        Graceful::For(_) => Deletion::MarkedThenGone(marked),
        _ if waits_for_finalizers => {
            mark(&mut marked, now);
            Deletion::Marked(marked)
        }
        _ => Deletion::Now,
    }
}

/// Kept on a definition until everything that it defines is gone.
pub const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// A Namespace goes after what is in it. Its first deletion only marks it, even where nothing holds it.
pub fn of_namespace(namespace: &Value, decision: Deletion, now: Timestamp) -> Deletion {
    let mut marked = match decision {
        Deletion::Pending => return Deletion::Pending,
        Deletion::Now => namespace.clone(),
        Deletion::Marked(marked) | Deletion::MarkedThenGone(marked) => marked,
    };
    let is_held = marked["spec"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
    if namespace.is_deleting() && !is_held && marked.finalizers().next().is_none() {
        return Deletion::Now;
    }
    if !namespace.is_deleting() {
        marked.set_meta("deletionTimestamp", time(now));
    }
    marked.meta_mut().remove("deletionGracePeriodSeconds");
    child(&mut marked, "status").insert("phase".to_owned(), "Terminating".into());
    Deletion::Marked(marked)
}

/// A definition goes after everything that it defines, however its deletion was asked for. It wants what it wanted, and goes
/// on to serve that until it is gone.
pub fn of_definition(definition: &Value, decision: Deletion, now: Timestamp) -> Deletion {
    if definition.is_deleting() {
        return decision;
    }
    let mut marked = definition.clone();
    let others = definition.finalizers().filter(|finalizer| *finalizer != CLEANUP);
    marked.set_finalizers(others.chain([CLEANUP]));
    let now = time(now);
    marked["status"] = definition::deletion_status(definition, definition::Emptying::Pending, &now);
    marked.set_meta("deletionTimestamp", now);
    Deletion::Marked(marked)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Graceful {
    No,
    Pending,
    For(i64),
}

fn mark_graceful(object: &mut Value, seconds: i64, now: Timestamp) -> Graceful {
    object.set_meta("deletionTimestamp", time(seconds_after(now, seconds)));
    object.set_meta("deletionGracePeriodSeconds", seconds);
    next_generation(object);
    Graceful::For(seconds)
}

/// An object that is being deleted can only be given less time.
fn shorten(object: &mut Value, asked: Option<i64>, now: Timestamp) -> Graceful {
    let current = object.meta("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or_default();
    if current == 0 {
        return Graceful::No;
    }
    let Some(asked) = asked.filter(|asked| *asked < current) else { return Graceful::Pending };
    let deadline = moment(object.meta_text("deletionTimestamp")).unwrap_or(now);
    let earlier = seconds_after(deadline, asked - current);
    let seconds = if earlier < now && asked != 0 { 1 } else { asked };
    object.set_meta("deletionTimestamp", time(earlier.max(now)));
    object.set_meta("deletionGracePeriodSeconds", seconds);
    Graceful::For(seconds)
}

/// Marks an object whose kind knows no grace.
fn mark(object: &mut Value, now: Timestamp) {
    if !object.is_deleting() {
        next_generation(object);
    }
    let deadline = moment(object.meta_text("deletionTimestamp"));
    if deadline.is_none_or(|deadline| deadline > now) {
        object.set_meta("deletionTimestamp", time(now));
    }
    object.set_meta("deletionGracePeriodSeconds", 0);
}

/// Its controllers must see that something changed.
fn next_generation(object: &mut Value) {
    let generation = object.generation();
    if generation > 0 {
        object.set_meta("generation", generation + 1);
    }
}

fn set_propagation(object: &mut Value, options: &DeleteOptions) {
    let wanted = match (options.orphan_dependents, options.propagation) {
        (Some(true), _) | (None, Some(Propagation::Orphan)) => Some(ORPHAN),
        (None, Some(Propagation::Foreground)) => Some(FOREGROUND),
        (Some(false), _) | (None, Some(Propagation::Background)) => None,
        // A finalizer that somebody set says what they want.
        (None, None) => [ORPHAN, FOREGROUND].into_iter().find(|finalizer| object.has_finalizer(finalizer)),
    };
    let others = object.finalizers().filter(|finalizer| !matches!(*finalizer, ORPHAN | FOREGROUND));
    let finalizers: Vec<String> = others.chain(wanted).map(str::to_owned).collect();
    let unchanged = finalizers.len() == object.finalizers().count()
        && object.finalizers().all(|finalizer| finalizers.iter().any(|kept| kept == finalizer));
    if !unchanged {
        object.set_finalizers(finalizers.iter().map(String::as_str));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOON: &str = "2026-01-01T12:00:00Z";

    fn noon() -> Timestamp {
        NOON.parse().unwrap()
    }

    fn propagation(propagation: Propagation) -> DeleteOptions {
        DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() }
    }

    #[test]
    fn a_plain_object_goes_at_once() {
        let object = json!({"metadata": {"name": "a"}});
        assert_eq!(decide(&object, &DeleteOptions::default(), Grace::Unknown, noon()), Deletion::Now);
    }

    #[test]
    fn an_object_with_finalizers_is_marked_and_stays() {
        let object = json!({"metadata": {"name": "a", "generation": 2, "finalizers": ["x"]}});
        let Deletion::Marked(marked) = decide(&object, &DeleteOptions::default(), Grace::Unknown, noon())
        else {
            panic!()
        };
        let expected = json!({
            "name": "a", "generation": 3, "finalizers": ["x"],
            "deletionTimestamp": NOON, "deletionGracePeriodSeconds": 0,
        });
        assert_eq!(marked["metadata"], expected);
    }

    #[test]
    fn foreground_and_orphan_wait_for_the_garbage_collector() {
        let object = json!({"metadata": {"name": "a"}});
        for (how, finalizer) in [(Propagation::Foreground, FOREGROUND), (Propagation::Orphan, ORPHAN)] {
            let Deletion::Marked(marked) = decide(&object, &propagation(how), Grace::Unknown, noon()) else {
                panic!()
            };
            assert_eq!(marked.finalizers().collect::<Vec<_>>(), [finalizer]);
        }
    }

    #[test]
    fn an_explicit_policy_replaces_the_one_of_the_finalizers() {
        let object = json!({"metadata": {"name": "a", "finalizers": [ORPHAN]}});
        assert_eq!(
            decide(&object, &propagation(Propagation::Background), Grace::Unknown, noon()),
            Deletion::Now
        );
    }

    #[test]
    fn grace_is_given_once_and_only_shortened() {
        let object = json!({"metadata": {"name": "a"}});
        let Deletion::Marked(marked) = decide(&object, &DeleteOptions::default(), Grace::Usually(30), noon())
        else {
            panic!()
        };
        assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-01-01T12:00:30Z");
        let longer = DeleteOptions { grace_period_seconds: Some(60), ..DeleteOptions::default() };
        assert_eq!(decide(&marked, &longer, Grace::Usually(30), noon()), Deletion::Pending);
        let none = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        assert!(matches!(decide(&marked, &none, Grace::Usually(30), noon()), Deletion::MarkedThenGone(_)));
    }

    fn asking(seconds: i64) -> DeleteOptions {
        DeleteOptions { grace_period_seconds: Some(seconds), ..DeleteOptions::default() }
    }

    fn marked(object: &Value, options: &DeleteOptions, now: &str) -> Value {
        match decide(object, options, Grace::Usually(30), now.parse().unwrap()) {
            Deletion::Marked(marked) => marked,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_does_not_run_goes_at_once_however_long_it_is_given() {
        let object = json!({"metadata": {"name": "a"}});
        let decision = decide(&object, &asking(60), Grace::Needless, noon());
        let expected = json!({"name": "a", "deletionTimestamp": NOON, "deletionGracePeriodSeconds": 0});
        assert_eq!(decision, Deletion::MarkedThenGone(json!({"metadata": expected})));
    }

    #[test]
    fn time_that_is_over_leaves_a_second() {
        let object = json!({"metadata": {"name": "a", "generation": 1}});
        let first = marked(&object, &DeleteOptions::default(), NOON);
        let shorter = marked(&first, &asking(10), "2026-01-01T12:00:05Z");
        assert_eq!(shorter["metadata"]["deletionTimestamp"], "2026-01-01T12:00:10Z");
        assert_eq!(shorter["metadata"]["generation"], 2);
        let late = marked(&first, &asking(10), "2026-01-01T12:00:20Z");
        assert_eq!(late["metadata"]["deletionTimestamp"], "2026-01-01T12:00:20Z");
        assert_eq!(late["metadata"]["deletionGracePeriodSeconds"], 1);
    }

    #[test]
    fn negative_and_endless_graces_are_numbers_too() {
        let object = json!({"metadata": {"name": "a"}});
        assert_eq!(marked(&object, &asking(-7), NOON)["metadata"]["deletionGracePeriodSeconds"], 1);
        marked(&object, &asking(i64::MAX), NOON);
    }

    #[test]
    fn a_namespace_stays_until_its_content_is_gone() {
        let held = json!({"metadata": {"name": "a"}, "spec": {"finalizers": ["kubernetes"]}});
        let expected = json!({"metadata": {"name": "a", "deletionTimestamp": NOON},
                              "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating"}});
        assert_eq!(of_namespace(&held, Deletion::Now, noon()), Deletion::Marked(expected));
        let free = json!({"metadata": {"name": "a"}, "spec": {}});
        assert!(matches!(of_namespace(&free, Deletion::Now, noon()), Deletion::Marked(_)));
        let empty = json!({"metadata": {"name": "a", "deletionTimestamp": NOON}, "spec": {}});
        assert_eq!(of_namespace(&empty, Deletion::Now, noon()), Deletion::Now);
    }

    #[test]
    fn a_definition_goes_after_what_it_defines_however_it_is_deleted() {
        let plain = json!({"metadata": {"name": "a", "generation": 3}});
        let held = json!({"metadata": {"name": "a", "generation": 3, "finalizers": ["x.io/y"]}});
        let ways = [Propagation::Background, Propagation::Foreground, Propagation::Orphan];
        for (definition, finalizers) in [(plain, vec![CLEANUP]), (held, vec!["x.io/y", CLEANUP])] {
            for way in ways {
                let decision = decide(&definition, &propagation(way), Grace::Unknown, noon());
                let Deletion::Marked(marked) = of_definition(&definition, decision, noon()) else { panic!() };
                let expected = json!({
                    "name": "a", "generation": 3, "finalizers": finalizers, "deletionTimestamp": NOON,
                });
                assert_eq!(marked["metadata"], expected);
                assert_eq!(marked["status"]["conditions"][0]["reason"], "InstanceDeletionPending");
            }
        }
    }

    #[test]
    fn an_endless_grace_can_be_shortened() {
        let object = json!({"metadata": {"name": "a"}});
        let endless = marked(&object, &asking(i64::MAX), NOON);
        let shorter = marked(&endless, &asking(30), NOON);
        assert_eq!(shorter["metadata"]["deletionTimestamp"], NOON);
    }
}
