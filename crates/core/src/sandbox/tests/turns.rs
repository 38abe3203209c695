//! What is counted of a Sandbox's life.

use asb_types::conditions::{FINISHED, READY, SUSPENDED};
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Value, json};

use crate::sandbox::fixtures::{NOON, sandbox, seconds_after};
use crate::sandbox::{Turn, turns};
use crate::views::{SandboxView, read};

/// `Ready=False/SandboxSuspended`, since so many seconds.
fn condition(text: &str, ago: i64) -> Value {
    let (type_, rest) = text.split_once('=').unwrap();
    let (status, reason) = rest.split_once('/').unwrap();
    json!({"type": type_, "status": status, "reason": reason, "message": "",
        "lastTransitionTime": seconds_after(NOON, -ago).to_string()})
}

fn view(mode: &str, before: &[Value]) -> SandboxView {
    let world = sandbox("demo").with_spec(json!({"operatingMode": mode}));
    read(&world.with(json!({"status": {"conditions": before}})).sandbox).unwrap().unwrap()
}

fn told(mode: &str, before: &[Value], next: &[&str], asked: Option<i64>) -> Vec<Turn> {
    let next: Vec<Condition> =
        next.iter().map(|text| serde_json::from_value(condition(text, 0)).unwrap()).collect();
    turns(&view(mode, before), &next, asked.map(|ago| seconds_after(NOON, -ago)), NOON)
}

const SECONDS: fn(i64) -> SignedDuration = SignedDuration::from_secs;

#[test]
fn an_expiry_and_an_end_are_told_once() {
    let (expired, finished) = ("Ready=False/SandboxExpired", "Finished=True/PodFailed");
    let running = [condition("Ready=True/DependenciesReady", 9)];
    assert_eq!(
        told("Running", &running, &[expired, finished], None),
        [Turn::Expired, Turn::Finished("PodFailed")]
    );
    let known = [condition(expired, 1), condition(finished, 1)];
    assert_eq!(told("Running", &known, &[expired, finished], None), []);
}

#[test]
fn a_suspension_is_asked_for_and_done_and_takes_the_time_between() {
    let running =
        [condition("Ready=True/DependenciesReady", 9), condition("Suspended=False/NotSuspended", 9)];
    let going = ["Ready=False/SandboxSuspended", "Suspended=False/PodTerminating"];
    assert_eq!(told("Suspended", &running, &going, Some(1)), [Turn::SuspendRequested]);
    let going = going.map(|text| condition(text, 1));
    let gone = ["Ready=False/SandboxSuspended", "Suspended=True/PodTerminated"];
    assert_eq!(told("Suspended", &going, &gone, Some(3)), [Turn::Suspended(Some(SECONDS(3)))]);
    assert_eq!(told("Suspended", &going, &gone, None), [Turn::Suspended(None)], "after a restart");
    assert_eq!(
        told("Suspended", &running, &gone, Some(2)),
        [Turn::SuspendRequested, Turn::Suspended(Some(SECONDS(2)))]
    );
    let gone = gone.map(|text| condition(text, 1));
    assert_eq!(told("Suspended", &gone, &["Suspended=True/PodTerminated"], None), []);
}

#[test]
fn a_pod_that_ends_because_it_is_suspended_has_not_finished() {
    let going = [condition("Suspended=False/PodTerminating", 1)];
    let ended = ["Suspended=False/PodTerminating", "Finished=True/PodSucceeded"];
    assert_eq!(told("Suspended", &going, &ended, Some(1)), []);
}

#[test]
fn a_sandbox_that_was_made_suspended_was_not_suspended_by_anybody() {
    assert_eq!(told("Suspended", &[], &["Suspended=True/PodTerminated"], None), []);
}

#[test]
fn a_pod_that_is_not_ours_to_delete_fails_a_suspension_once() {
    let running = [condition("Suspended=False/NotSuspended", 9)];
    let refused = "Suspended=False/PodNotOwned";
    assert_eq!(told("Suspended", &running, &[refused], None), [Turn::SuspendRequested, Turn::SuspendFailed]);
    assert_eq!(told("Suspended", &[condition(refused, 1)], &[refused], None), []);
}

#[test]
fn a_resumption_ends_when_the_sandbox_is_ready_also_after_a_restart() {
    let away = [condition("Ready=False/SandboxSuspended", 60), condition("Suspended=True/PodTerminated", 50)];
    let starting = ["Ready=False/DependenciesNotReady", "Suspended=False/NotSuspended"];
    let back = ["Ready=True/DependenciesReady", "Suspended=False/NotSuspended"];
    assert_eq!(told("Running", &away, &starting, Some(1)), [Turn::ResumeRequested]);
    let starting = [condition(starting[0], 60), condition(starting[1], 4)];
    assert_eq!(told("Running", &starting, &back, Some(5)), [Turn::Resumed(Some(SECONDS(5)))]);
    assert_eq!(told("Running", &starting, &back, None), [Turn::Resumed(Some(SECONDS(4)))], "after a restart");
    assert_eq!(
        told("Running", &away, &back, Some(2)),
        [Turn::ResumeRequested, Turn::Resumed(Some(SECONDS(2)))]
    );
}

#[test]
fn a_first_start_and_a_bad_moment_are_no_resumption() {
    let back = ["Ready=True/DependenciesReady", "Suspended=False/NotSuspended"];
    let first =
        [condition("Ready=False/DependenciesNotReady", 5), condition("Suspended=False/NotSuspended", 5)];
    assert_eq!(told("Running", &first, &back, None), []);
    let flapping =
        [condition("Ready=False/DependenciesNotReady", 5), condition("Suspended=False/NotSuspended", 60)];
    assert_eq!(told("Running", &flapping, &back, None), []);
    let changed_its_mind =
        [condition("Ready=False/SandboxSuspended", 5), condition("Suspended=False/PodTerminating", 60)];
    assert_eq!(told("Running", &changed_its_mind, &back, Some(1)), []);
}

#[test]
fn what_keeps_a_sandbox_from_coming_back_fails_its_resumption_once() {
    let starting =
        [condition("Ready=False/DependenciesNotReady", 60), condition("Suspended=False/NotSuspended", 4)];
    let stuck = ["Ready=False/ReconcilerError", "Suspended=False/NotSuspended"];
    assert_eq!(told("Running", &starting, &stuck, None), [Turn::ResumeFailed]);
    let known = [condition(stuck[0], 60), condition(stuck[1], 4)];
    assert_eq!(told("Running", &known, &stuck, None), []);
}

/// The words above are those of the status itself.
#[test]
fn statuses_speak_these_words() {
    let world = sandbox("demo").suspended();
    let said = |type_| {
        crate::conditions::find(&world.status().reported.conditions, type_).map(|it| it.reason.clone())
    };
    assert_eq!(said(SUSPENDED).as_deref(), Some("PodTerminated"));
    assert_eq!(said(READY).as_deref(), Some("SandboxSuspended"));
    assert_eq!(said(FINISHED), None);
}
