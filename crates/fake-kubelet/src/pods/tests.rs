//! The index against sequences of watch events.

use k8s_openapi::api::core::v1::{PodIP, PodStatus};

use super::super::fixtures::{Fixture, NOON, after, place, pod};
use super::super::script::Script;
use super::*;

/// A kubelet's Pods after a first list.
fn pods(listed: &[Fixture]) -> Pods {
    let addresses = Addresses::new(vec!["10.244.0.0/29".parse().unwrap()]);
    let mut pods = Pods::new(place(), Rules::default(), addresses);
    list(&mut pods, listed);
    pods
}

fn list(pods: &mut Pods, listed: &[Fixture]) {
    pods.event(Event::Init, NOON);
    for pod in listed {
        pods.event(Event::InitApply((**pod).clone()), NOON);
    }
    pods.event(Event::InitDone, NOON);
}

fn status(work: Option<Work>) -> PodStatus {
    match work.map(|work| work.action) {
        Some(Action::SetStatus(status)) => *status,
        other => panic!("wanted a status, the work is {other:?}"),
    }
}

fn address(work: Option<Work>) -> String {
    status(work).pod_ip.unwrap()
}

fn updated(pod: &Fixture) -> Applied {
    Applied::Updated(Box::new((**pod).clone()))
}

#[test]
fn a_pod_just_bound_is_started_without_waiting_for_the_watch() {
    let mut pods = pods(&[pod("a")]);
    let binding = pods.work(NOON).unwrap();
    assert_eq!(binding.action, Action::Bind);
    pods.applied(&binding.uid, Some(Applied::Bound), NOON);
    assert_eq!(address(pods.work(NOON)), "10.244.0.1");
}

#[test]
fn a_pod_has_one_write_at_a_time() {
    let mut pods = pods(&[pod("a").version(1)]);
    assert!(pods.work(NOON).is_some());
    pods.event(Event::Apply((*pod("a").version(2)).clone()), NOON);
    assert!(pods.work(NOON).is_none());
}

#[test]
fn a_late_watch_event_does_not_undo_what_was_written() {
    let mut pods = pods(&[pod("a").bound().version(1)]);
    let work = pods.work(NOON).unwrap();
    let uid = work.uid.clone();
    let ready = pod("a").bound().version(3).with(status(Some(work)));
    pods.applied(&uid, Some(updated(&ready)), NOON);
    pods.event(Event::Apply((*pod("a").bound().version(2)).clone()), NOON);
    assert!(pods.work(NOON).is_none());
}

#[test]
fn no_two_pods_share_an_address() {
    let mut pods = pods(&[pod("a").bound(), pod("b").bound()]);
    assert_ne!(address(pods.work(NOON)), address(pods.work(NOON)));
}

#[test]
fn an_address_in_use_before_is_not_handed_out() {
    let running = pod("a").bound().with(PodStatus {
        pod_ips: Some(vec![PodIP { ip: "10.244.0.1".to_owned() }]),
        phase: Some("Succeeded".to_owned()),
        ..PodStatus::default()
    });
    let mut pods = pods(&[pod("b").bound(), running]);
    assert_eq!(address(pods.work(NOON)), "10.244.0.2");
}

#[test]
fn a_pod_without_an_address_left_gets_one_when_another_pod_goes() {
    let all: Vec<_> = ["a", "b", "c", "d", "e", "f", "g"].into_iter().map(|name| pod(name).bound()).collect();
    let mut pods = pods(&all);
    while pods.work(NOON).is_some() {}
    pods.event(Event::Delete((*all[0]).clone()), NOON);
    assert_eq!(address(pods.work(NOON + RETRY)), "10.244.0.1");
}

#[test]
fn a_pod_missing_from_a_new_list_is_forgotten() {
    let mut pods = pods(&[pod("a").bound()]);
    assert!(pods.work(NOON).is_some());
    list(&mut pods, &[]);
    assert!(pods.entries.is_empty());
}

#[test]
fn a_failed_write_is_tried_again_later() {
    let mut pods = pods(&[pod("a")]);
    let work = pods.work(NOON).unwrap();
    pods.applied(&work.uid, None, NOON);
    assert!(pods.work(after(1)).is_none());
    assert_eq!(pods.next_look(), Some(NOON + RETRY));
    assert_eq!(pods.work(NOON + RETRY).unwrap().action, Action::Bind);
}

#[test]
fn a_write_that_came_too_late_waits_for_the_watch() {
    let mut pods = pods(&[pod("a").version(1)]);
    let work = pods.work(NOON).unwrap();
    pods.applied(&work.uid, Some(Applied::Overtaken), NOON);
    assert!(pods.work(after(1000)).is_none());
    pods.event(Event::Apply((*pod("a").bound_to("fake-2").version(2)).clone()), NOON);
    assert!(pods.entries.is_empty());
}

#[test]
fn a_removed_pod_needs_nothing_more_however_late_the_watch() {
    let running = pod("a").bound().version(1);
    let stopped = running.clone().deleted(30).with(stopped_status(&running));
    let mut pods = pods(&[stopped]);
    let work = pods.work(NOON).unwrap();
    assert_eq!(work.action, Action::Remove);
    pods.applied(&work.uid, Some(Applied::Removed), NOON);
    pods.event(Event::Apply((*running.deleted(30)).clone()), NOON);
    assert!(pods.work(after(1)).is_none());
}

fn stopped_status(pod: &Fixture) -> PodStatus {
    match pod.plan(&Script::succeed(), NOON).action {
        Some(Action::SetStatus(status)) => *status,
        other => panic!("wanted a status, the plan is {other:?}"),
    }
}
