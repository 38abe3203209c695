//! What is measured of a claim, and how often.

use asb_types::annotations::{
    CLAIM_FIRST_READY_AT, CLIENT_FIRST_REQUESTED_AT, CONTROLLER_FIRST_OBSERVED_AT, TRACE_CONTEXT,
    WEBHOOK_FIRST_OBSERVED_AT,
};
use asb_types::labels;
use jiff::SignedDuration;

use super::*;
use crate::census::Launching;
use crate::claim::fixtures::view;
use crate::claim::{FirstReady, Launched, first_observed, has_no_story};
use crate::views::ClaimView;

fn first_ready(world: &World, at: i64) -> Option<FirstReady> {
    world.tell(&standing(world), after(at)).first_ready
}

fn claim(world: &World) -> ClaimView {
    view(world.claim.as_ref().unwrap())
}

fn launched(world: &mut World, at: i64) -> Launched {
    let launched = world.launch(after(at)).launched.unwrap();
    world.launched = Some(launched.clone());
    launched
}

#[test]
fn a_claim_that_becomes_ready_tells_every_moment_that_is_known() {
    let mut world = world().member("pool-a").claim(json!({"metadata": {"annotations": {
        CLIENT_FIRST_REQUESTED_AT: after(-2).to_string(), WEBHOOK_FIRST_OBSERVED_AT: after(-1).to_string()}}}));
    launched(&mut world, 4);
    let first = first_ready(&world.bound("pool-a"), 5).unwrap();
    assert_eq!(
        first,
        FirstReady {
            launching: Launching::Warm,
            bound: Some(("WarmSandboxReady", after(4))),
            template: Some("python".into()),
            requested: Some(after(-2)),
            admitted: Some(after(-1)),
            observed: NOON,
            creation: Some(SignedDuration::from_secs(3)),
            told_at: "1970-01-01T00:00:05.000000Z".to_owned(),
        }
    );
}

#[test]
fn only_the_first_time_is_measured() {
    let stamped = world()
        .bound("pool-a")
        .claim(json!({"metadata": {"annotations": {CLAIM_FIRST_READY_AT: after(1).to_string()}}}));
    assert_eq!(first_ready(&stamped, 5), None);
    let untold = world().bound("pool-a");
    assert!(first_ready(&untold, 5).is_some());
    let flapping = untold.told("pool-a").claim(json!({"status": {"launch": {"type": "Warm",
        "readyAt": after(1).to_string()}}}));
    assert_eq!(first_ready(&flapping, 5), None, "what was told is enough, stamped or not");
}

#[test]
fn a_telling_that_was_not_answered_is_known_by_its_moment() {
    let mut world = world().bound("pool-a");
    let first = first_ready(&world, 5).unwrap();
    assert!(!first.was_told(&claim(&world)));
    world.settle(after(5));
    assert!(first.was_told(&claim(&world)));
    let others = first_ready(&world.claim(json!({"status": null, "metadata": {"annotations": null}})), 6);
    assert_ne!(others.unwrap().told_at, first.told_at);
}

/// The operator that bound it is gone; what it told is not.
#[test]
fn a_claim_that_becomes_ready_under_another_operator_keeps_its_story() {
    let starting = json!({"status": {"podIPs": ["10.0.0.7"], "conditions": []}});
    let mut world = world().member("pool-a");
    launched(&mut world, 2);
    let mut world = world.bound("pool-a").sandbox("pool-a", starting);
    world.settle(after(3));
    world.launched = None;
    let first = first_ready(&world.sandbox("pool-a", json!({"status": ready()})), 9).unwrap();
    assert_eq!(first.bound, Some(("WarmSandboxReady", after(2))));
}

#[test]
fn nothing_is_made_up_about_a_binding_that_nobody_told_of() {
    let first = first_ready(&world().bound("pool-a"), 5).unwrap();
    assert_eq!((first.launching, first.bound), (Launching::Warm, None));
}

#[test]
fn a_claim_says_itself_when_it_was_first_seen() {
    let world = world();
    assert_eq!(first_observed(&claim(&world)), None);
    let told = world.claim(json!({"status": {"launch": {"observedAt": "1970-01-01T00:00:07.000000Z"}}}));
    assert_eq!(first_observed(&claim(&told)), Some(after(7)));
    let stamped = told
        .claim(json!({"metadata": {"annotations": {CONTROLLER_FIRST_OBSERVED_AT: after(6).to_string()}}}));
    assert_eq!(first_observed(&claim(&stamped)), Some(after(6)));
}

#[test]
fn a_launch_tells_what_it_is_counted_by() {
    let mut cold = world();
    let told = launched(&mut cold, 1);
    assert_eq!((told.start.launching(), told.start.reason()), (Launching::Cold, "WarmPoolEmpty"));
    assert_eq!((told.template.as_deref(), &*told.pool), (Some("python"), "pool"));
    assert!(has_no_story(&claim(&cold)));
    assert!(!has_no_story(&claim(&cold.told("demo"))));
    let warm = launched(&mut world().member("pool-a"), 1);
    assert_eq!((warm.start.launching(), warm.template.as_deref()), (Launching::Warm, Some("python")));
}

#[test]
fn every_reason_is_found_by_its_name_and_no_other_is() {
    for start in [Start::WarmReady, Start::ColdForEnv, Start::ColdByBook(Cold::Waited)] {
        assert_eq!(Start::reason_named(start.reason()), Some(start.reason()));
    }
    assert_eq!(Start::reason_named("Unknown"), None);
}

#[test]
fn a_trace_goes_with_the_claim_to_a_warm_and_to_a_cold_sandbox_and_costs_no_write() {
    let trace = json!({"metadata": {"annotations": {TRACE_CONTEXT: "{\"traceparent\":\"00-1-2-01\"}"}}});
    let mut warm = world().member("pool-a").claim(trace.clone());
    let mut cold = world().claim(trace);
    for (world, name) in [(&mut warm, "pool-a"), (&mut cold, "demo")] {
        world.settle(after(4));
        let sandbox = &world.sandboxes[name];
        assert_eq!(sandbox["metadata"]["annotations"][TRACE_CONTEXT], "{\"traceparent\":\"00-1-2-01\"}");
        let pod = &sandbox["spec"]["podTemplate"]["metadata"]["annotations"];
        assert_eq!(pod[TRACE_CONTEXT], Value::Null, "it ends at the Sandbox");
        let writes = world.writes.iter().filter(|write| write.target().kind == Kind::Sandbox).count();
        assert_eq!(writes, 1, "{name}");
    }
    assert_eq!(warm.sandboxes["pool-a"]["metadata"]["labels"][labels::LAUNCH_TYPE], "warm");
}

#[test]
fn a_trace_that_begins_here_goes_the_same_way_and_is_noted_on_the_claim_with_everything_else() {
    let (mut warm, mut cold) = (world().member("pool-a"), world());
    for (world, name) in [(&mut warm, "pool-a"), (&mut cold, "demo")] {
        world.trace = Some("{}");
        world.settle(after(6));
        assert_eq!(world.sandboxes[name]["metadata"]["annotations"][TRACE_CONTEXT], "{}");
        let claim = world.claim.as_ref().expect("it is there");
        assert_eq!(claim["metadata"]["annotations"][TRACE_CONTEXT], "{}");
        let stamps = world.writes.iter().filter(|write| {
            write.target().kind == Kind::SandboxClaim
                && !matches!(write, Write::Patch { part: Part::Status, .. })
        });
        assert_eq!(stamps.count(), 1, "{name}");
    }
}

#[test]
fn a_trace_that_begins_here_gives_way_to_the_claims_own_and_stays_off_claims_that_nothing_is_to_be_noted_on()
{
    let own = json!({"metadata": {"annotations": {TRACE_CONTEXT: "its own"}}});
    let (mut named, mut bare) = (world().claim(own), world());
    bare.settings.timestamps = false;
    for (world, noted, passed_on) in
        [(&mut named, json!("its own"), "its own"), (&mut bare, Value::Null, "{}")]
    {
        world.trace = Some("{}");
        world.settle(after(6));
        let claim = world.claim.as_ref().expect("it is there");
        assert_eq!(claim["metadata"]["annotations"][TRACE_CONTEXT], noted);
        assert_eq!(world.sandboxes["demo"]["metadata"]["annotations"][TRACE_CONTEXT], passed_on);
    }
}

#[test]
fn a_trace_that_changes_later_is_nobodys_business() {
    let mut world = world().member("pool-a");
    world.settle(after(4));
    world.writes.clear();
    let mut world = world.claim(json!({"metadata": {"annotations": {TRACE_CONTEXT: "{}"}}}));
    world.settle(after(5));
    assert_eq!(world.writes, []);
}
