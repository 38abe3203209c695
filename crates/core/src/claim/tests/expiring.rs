//! The end of claims.

use super::*;

fn expired(policy: &str) -> World {
    let lifecycle = json!({"shutdownTime": NOON.to_string(), "shutdownPolicy": policy});
    world().bound("pool-a").told("pool-a").claim(json!({"spec": {"lifecycle": lifecycle}}))
}

#[test]
fn expiry_is_told_before_anything_is_done() {
    let mut world = expired("Delete");
    let plan = world.plan(NOON);
    assert_eq!(plan.look_again, Some(NOON));
    assert_eq!((plan.events[0].reason, plan.events[0].note.as_str()), ("ClaimExpired", "Claim expired"));
    world.settle(NOON);
    assert_eq!(world.writes[0].target().kind, Kind::SandboxClaim);
    assert!(matches!(world.writes.last(), Some(Write::Delete { how: Deleting::Background, .. })));
    assert_eq!(world.claim, None);
}

#[test]
fn the_policy_says_how_the_claim_is_deleted() {
    for (policy, how) in [("Delete", Deleting::Background), ("DeleteForeground", Deleting::Foreground)] {
        let world = expired(policy).reason("ClaimExpired");
        let plan = world.plan(NOON);
        assert_eq!(plan.events[0].note, format!("Deleting Claim (ShutdownPolicy={policy})"));
        assert!(matches!(&plan.step_writes()[..], [Write::Delete { how: by, .. }] if *by == how));
    }
}

#[test]
fn retain_deletes_the_sandbox_and_keeps_the_claim() {
    let mut world = expired("Retain");
    world.settle(NOON);
    assert!(world.sandboxes.is_empty());
    assert_eq!(status_of(&world)["sandbox"], json!({}));
    assert_eq!(condition(&world, "Ready")["reason"], "ClaimExpired");
    assert_eq!(condition(&world, "Ready")["message"], "Claim expired. Sandbox cleanup initiated.");
    assert_eq!(status_of(&world)["phase"], "Expired");
}

#[test]
fn what_cannot_be_deleted_has_expired_all_the_same_and_says_so_once() {
    let finished = json!({"type": "Finished", "status": "True", "reason": "PodFailed", "message": "",
        "lastTransitionTime": NOON.to_string()});
    for policy in ["Delete", "Retain"] {
        let mut world = expired(policy).reason("ClaimExpired");
        world = world.sandbox("pool-a", json!({"status": {"conditions": [finished.clone()]}}));
        let failure = || Failure::Transient("not today".to_owned());
        let standing = world.observe(|observed| stumbled(observed, failure(), NOON));
        world.apply(&world.tell(&standing, NOON).status.expect("it says what went wrong"));
        assert_eq!(condition(&world, "Ready")["reason"], "ClaimExpired");
        assert_eq!(condition(&world, "Ready")["message"], "Claim expired. Error seen: not today");
        assert_eq!(condition(&world, "Finished")["reason"], "PodFailed");
        assert!(matches!(&acts(&world)[..], [Write::Delete { .. }]), "it is tried again");
        assert_eq!(world.tell(&standing, NOON).status, None);
    }
}

#[test]
fn a_sandbox_that_is_going_is_not_deleted_twice() {
    let world = expired("Retain").reason("ClaimExpired").deleting("pool-a");
    assert_eq!(standing(&world).problem, None);
}

#[test]
fn somebody_elses_sandbox_is_left_alone() {
    let world = expired("Retain").reason("ClaimExpired").owned_by("pool-a", Kind::SandboxClaim, "other", "o");
    let message =
        "Claim expired. sandbox \"pool-a\" is not controlled by claim \"demo\"; deletion skipped.".to_owned();
    assert_eq!(problem(&world), ("ClaimExpired", message));
}

#[test]
fn a_kept_claim_goes_when_its_time_is_over() {
    let ttl = json!({"spec": {"lifecycle": {"ttlSecondsAfterExpired": 60}}});
    let mut world = expired("Retain").claim(ttl);
    world.settle(NOON);
    assert_eq!(world.plan(after(59)).look_again, Some(after(60)));
    let plan = world.plan(after(60));
    assert_eq!(plan.events[0].note, "Deleting Claim (TTLSecondsAfterExpired)");
    assert!(
        matches!(&plan.step_writes()[..], [Write::Delete { target, .. }] if target.kind == Kind::SandboxClaim)
    );
}

#[test]
fn the_earlier_of_both_times_counts() {
    let finished = json!([{"type": "Finished", "status": "True", "reason": "PodSucceeded", "message": "",
        "lastTransitionTime": after(10).to_string()}]);
    let world = world().bound("pool-a").claim(json!({
        "spec": {"lifecycle": {"shutdownTime": after(100).to_string(), "ttlSecondsAfterFinished": 5}},
        "status": {"conditions": finished},
    }));
    assert_eq!(world.plan(after(14)).look_again, Some(after(15)));
    assert_eq!(world.plan(after(15)).events[0].reason, "ClaimExpired");
    let at_once = world.claim(json!({"spec": {"lifecycle": {"ttlSecondsAfterFinished": 0}}}));
    assert_eq!(at_once.plan(after(10)).events[0].reason, "ClaimExpired");
}

#[test]
fn a_claim_whose_sandbox_has_just_finished_is_looked_at_in_time() {
    let finished = json!([{"type": "Finished", "status": "True", "reason": "PodFailed", "message": "",
        "lastTransitionTime": NOON.to_string()}]);
    let world = world()
        .bound("pool-a")
        .sandbox("pool-a", json!({"status": {"conditions": finished}}))
        .claim(json!({"spec": {"lifecycle": {"ttlSecondsAfterFinished": 30}}}));
    assert_eq!(world.tell(&standing(&world), NOON).look_again, Some(after(5)), "for the annotations");
    assert_eq!(world.tell(&standing(&world), after(6)).look_again, Some(after(30)));
    assert_eq!(world.tell(&standing(&world), after(31)).look_again, Some(after(31)));
}

#[test]
fn a_later_deadline_gives_an_expired_claim_another_sandbox() {
    let later = json!({"spec": {"lifecycle": {"shutdownTime": after(500).to_string()}}});
    let mut world = expired("Retain").reason("ClaimExpired").deleting("pool-a").claim(later);
    world.settle(NOON);
    assert_eq!(condition(&world, "Ready")["reason"], "SandboxCreatePending");
    assert_eq!(status_of(&world)["sandbox"], json!({}));
    world.sandboxes.clear();
    world.settle(NOON);
    assert_eq!(status_of(&world)["sandbox"]["name"], "demo");
}

#[test]
fn a_claim_that_is_being_deleted_only_tidies_up() {
    let policy = json!({"metadata": {"namespace": "team", "name": "demo-network-policy", "uid": "np",
        "resourceVersion": "1", "ownerReferences": [{"apiVersion": "extensions.agents.x-k8s.io/v1beta1",
        "kind": "SandboxClaim", "name": "demo", "uid": "claim-uid", "controller": true}]}, "spec": {}});
    let deleting = json!({"metadata": {"deletionTimestamp": NOON.to_string()}});
    let world = World { policy: Some(policy), ..expired("Delete") };
    assert!(matches!(&acts(&world.clone().claim(deleting))[..], [Write::Delete { target, .. }]
        if target.kind == Kind::NetworkPolicy));
    let told = world.tell(&Standing::default(), NOON);
    assert!(told.later.iter().any(|write| write.target().kind == Kind::NetworkPolicy));
}
