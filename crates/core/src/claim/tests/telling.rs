//! What users of a claim read.

use asb_types::{annotations, labels};

use super::*;
use crate::report::Failure;
use crate::write::Lock;

#[test]
fn a_claim_says_what_its_sandbox_says() {
    let mut world = world().bound("pool-a");
    world.settle(after(4));
    insta::assert_json_snapshot!(status_of(&world));
}

#[test]
fn users_are_told_of_a_sandbox_only_if_nobody_told_them_of_another_meanwhile() {
    let lock = |world: &World| match world.tell(&standing(world), after(4)).status {
        Some(Write::Patch { lock, .. }) => lock,
        other => panic!("{other:?}"),
    };
    assert!(matches!(lock(&world().bound("pool-a")), Lock::Version(..)));
    assert!(matches!(lock(&world().bound("pool-a").told("pool-a")), Lock::Uid(_)), "they know");
}

#[test]
fn a_sandbox_that_comes_after_the_one_users_knew_was_lost_goes_again() {
    let lost = world().told("pool-a").confirmed();
    let late = lost.clone().bound("pool-b");
    assert_eq!(acts(&late), [late.delete("pool-b", Deleting::Background)]);
    assert_eq!(problem(&lost).0, "SandboxLost");
    let replaced = late.claim(json!({"spec": {"lostSandboxPolicy": "Replace"}}));
    assert_eq!(standing(&replaced).sandbox.unwrap().metadata.name(), "pool-b");
}

#[test]
fn what_is_wrong_is_told_in_these_words() {
    let text = |text: &str| text.to_owned();
    let problems = [
        Problem::template_missing("t"),
        Problem::pool_missing("p"),
        Problem::Contention(text("sandbox \"s\" went to another claim")),
        Problem::CreatePending,
        Problem::Waiting,
        Problem::Departing(text("s")),
        Problem::InvalidMetadata(text("why")),
        Problem::EnvRejected(text("why")),
        Problem::Volumes(text("why")),
        Problem::Invalid(text("why")),
        Problem::not_owned("s", "c"),
        Problem::name_taken("s", "c"),
        Problem::Lost(text("s")),
        Problem::Failed(Failure::Transient(text("why"))),
        Problem::Failed(Failure::Permanent(text("why"))),
    ];
    let told = problems.map(|problem| {
        let again = if problem.is_permanent() { "until changed" } else { "tried again" };
        format!("{} ({again}): {}", problem.reason(), problem.message())
    });
    insta::assert_snapshot!(told.join("\n"));
}

fn ready_with(sandbox: Value) -> Value {
    let mut world = world().bound("pool-a").sandbox("pool-a", json!({"status": null}));
    world = world.sandbox("pool-a", json!({"status": sandbox}));
    world.settle(NOON);
    condition(&world, "Ready")
}

#[test]
fn a_sandbox_without_a_word_is_not_ready() {
    let ready = ready_with(json!({}));
    assert_eq!(
        (&ready["reason"], &ready["message"]),
        (&json!("SandboxNotReady"), &json!("Sandbox is not ready"))
    );
}

#[test]
fn a_sandbox_that_expired_by_itself_is_told_apart() {
    let expired = json!([{"type": "Ready", "status": "False", "reason": "SandboxExpired", "message": "over",
        "lastTransitionTime": NOON.to_string()}]);
    let ready = ready_with(json!({"conditions": expired}));
    assert_eq!(ready["reason"], "SandboxExpired");
    assert_eq!(ready["message"], "Underlying Sandbox resource has expired independently of the Claim.");
}

#[test]
fn a_claim_without_a_sandbox_says_so() {
    let mut world = world();
    let told = world.tell(&Standing::default(), NOON);
    world.apply(&told.status.unwrap());
    let ready = condition(&world, "Ready");
    assert_eq!(
        (&ready["reason"], &ready["message"]),
        (&json!("SandboxMissing"), &json!("Sandbox does not exist"))
    );
}

#[test]
fn finished_goes_with_the_sandbox_unless_the_claim_has_expired() {
    let finished = json!({"type": "Finished", "status": "True", "reason": "PodSucceeded", "message": "done",
        "lastTransitionTime": NOON.to_string()});
    let mut status = ready();
    status["conditions"].as_array_mut().unwrap().push(finished.clone());
    let mut world = world().bound("pool-a").sandbox("pool-a", json!({"status": status}));
    world.settle(NOON);
    assert_eq!(condition(&world, "Finished")["message"], "done");
    assert_eq!(status_of(&world)["phase"], "Succeeded");
    let expired = Standing { is_expired: true, ..Standing::default() };
    for (standing, is_kept) in [(expired, true), (Standing::default(), false)] {
        let mut world = world.clone();
        let told = world.tell(&standing, NOON);
        world.apply(&told.status.unwrap());
        assert_eq!(condition(&world, "Finished").is_object(), is_kept);
    }
}

#[test]
fn a_sandbox_that_was_told_stays_told_while_something_is_wrong() {
    let world = world().bound("pool-a").told("pool-a");
    let told = |problem| {
        let mut world = world.clone();
        let told = world.tell(&Standing::problem(problem), NOON);
        if let Some(write) = &told.status {
            world.apply(write);
        }
        (status_of(&world)["sandbox"]["name"].clone(), condition(&world, "Ready")["reason"].clone())
    };
    assert_eq!(told(Problem::Waiting), (json!("pool-a"), json!("AdoptionPending")));
    assert_eq!(told(Problem::CreatePending), (json!("pool-a"), Value::Null), "not a word");
    assert_eq!(told(Problem::not_owned("s", "c")), (Value::Null, json!("ClaimExpired")));
}

#[test]
fn phases_follow_the_conditions() {
    let ready = |status: &str, reason: &str| {
        json!({"conditions": [{"type": "Ready", "status": status, "reason": reason, "message": "",
            "lastTransitionTime": NOON.to_string()}]})
    };
    let phase = |status: Value| {
        let mut world = world().bound("pool-a").sandbox("pool-a", json!({"status": null}));
        world = world.sandbox("pool-a", json!({"status": status}));
        world.settle(NOON);
        status_of(&world)["phase"].clone()
    };
    assert_eq!(phase(ready("True", "DependenciesReady")), "Running");
    assert_eq!(phase(ready("False", "DependenciesNotReady")), "Pending");
    assert_eq!(phase(ready("False", "SandboxSuspended")), "Suspended");
    assert_eq!(phase(ready("False", "SandboxExpired")), "Expired");
}

#[test]
fn annotations_wait_for_ready_and_come_together() {
    let starting = json!({"status": {"podIPs": ["10.0.0.7"], "conditions": []}});
    let world = world().bound("pool-a").sandbox("pool-a", starting);
    let told = world.tell(&standing(&world), after(4));
    assert_eq!((told.later, told.look_again), (vec![], Some(after(5))));
    let [Write::Patch { body, .. }] = &world.tell(&standing(&world), after(5)).later[..] else {
        panic!("one patch")
    };
    assert_eq!(
        body["metadata"]["annotations"],
        json!({annotations::SANDBOX_NAME: "pool-a",
        annotations::CONTROLLER_FIRST_OBSERVED_AT: "1970-01-01T00:00:00.000000000Z"})
    );
}

#[test]
fn a_claim_that_was_ready_before_we_came_does_not_say_since_when() {
    let world = world().bound("pool-a").told("pool-a").claim(json!({"status": ready()}));
    let told = world.tell(&standing(&world), after(60));
    let Write::Patch { body, .. } = &told.later[0] else { panic!("a patch") };
    assert_eq!(body["metadata"]["annotations"][annotations::CLAIM_FIRST_READY_AT], "unknown");
    assert_eq!(told.first_ready, None);
    let Some(Write::Patch { body, .. }) = told.status else { panic!("the story is added") };
    assert_eq!(body["status"]["launch"]["boundAt"], Value::Null);
    assert_eq!(body["status"]["launch"]["readyAt"], Value::Null);
}

#[test]
fn without_timestamps_only_the_name_is_stamped() {
    let mut world = world().bound("pool-a");
    world.settings.timestamps = false;
    world.settle(NOON);
    let annotations = &world.claim.as_ref().unwrap()["metadata"]["annotations"];
    assert_eq!(*annotations, json!({annotations::SANDBOX_NAME: "pool-a"}));
}

#[test]
fn the_old_label_gives_way_to_the_annotation() {
    let label = json!({"metadata": {"labels": {labels::LEGACY_SANDBOX_NAME: "pool-a"}}});
    let mut world = world().bound("pool-a").claim(label);
    world.settle(NOON);
    let metadata = &world.claim.as_ref().unwrap()["metadata"];
    assert_eq!(metadata["labels"], json!({}));
    assert_eq!(metadata["annotations"][annotations::SANDBOX_NAME], "pool-a");
}

#[test]
fn a_cold_start_tells_why_it_was_cold() {
    let mut world = world();
    world.settle(after(1));
    let launch = &status_of(&world)["launch"];
    assert_eq!(
        (&launch["type"], &launch["reason"], &launch["pool"]),
        (&json!("Cold"), &json!("WarmPoolEmpty"), &json!("pool"))
    );
    assert_eq!(
        (&launch["boundAt"], &launch["readyAt"]),
        (&json!("1970-01-01T00:00:01.000000Z"), &Value::Null)
    );
    let world = &mut world.sandbox("demo", json!({"status": ready()}));
    world.settle(after(9));
    assert_eq!(status_of(world)["launch"]["readyAt"], "1970-01-01T00:00:09.000000Z");
    assert_eq!(status_of(world)["launch"]["boundAt"], "1970-01-01T00:00:01.000000Z");
}
