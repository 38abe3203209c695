//! How a claim comes to its Sandbox, and whose it is.

use asb_types::{annotations, labels};

use super::*;

#[test]
fn a_warm_claim_is_ready_after_one_transfer_and_one_status() {
    let mut world = world().member("pool-a");
    world.settle(after(4));
    let kinds: Vec<_> = world.writes.iter().map(|write| write.target().kind).collect();
    assert_eq!(kinds, [Kind::Sandbox, Kind::SandboxClaim, Kind::SandboxClaim]);
    insta::assert_json_snapshot!(world.writes);
}

#[test]
fn a_transfer_takes_everything_that_made_the_sandbox_a_members() {
    let world = world()
        .claim(json!({
            "metadata": {"labels": {labels::CREATED_BY: "python-client"},
                "annotations": {annotations::TRACE_CONTEXT: "{\"traceparent\":\"00\"}"}},
            "spec": {"additionalPodMetadata": {"labels": {"sandbox.users.io/run": "7"}}},
        }))
        .member("pool-a");
    let plan = world.launch(NOON);
    insta::assert_json_snapshot!(plan.step_writes());
    assert_eq!(plan.events[0].note, "Adopted warm pool Sandbox \"pool-a\"");
}

#[test]
fn without_its_template_a_member_keeps_what_it_bears() {
    let world = World { template: None, ..world().member("pool-a") };
    assert_eq!(world.plan(NOON).step, Step::Allocate(crate::views::Request::Pool("pool".to_owned())));
    let Write::Patch { body, .. } = &world.launch(NOON).step_writes()[0] else { panic!("a patch") };
    let pod = &body["spec"]["podTemplate"]["metadata"];
    assert_eq!(pod["annotations"], json!({annotations::SAFE_TO_EVICT: null}));
    assert_eq!(pod["labels"][labels::WARM_POOL], Value::Null);
    assert_eq!(pod["labels"].get("team"), None, "untouched");
}

#[test]
fn a_cold_claim_makes_a_sandbox_of_its_own_name() {
    let world = world().claim(json!({"metadata": {"labels": {labels::CREATED_BY: "go-client"}}}));
    let plan = world.launch(NOON);
    insta::assert_json_snapshot!(plan.step_writes());
    assert_eq!(plan.events[0].note, "Created Sandbox \"demo\"");
    assert_eq!(plan.launched.unwrap().start, Start::ColdByBook(Cold::Empty));
}

#[test]
fn variables_and_volumes_make_a_claim_cold_without_asking() {
    let allowing = world().template(json!({"spec": {"envVarsInjectionPolicy": "Allowed",
        "volumeClaimTemplatesPolicy": "Allowed"}}));
    let env = allowing.clone().claim(json!({"spec": {"env": [{"name": "A", "value": "1"}]}}));
    assert_eq!(env.plan(NOON).launched.unwrap().start, Start::ColdForEnv);
    let volume = json!([{"metadata": {"name": "work"}, "spec": {}}]);
    let volumes = allowing.claim(json!({"spec": {"volumeClaimTemplates": volume}}));
    let plan = volumes.plan(NOON);
    assert_eq!(plan.launched.as_ref().unwrap().start, Start::ColdForVolumes);
    let Write::Create { object, .. } = &plan.step_writes()[0] else { panic!("a create") };
    assert_eq!(object["spec"]["volumeClaimTemplates"], volume);
}

#[test]
fn a_member_that_is_not_what_it_was_is_refused() {
    let member = world().member("pool-a");
    let others = [
        member.clone().deleting("pool-a"),
        member.clone().owned_by("pool-a", Kind::SandboxClaim, "other", "other-uid"),
        member.clone().owned_by("pool-a", Kind::SandboxWarmPool, "another", "another-uid"),
        member.sandbox("pool-a", json!({"metadata": {"labels": {labels::WARM_POOL: null}}})),
    ];
    for world in others {
        assert!(matches!(world.launch(NOON).step, Step::Unfit(_)));
    }
}

#[test]
fn a_claim_waits_in_silence_at_first() {
    let world = World { answer: Reply::Wait(after(9)), ..world() };
    let plan = world.launch(NOON);
    assert_eq!((plan.step, plan.look_again), (Step::Wait, Some(after(2))));
    let plan = world.launch(after(2));
    assert_eq!(plan.step, Step::Tell(Standing::problem(Problem::Waiting)));
    assert_eq!(plan.look_again, Some(after(9)));
}

#[test]
fn missing_pools_and_templates_are_told_by_name() {
    let no_pool = World { pool: None, ..world() };
    assert_eq!(problem(&no_pool), ("WarmPoolNotFound", "SandboxWarmPool \"pool\" not found".to_owned()));
    let no_template = World { template: None, ..world() };
    let Step::Tell(standing) = no_template.launch(NOON).step else { panic!("nothing to do") };
    let problem = standing.problem.unwrap();
    assert_eq!(
        (problem.reason(), problem.message().as_str()),
        ("TemplateNotFound", "SandboxTemplate \"python\" not found")
    );
    assert!(!problem.is_permanent());
}

#[test]
fn a_claim_by_template_needs_no_pool() {
    let claim = json!({"spec": {"warmPoolRef": {"name": "shadow-pool-python"}}});
    let world = World { pool: None, ..world() }.claim(claim);
    assert!(matches!(world.plan(NOON).step, Step::Allocate(_)));
    let member = World { pool: None, ..world.member("pool-a") };
    assert!(matches!(member.launch(NOON).step, Step::Act(_)));
}

#[test]
fn a_name_that_somebody_else_has_is_an_error_until_it_is_free() {
    let taken = world().owned_by("demo", Kind::SandboxClaim, "other", "other-uid");
    let message = "Error seen: sandbox \"demo\" is not controlled by claim \"demo\". \
        Please use a different claim name or delete the sandbox manually";
    assert_eq!(problem(&taken), ("ReconcilerError", message.to_owned()));
    assert_eq!(taken.plan(NOON).look_again, Some(after(5)));
    let going = taken.deleting("demo");
    let Step::Tell(standing) = going.launch(NOON).step else { panic!("nothing to do yet") };
    assert_eq!(standing.problem, Some(Problem::Departing("demo".to_owned())));
}

#[test]
fn what_another_operator_had_promised_is_completed() {
    let recorded = json!({"metadata": {"annotations": {annotations::SANDBOX_NAME: "pool-a"}}});
    let mut world = world().member("pool-a").claim(recorded);
    world.answer = Reply::Cold(Cold::Empty);
    world.settle(NOON);
    assert_eq!(status_of(&world)["sandbox"]["name"], "pool-a");
}

#[test]
fn a_promise_that_leads_nowhere_is_confirmed_and_dropped() {
    let recorded = json!({"metadata": {"labels": {labels::LEGACY_SANDBOX_NAME: "gone"}}});
    let mut world = world().claim(recorded);
    assert!(matches!(world.plan(NOON).step, Step::Read(keys) if &*keys[0].name == "gone"));
    world.settle(after(6));
    let metadata = &world.claim.as_ref().unwrap()["metadata"];
    assert_eq!(metadata["labels"], json!({}));
    assert_eq!(metadata["annotations"].get(annotations::SANDBOX_NAME), None);
    assert_eq!(status_of(&world)["sandbox"]["name"], "demo");
}

#[test]
fn a_promise_of_what_cannot_be_a_sandbox_is_no_promise() {
    for name in ["not a name", "../pods/a", "a?watch=true", "-a", "A"] {
        let promised = json!({"metadata": {"annotations": {"agents.x-k8s.io/sandbox-name": name}}});
        let mut world = world().member("pool-a").claim(promised);
        assert!(matches!(world.plan(NOON).step, Step::Allocate(_)), "{name}");
        world.settle(NOON);
        let annotations = world.claim.unwrap()["metadata"]["annotations"].clone();
        assert_eq!(annotations["agents.x-k8s.io/sandbox-name"], "pool-a");
    }
}

#[test]
fn a_sandbox_that_is_gone_is_reported_and_not_replaced() {
    let lost = world().told("pool-a");
    assert!(matches!(lost.plan(NOON).step, Step::Read(_)), "a cache may lag behind");
    let mut lost = lost.confirmed();
    assert_eq!(problem(&lost).0, "SandboxLost");
    lost.settle(NOON);
    assert_eq!(status_of(&lost)["sandbox"], json!({"name": "pool-a"}), "so that it is not forgotten");
    assert_eq!(status_of(&lost)["phase"], "Failed");
    assert_eq!(problem(&lost).0, "SandboxLost");
}

#[test]
fn a_sandbox_that_cannot_be_understood_is_neither_lost_nor_replaced() {
    let replace = json!({"spec": {"lostSandboxPolicy": "Replace"}});
    let broken = World { broken: Some(("pool-a", "spec.shutdownTime: nonsense")), ..world().claim(replace) };
    for world in [broken.clone(), broken.told("pool-a").confirmed()] {
        let message = "Sandbox \"pool-a\" cannot be read: spec.shutdownTime: nonsense".to_owned();
        assert_eq!(problem(&world), ("InvalidConfiguration", message));
    }
}

#[test]
fn a_sandbox_that_went_to_somebody_else_is_as_lost() {
    let world = world().told("pool-a").owned_by("pool-a", Kind::SandboxClaim, "other", "other-uid");
    assert!(matches!(world.plan(NOON).step, Step::Read(_)));
    assert_eq!(problem(&world.confirmed()).0, "SandboxLost");
}

#[test]
fn a_lost_sandbox_is_replaced_on_request() {
    let mut world = world().told("pool-a").claim(json!({"spec": {"lostSandboxPolicy": "Replace"}}));
    world.settle(NOON);
    assert_eq!(status_of(&world)["sandbox"], json!({"name": "demo"}));
}

#[test]
fn a_claim_keeps_the_sandbox_it_told_of_and_lets_any_other_go() {
    let world = world().bound("pool-b").bound("pool-a").told("pool-b");
    assert_eq!(acts(&world), [world.delete("pool-a", Deleting::Background)]);
    let untold = World { claim: super::world().claim, ..world };
    assert!(matches!(untold.plan(NOON).step, Step::Tell(_)), "until one is told of, both stay");
}

#[test]
fn a_sandbox_that_goes_before_it_was_told_of_is_waited_out() {
    let world = world().bound("pool-a").deleting("pool-a");
    assert_eq!(
        problem(&world),
        ("SandboxCreatePending", "Sandbox \"pool-a\" is being deleted; another one follows".to_owned())
    );
    assert_eq!(standing(&world.told("pool-a")).problem, None, "users know of it");
}

#[test]
fn a_launch_type_that_is_missing_is_added() {
    let unmarked = json!({"metadata": {"labels": {labels::LAUNCH_TYPE: null}}});
    for (name, launch_type) in [("pool-a", "warm"), ("demo", "cold")] {
        let world = world().bound(name).sandbox(name, unmarked.clone());
        let [Write::Patch { body, .. }] = &acts(&world)[..] else { panic!("one patch") };
        assert_eq!(*body, json!({"metadata": {"labels": {labels::LAUNCH_TYPE: launch_type}}}));
    }
}

#[test]
fn a_template_that_shares_its_hash_makes_no_sandboxes() {
    let collides = json!([{"type": "Ready", "status": "False", "reason": "NameHashCollision", "message": "taken",
        "lastTransitionTime": NOON.to_string()}]);
    let world = world().template(json!({"status": {"conditions": collides}}));
    let Step::Tell(standing) = world.launch(NOON).step else { panic!("nothing to do") };
    assert_eq!(standing.problem, Some(Problem::Invalid("SandboxTemplate \"python\": taken".to_owned())));
}
