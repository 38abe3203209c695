//! Decides what one object needs: to go with its owners, to let go of those that are gone, or to be let go because what
//! it owned is gone. Pure.

use serde_json::Value;

use crate::deletion::{FOREGROUND, ORPHAN};
use crate::object::Object;
use crate::options::Propagation;

/// An owner that an object names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    uid: String,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    There,
    /// There, and waiting to go until what it owns is gone.
    Waiting,
    Gone,
    /// Of a kind that nobody knows, and never seen, so nobody can say. Nothing is deleted on a guess.
    Unknown,
}

impl Owner {
    pub(super) fn there(uid: String) -> Self {
        Self { uid, state: State::There }
    }

    pub(super) fn waiting(uid: String) -> Self {
        Self { uid, state: State::Waiting }
    }

    pub(super) fn gone(uid: String) -> Self {
        Self { uid, state: State::Gone }
    }

    pub(super) fn unknown(uid: String) -> Self {
        Self { uid, state: State::Unknown }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Nothing,
    Delete(Propagation),
    /// Forget the owners with these uids.
    DropOwners(Vec<String>),
    DropFinalizer(&'static str),
    /// Make everything that it owns forget it, and then drop this finalizer.
    OrphanDependents(&'static str),
}

/// `owns` says whether others name this object as their owner, and `is_blocked` whether it must outlive some of them.
pub(super) fn plan(object: &Value, owners: &[Owner], owns: bool, is_blocked: bool) -> Plan {
    if object.is_deleting() {
        return finish(object, is_blocked);
    }
    let with = |states: &[State]| owners.iter().filter(|owner| states.contains(&owner.state)).count();
    if owners.is_empty() {
        return Plan::Nothing;
    }
    if with(&[State::There, State::Unknown]) > 0 {
        return forget(owners);
    }
    if with(&[State::Waiting]) > 0 && owns {
        return Plan::Delete(Propagation::Foreground);
    }
    Plan::Delete(own_propagation(object))
}

/// An object on its way out waits for the garbage collector only by these two finalizers.
fn finish(object: &Value, is_blocked: bool) -> Plan {
    if object.has_finalizer(ORPHAN) {
        Plan::OrphanDependents(ORPHAN)
    } else if object.has_finalizer(FOREGROUND) && !is_blocked {
        Plan::DropFinalizer(FOREGROUND)
    } else {
        Plan::Nothing
    }
}

/// It has an owner that stays: those that do not are no longer its business.
fn forget(owners: &[Owner]) -> Plan {
    let lost = owners.iter().filter(|owner| matches!(owner.state, State::Gone | State::Waiting));
    let lost: Vec<String> = lost.map(|owner| owner.uid.clone()).collect();
    let one_stays = owners.iter().any(|owner| owner.state == State::There);
    if lost.is_empty() || !one_stays { Plan::Nothing } else { Plan::DropOwners(lost) }
}

/// What its own finalizers say should become of what it owns.
fn own_propagation(object: &Value) -> Propagation {
    if object.has_finalizer(ORPHAN) {
        Propagation::Orphan
    } else if object.has_finalizer(FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn alive() -> Value {
        json!({"metadata": {"name": "a"}})
    }

    fn deleting(finalizers: &[&str]) -> Value {
        json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers}})
    }

    fn there() -> Owner {
        Owner::there("there".into())
    }

    fn waiting() -> Owner {
        Owner::waiting("waiting".into())
    }

    fn gone() -> Owner {
        Owner::gone("gone".into())
    }

    #[test]
    fn an_object_goes_when_its_last_owner_is_gone() {
        assert_eq!(plan(&alive(), &[gone()], false, false), Plan::Delete(Propagation::Background));
        assert_eq!(plan(&alive(), &[gone(), waiting()], false, false), Plan::Delete(Propagation::Background));
    }

    #[test]
    fn nothing_with_a_live_owner_goes() {
        assert_eq!(plan(&alive(), &[there()], true, true), Plan::Nothing);
        assert_eq!(plan(&alive(), &[there(), gone()], false, false), Plan::DropOwners(vec!["gone".into()]));
        assert_eq!(
            plan(&alive(), &[there(), waiting()], false, false),
            Plan::DropOwners(vec!["waiting".into()])
        );
    }

    #[test]
    fn nothing_is_deleted_on_a_guess() {
        assert_eq!(plan(&alive(), &[Owner::unknown("?".into()), gone()], false, false), Plan::Nothing);
        assert_eq!(plan(&alive(), &[], true, true), Plan::Nothing);
    }

    #[test]
    fn foreground_deletion_goes_down_the_tree_and_comes_back_up() {
        assert_eq!(plan(&alive(), &[waiting()], true, false), Plan::Delete(Propagation::Foreground));
        assert_eq!(plan(&deleting(&[FOREGROUND]), &[], true, true), Plan::Nothing);
        assert_eq!(plan(&deleting(&[FOREGROUND]), &[], true, false), Plan::DropFinalizer(FOREGROUND));
    }

    #[test]
    fn orphans_are_let_go_before_their_owner() {
        assert_eq!(plan(&deleting(&[ORPHAN]), &[], true, true), Plan::OrphanDependents(ORPHAN));
    }
}
