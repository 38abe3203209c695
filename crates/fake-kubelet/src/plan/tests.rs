//! Every script, at every moment of a Pod's life.

use std::time::Duration;

use k8s_openapi::api::core::v1::{
    Container, ContainerStatus, PodCondition, PodReadinessGate, PodSchedulingGate, PodStatus,
};

use super::super::fixtures::{Fixture, NOON, after, pod};
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn written(plan: Plan) -> PodStatus {
    match plan.action {
        Some(Action::SetStatus(status)) => *status,
        other => panic!("wanted a status, the plan is {other:?}"),
    }
}

fn truth(status: &PodStatus, kind: &str) -> bool {
    condition(status, kind).status == "True"
}

fn condition<'a>(status: &'a PodStatus, kind: &str) -> &'a PodCondition {
    let mut conditions = status.conditions.iter().flatten();
    conditions.find(|condition| condition.type_ == kind).unwrap()
}

fn main_container(status: &PodStatus) -> &ContainerStatus {
    &status.container_statuses.as_ref().unwrap()[0]
}

/// A Pod to which each planned status was applied in turn, up to a time.
fn lived(pod: Fixture, script: &Script, now: Timestamp) -> Fixture {
    let status = written(pod.plan(script, now));
    pod.with(status)
}

fn nothing() -> Plan {
    Plan::default()
}

fn look_at(time: Timestamp) -> Plan {
    Plan { action: None, next_look: Some(time) }
}

fn act(action: Action) -> Plan {
    Plan { action: Some(action), next_look: None }
}

#[test]
fn an_unscheduled_pod_is_bound() {
    assert_eq!(pod("demo").plan(&Script::run(), NOON), act(Action::Bind));
}

#[test]
fn a_pod_of_another_scheduler_is_left_alone() {
    let pod = pod("demo").spec(|spec| spec.scheduler_name = Some("theirs".to_owned()));
    assert_eq!(pod.plan(&Script::run(), NOON), nothing());
}

#[test]
fn a_gated_pod_is_left_alone() {
    let gate = PodSchedulingGate { name: "wait".to_owned() };
    let pod = pod("demo").spec(|spec| spec.scheduling_gates = Some(vec![gate]));
    assert_eq!(pod.plan(&Script::run(), NOON), nothing());
}

#[test]
fn a_pod_is_bound_only_where_its_node_selector_fits() {
    let selecting = |zone: &str| {
        let labels = [("zone".to_owned(), zone.to_owned())];
        pod("demo").spec(|spec| spec.node_selector = Some(labels.into()))
    };
    assert_eq!(selecting("a").plan(&Script::run(), NOON), act(Action::Bind));
    assert_eq!(selecting("b").plan(&Script::run(), NOON), nothing());
}

#[test]
fn a_pod_bound_elsewhere_is_left_alone() {
    assert_eq!(pod("demo").bound_to("fake-2").plan(&Script::run(), NOON), nothing());
}

#[test]
fn an_unschedulable_pod_is_told_so_once() {
    let refused = lived(pod("demo"), &Script::unschedulable(), NOON);
    let scheduled = condition(refused.status.as_ref().unwrap(), "PodScheduled");
    assert_eq!((scheduled.status.as_str(), scheduled.reason.as_deref()), ("False", Some("Unschedulable")));
    assert_eq!(refused.plan(&Script::unschedulable(), after(1)), nothing());
}

#[test]
fn a_bound_pod_is_ready_after_one_write() {
    let ready = lived(pod("demo").bound(), &Script::run(), NOON);
    let status = ready.status.as_ref().unwrap();
    for kind in ["PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"] {
        assert!(truth(status, kind), "{kind}");
    }
    assert_eq!(status.pod_ip.as_deref(), Some("10.244.0.1"));
    assert_eq!(ready.plan(&Script::run(), after(1)), nothing());
}

#[test]
fn delays_are_kept_one_stage_at_a_time() {
    let script = Script::run().start_after(SECOND).ready_after(2 * SECOND);
    let plan = pod("demo").bound().plan(&script, NOON);
    assert_eq!(plan.next_look, Some(after(1000)));
    assert_eq!(written(plan).phase.as_deref(), Some("Pending"));

    let waiting = lived(pod("demo").bound(), &script, NOON);
    assert_eq!(waiting.plan(&script, after(999)), look_at(after(1000)));
    let started = lived(waiting, &script, after(1000));
    assert!(!truth(started.status.as_ref().unwrap(), "Ready"));
    assert_eq!(started.plan(&script, after(1000)), look_at(after(2000)));
    assert!(truth(&written(started.plan(&script, after(2000))), "Ready"));
}

#[test]
fn a_waiting_pod_has_no_address() {
    let status = written(pod("demo").bound().plan(&Script::run().start_after(SECOND), NOON));
    assert_eq!((status.pod_ip, status.pod_ips), (None, None));
}

#[test]
fn a_pod_told_never_to_be_ready_runs_and_is_not() {
    let running = lived(pod("demo").bound(), &Script::never_ready(), NOON);
    let status = running.status.as_ref().unwrap();
    assert_eq!(status.phase.as_deref(), Some("Running"));
    assert!(!truth(status, "Ready"));
    assert_eq!(running.plan(&Script::never_ready(), after(86_400_000)), nothing());
}

#[test]
fn a_ready_pod_whose_script_changes_follows_it() {
    let ready = lived(pod("demo").bound(), &Script::run(), NOON);
    assert!(!truth(&written(ready.plan(&Script::never_ready(), after(1))), "Ready"));
    assert_eq!(written(ready.plan(&Script::fail(1), after(1))).phase.as_deref(), Some("Failed"));
}

#[test]
fn a_pod_told_to_fail_does_so_with_its_exit_code() {
    let script = Script::fail(137).reason("OOMKilled").pod_reason("Evicted", "the node was low on memory");
    let failed = lived(pod("demo").bound(), &script, NOON);
    let status = failed.status.as_ref().unwrap();
    let state = main_container(status).state.as_ref().unwrap().terminated.as_ref().unwrap();
    assert_eq!((state.exit_code, state.reason.as_deref()), (137, Some("OOMKilled")));
    assert_eq!((status.phase.as_deref(), status.reason.as_deref()), (Some("Failed"), Some("Evicted")));
    assert_eq!(failed.plan(&script, after(1)), nothing());
}

#[test]
fn a_pod_told_to_succeed_later_is_ready_until_then() {
    let script = Script::succeed().finish_after(SECOND);
    let ready = lived(pod("demo").bound(), &script, NOON);
    assert!(truth(ready.status.as_ref().unwrap(), "Ready"));
    assert_eq!(ready.plan(&script, after(1)), look_at(after(1000)));
    let done = written(ready.plan(&script, after(1000)));
    assert_eq!(done.phase.as_deref(), Some("Succeeded"));
    assert_eq!(condition(&done, "Ready").reason.as_deref(), Some("PodCompleted"));
}

#[test]
fn an_ended_pod_stays_ended() {
    let failed = lived(pod("demo").bound(), &Script::fail(1), NOON);
    assert_eq!(failed.plan(&Script::run(), after(1)), nothing());
}

#[test]
fn a_closed_readiness_gate_keeps_the_pod_unready_until_it_opens() {
    let gate = PodReadinessGate { condition_type: "example.test/open".to_owned() };
    let gated = pod("demo").bound().spec(|spec| spec.readiness_gates = Some(vec![gate]));
    let closed = lived(gated, &Script::run(), NOON);
    let status = closed.status.as_ref().unwrap();
    assert!(truth(status, "ContainersReady") && !truth(status, "Ready"));

    let opened = closed.condition("example.test/open", "True");
    assert!(truth(&written(opened.plan(&Script::run(), after(1))), "Ready"));
}

#[test]
fn a_condition_that_stays_keeps_its_time() {
    let started = lived(pod("demo").bound(), &Script::never_ready(), NOON);
    let ready = written(started.plan(&Script::run(), after(5000)));
    assert_eq!(condition(&ready, "Initialized").last_transition_time.as_ref().unwrap().0, NOON);
    assert_eq!(condition(&ready, "Ready").last_transition_time.as_ref().unwrap().0, after(5000));
}

#[test]
fn init_containers_are_done_and_sidecars_run() {
    let init = |name: &str, restart: Option<&str>| Container {
        name: name.to_owned(),
        restart_policy: restart.map(ToOwned::to_owned),
        ..Container::default()
    };
    let containers = vec![init("setup", None), init("sidecar", Some("Always"))];
    let pod = pod("demo").bound().spec(|spec| spec.init_containers = Some(containers));
    let statuses = written(pod.plan(&Script::run(), NOON)).init_container_statuses.unwrap();
    assert!(statuses[0].state.as_ref().unwrap().terminated.is_some());
    assert!(statuses[1].state.as_ref().unwrap().running.is_some());
}

#[test]
fn a_pod_on_the_host_network_has_the_hosts_address() {
    let pod = pod("demo").bound().spec(|spec| spec.host_network = Some(true));
    assert_eq!(written(pod.plan(&Script::run(), NOON)).pod_ip.as_deref(), Some("192.0.2.1"));
}

#[test]
fn an_unbound_pod_in_deletion_needs_no_kubelet() {
    assert_eq!(pod("demo").deleted(0).finalizer("theirs").plan(&Script::run(), NOON), nothing());
}

#[test]
fn a_deleted_pod_is_stopped_and_then_removed() {
    let deleted = lived(pod("demo").bound(), &Script::run(), NOON).deleted(30);
    let stopped = lived(deleted, &Script::run(), after(1));
    let status = stopped.status.as_ref().unwrap();
    assert!(main_container(status).state.as_ref().unwrap().terminated.is_some());
    assert!(!truth(status, "Ready"));
    assert_eq!(stopped.plan(&Script::run(), after(2)), act(Action::Remove));
}

#[test]
fn termination_takes_its_time_but_not_beyond_the_grace() {
    let deleted = |grace| lived(pod("demo").bound(), &Script::run(), NOON).deleted(grace);
    let script = Script::run().terminate_after(5 * SECOND);
    assert_eq!(deleted(30).plan(&script, NOON), look_at(after(5000)));
    assert_eq!(deleted(2).plan(&script, NOON), look_at(after(2000)));
    assert!(deleted(2).plan(&script, after(2000)).action.is_some());
}

#[test]
fn a_pod_held_by_a_finalizer_is_stopped_and_otherwise_left_to_others() {
    let held = lived(pod("demo").bound(), &Script::run(), NOON).finalizer("theirs").deleted(0);
    let stopped = lived(held, &Script::run(), after(1));
    assert_eq!(stopped.plan(&Script::run(), after(2)), nothing());
}

#[test]
fn the_clock_starts_when_the_pod_is_bound() {
    let unbound = Memory::default().noting(&pod("demo"), NOON);
    let bound = unbound.noting(&pod("demo").bound(), after(5));
    assert_eq!(bound.noting(&pod("demo").bound(), after(9)).bound, Some(after(5)));
}

#[test]
fn a_pod_that_started_under_an_earlier_kubelet_counts_from_then() {
    let ready = lived(pod("demo").bound(), &Script::run(), NOON);
    let memory = Memory::default().noting(&ready, after(60_000));
    assert_eq!(memory.bound, Some(NOON));
    assert_eq!(memory.addresses, [IpAddr::from([10, 244, 0, 1])]);
}

/// Does what the plans say, at the times they say, until there is nothing left; how many steps that takes.
fn steps_to_rest(mut pod: Fixture, script: &Script) -> usize {
    let mut now = NOON;
    for step in 0..20 {
        match pod.plan(script, now) {
            Plan { action: Some(Action::Bind), .. } => pod = pod.bound(),
            Plan { action: Some(Action::SetStatus(status)), .. } => pod = pod.with(*status),
            Plan { action: Some(Action::Remove), .. } if pod.metadata.finalizers.is_none() => return step,
            Plan { action: Some(Action::Remove), .. } => pod = pod.deleted(0),
            Plan { action: None, next_look: Some(time) } => now = time,
            Plan { action: None, next_look: None } => return step,
        }
    }
    panic!("no rest for {script:?}")
}

#[test]
fn every_life_comes_to_rest() {
    let outcomes =
        [Script::run(), Script::succeed(), Script::fail(1), Script::never_ready(), Script::unschedulable()];
    for outcome in outcomes {
        for delays in 0..8_u32 {
            let script = outcome
                .clone()
                .start_after(SECOND * (delays & 1))
                .ready_after(SECOND * (delays & 2))
                .finish_after(SECOND * (delays & 4));
            assert!(steps_to_rest(pod("demo"), &script) <= 8, "{script:?}");
            assert!(steps_to_rest(pod("demo").bound().deleted(30), &script) <= 2, "{script:?}");
            let held = pod("demo").bound().finalizer("theirs").deleted(30);
            assert!(steps_to_rest(held, &script) <= 2, "{script:?}");
        }
    }
}
