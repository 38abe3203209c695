//! The text that is read from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use asb_core::census::Launching;
use asb_core::claim::{FirstReady, Launched, Start};
use asb_core::sandbox::Turn;
use asb_core::views::{ClaimView, SandboxView, read};
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::caches::Caches;
use crate::queue::Urgency;

const NOON: Timestamp = Timestamp::UNIX_EPOCH;

fn metrics() -> (Arc<Caches>, Observer, Metrics) {
    let caches = Arc::new(Caches::default());
    let observer = Observer::new(&caches);
    let metrics = Metrics::new(observer.clone(), Workers::default(), Some(&SpanCounts::default()));
    (caches, observer, metrics)
}

fn lines(text: &str, part: &str) -> Vec<String> {
    let mut lines: Vec<_> = text.lines().filter(|line| line.contains(part)).map(str::to_owned).collect();
    lines.sort();
    lines
}

fn after(milliseconds: i64) -> Timestamp {
    NOON + SignedDuration::from_millis(milliseconds)
}

fn object(name: &str, more: &Value) -> Value {
    let mut object = json!({"metadata": {"namespace": "team", "name": name, "uid": name, "resourceVersion": "1"},
        "spec": {"warmPoolRef": {"name": "asked"}}});
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

fn claim(more: &Value) -> ClaimView {
    read(&object("claim", more)).unwrap().unwrap()
}

fn launched(start: Start, template: Option<&str>) -> Launched {
    Launched { start, pool: "gave".into(), template: template.map(Into::into), at: after(40) }
}

fn first_ready() -> FirstReady {
    FirstReady {
        launching: Launching::Warm,
        bound: Some(("WarmSandboxReady", after(40))),
        template: Some("python".into()),
        requested: Some(after(-1_000)),
        admitted: Some(after(-200)),
        observed: NOON,
        creation: Some(SignedDuration::from_secs(7)),
        told_at: String::new(),
    }
}

/// Everything has happened once.
fn eventful() -> Metrics {
    let (caches, _, metrics) = metrics();
    caches.change(Urgency::Live, |world| world.learn::<SandboxView>(&object("box", &json!({}))).unwrap());
    metrics.claims.launched(&claim(&json!({})), &launched(Start::WarmReady, Some("python")), NOON);
    metrics.claims.launched(&claim(&json!({})), &launched(Start::ColdForEnv, None), NOON);
    metrics.claims.first_ready("team", &first_ready(), after(45));
    let sandbox: SandboxView = read(&object("box", &json!({}))).unwrap().unwrap();
    let took = Some(SignedDuration::from_millis(70));
    let turns = [Turn::Expired, Turn::Finished("PodFailed"), Turn::SuspendRequested, Turn::SuspendFailed];
    let more = [Turn::Suspended(took), Turn::ResumeRequested, Turn::ResumeFailed, Turn::Resumed(took)];
    turns.into_iter().chain(more).for_each(|turn| metrics.sandboxes.turned(&sandbox, turn));
    metrics.looked("sandbox", Next::Settled, Duration::from_millis(3));
    metrics
}

#[test]
fn dashboards_find_the_names_that_they_know() {
    let (_, observer, metrics) = metrics();
    observer.set_leading(true);
    metrics.looked("sandbox", Next::Settled, Duration::from_millis(3));
    metrics.looked("sandbox", Next::Retry, Duration::from_millis(3));
    let text = metrics.text();
    let parts = ["workqueue_depth", "master_status", "reconcile_total", "reconcile_errors_total"];
    let parts = parts.into_iter().chain(["reconcile_time_seconds_count", "max_concurrent", "workqueue_adds"]);
    insta::assert_snapshot!(parts.map(|part| lines(&text, part).join("\n")).collect::<Vec<_>>().join("\n"));
}

#[tokio::test]
async fn our_dashboard_and_alerts_ask_for_what_there_is() {
    let metrics = eventful();
    let server = tower::service_fn(|_: http::Request<Body>| async {
        Ok::<_, kube::Error>(http::Response::new(Body::empty()))
    });
    let client = metrics.requests.over(&kube::Client::new(server, "default"), "kube:6443");
    client.send(http::Request::new(Body::empty())).await.unwrap();
    let text = metrics.text();
    let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let names: BTreeSet<_> = names.collect();
    let families =
        ["agent_sandbox", "controller_runtime_", "leader_", "process_", "rest_client_", "workqueue_"];
    let files = [
        include_str!("../../../../deploy/monitoring/dashboard.json"),
        include_str!("../../../../deploy/monitoring/rules.yaml"),
    ];
    for word in files
        .iter()
        .flat_map(|file| file.split(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric()))
    {
        let name = word.strip_suffix("_bucket").unwrap_or(word);
        let is_metric = families.iter().any(|family| word.starts_with(family));
        assert!(!is_metric || names.contains(name), "{word}");
    }
}

#[test]
fn claims_and_sandboxes_are_measured_in_upstreams_words_and_buckets() {
    let lines = lines(&eventful().text(), "agent_sandbox");
    let lines: Vec<_> = lines.into_iter().filter(|line| !line.contains("build_info")).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn buckets_of_queues_are_those_of_kubernetes() {
    let text = metrics().2.text();
    let bounds = lines(&text, "workqueue_work_duration_seconds_bucket");
    let bounds = bounds.iter().filter(|line| line.contains("name=\"sandbox\""));
    let bounds: Vec<_> = bounds.filter_map(|line| line.split('"').nth(1)).collect();
    insta::assert_snapshot!(bounds.join(" "));
}

#[test]
fn what_a_claim_did_before_is_no_part_of_how_long_it_took() {
    let metrics = metrics().2;
    let again = claim(&json!({"status": {"sandbox": {"name": "lost"}}}));
    metrics.claims.launched(&again, &launched(Start::WarmReady, Some("python")), NOON);
    let text = metrics.text();
    assert_eq!(lines(&text, "agent_sandbox_claim_creation_total{").len(), 1);
    assert_eq!(lines(&text, "agent_sandbox_claim_step_seconds_count"), [""; 0]);
}

#[test]
fn what_is_not_known_or_cannot_be_is_left_out() {
    let metrics = metrics().2;
    let strange = FirstReady {
        requested: Some(after(9_000)),
        admitted: None,
        creation: None,
        bound: None,
        ..first_ready()
    };
    metrics.claims.first_ready("team", &strange, after(45));
    let counts = lines(&metrics.text(), "_count{launch_type");
    assert_eq!(counts.len(), 1, "{counts:?}");
    assert!(counts[0].starts_with("agent_sandbox_claim_controller_startup_latency_ms_count"));
}

#[test]
fn the_program_and_its_process_are_described() {
    let text = metrics().2.text();
    let names =
        ["agent_sandbox_build_info{", "process_start_time_seconds ", "process_resident_memory_bytes "];
    for name in names.into_iter().chain(["process_cpu_seconds_total ", "process_virtual_memory_bytes "]) {
        assert_eq!(lines(&text, name).iter().filter(|line| line.starts_with(name)).count(), 1, "{name}");
    }
}

#[test]
fn only_the_newer_format_has_an_end() {
    let metrics = eventful();
    assert!(metrics.in_format(Format::OpenMetrics).ends_with("# EOF\n"));
    assert!(!metrics.text().contains("# EOF"));
}

/// As `promtool check metrics` looks at it.
#[test]
fn every_sample_is_of_a_family_that_was_described_before_it() {
    let text = eventful().text();
    let (mut types, mut last) = (BTreeMap::new(), "");
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|it| it.split_once(' ')) {
            assert!(help.len() > 5 && !types.contains_key(name), "{line}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line}");
            last = name;
        } else if let Some((name, type_)) = line.strip_prefix("# TYPE ").and_then(|it| it.split_once(' ')) {
            assert_eq!(name, last, "{line}");
            assert_eq!(name.matches("_total").count(), usize::from(type_ == "counter"), "{line}");
            types.insert(name, type_);
        } else {
            let name = line.split(['{', ' ']).next().unwrap();
            let suffixes: &[&str] =
                if types[last] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(suffixes.contains(&name.strip_prefix(last).unwrap()), "{line} in {last}");
            assert!(line.rsplit_once(' ').unwrap().1.parse::<f64>().is_ok(), "{line}");
        }
    }
    assert!(types.len() > 30, "{types:?}");
}

#[test]
fn however_many_sandboxes_there_are_few_lines_tell_of_them() {
    let (caches, _, metrics) = metrics();
    caches.change(Urgency::Live, |world| {
        let learn =
            |number| world.learn::<SandboxView>(&object(&format!("box-{number}"), &json!({}))).unwrap();
        (0..10_000).flat_map(learn).collect()
    });
    let told = lines(&metrics.text(), "agent_sandboxes{");
    assert_eq!(told.len(), 1);
    assert!(told[0].ends_with(" 10000"), "{told:?}");
}

#[test]
fn milliseconds_are_whole_and_never_too_many_to_tell() {
    let told = [SignedDuration::from_micros(1_999), SignedDuration::from_hours(10_000_000)].map(milliseconds);
    assert_eq!(told.map(|number| number.to_string()), ["1", "4294967295"]);
}
