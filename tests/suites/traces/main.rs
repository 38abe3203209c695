//! Traces of `asb operator`, as a collector of OpenTelemetry gets them.

mod collector;
mod place;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use asb_tests::wait;
use asb_types::annotations::TRACE_CONTEXT;
use asb_types::v1beta1::{Sandbox, SandboxClaim};
use kube::ResourceExt;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::{Value, json};

use collector::{Collector, attributes, events, hex, trace};
use place::Place;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENT: &str = "00f067aa0ba902b7";
/// So that tests need not wait long for spans.
const SOON: (&str, &str) = ("OTEL_BSP_SCHEDULE_DELAY", "20");

/// As SDKs write it on a claim.
fn of_a_client() -> Value {
    json!({TRACE_CONTEXT: format!(r#"{{"traceparent": "00-{TRACE}-{CLIENT}-01", "tracestate": ""}}"#)})
}

fn is_about(span: &Span, name: &str) -> bool {
    attributes(span).iter().any(|attribute| attribute.ends_with(&format!(".name={name}")))
}

fn is_child(span: &Span, parent: &Span) -> bool {
    span.parent_span_id == parent.span_id && span.trace_id == parent.trace_id
}

#[tokio::test]
async fn a_clients_trace_goes_on_through_its_claim_to_its_warm_sandbox() -> Result<()> {
    let collector = Collector::start().await?;
    let place = Place::with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint), SOON]).await?;
    place.pool("pool", 1).await?;
    let sandbox = place.claim("mine", "pool", of_a_client()).await?;
    assert_eq!(
        sandbox.annotations().get(TRACE_CONTEXT).map(String::as_str),
        of_a_client()[TRACE_CONTEXT].as_str()
    );

    let claim = collector.told("ReconcileSandboxClaim", |span| is_about(span, "mine")).await?.span;
    assert_eq!((trace(&claim), hex(&claim.parent_span_id)), (TRACE.to_owned(), CLIENT.to_owned()));
    let expected = ["claim.name=mine", "claim.namespace=default", "agents.x-k8s.io/created-by=python-client"];
    assert_eq!(attributes(&claim), expected);
    assert_eq!(claim.status.clone().unwrap_or_default().code(), StatusCode::Unset);
    collector.told("patch sandboxes", |span| is_child(span, &claim)).await?;
    collector.told("patch sandboxclaims/status", |span| trace(span) == TRACE).await?;

    let name = sandbox.name_any();
    let its = |span: &Span| is_about(span, &name) && trace(span) == TRACE;
    let look = collector.told("ReconcileSandbox", its).await?.span;
    assert_eq!(hex(&look.parent_span_id), CLIENT);
    collector.told("reconcilePVCs", |span| is_child(span, &look)).await?;
    let pod = collector.told("reconcilePod", |span| is_child(span, &look)).await?.span;
    let (event, about) = events(&pod).remove(0);
    assert_eq!(event, "ExistingPodStatusObserved");
    assert!(about.contains(&format!("pod.Name={name}")) && about.contains(&"pod.Phase=Running".to_owned()));
    place.stop().await.map(drop)
}

#[tokio::test]
async fn a_claim_without_a_trace_begins_one_that_its_sandbox_goes_on_with() -> Result<()> {
    let collector = Collector::start().await?;
    let place = Place::with(&[
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &collector.endpoint),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-password=secret"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_RESOURCE_ATTRIBUTES", "k8s.cluster.name=blue"),
        SOON,
    ])
    .await?;
    place.pool("pool", 0).await?;
    let sandbox = place.claim("mine", "pool", json!({})).await?;
    let context = sandbox.annotations().get(TRACE_CONTEXT).context("it has a trace")?.clone();
    let is_noted = |claim: &SandboxClaim| claim.annotations().get(TRACE_CONTEXT) == Some(&context);
    wait::for_object(&place.api::<SandboxClaim>(), "mine", "to name that trace", is_noted).await?;

    let is_root = |span: &Span| is_about(span, "mine") && span.parent_span_id.is_empty();
    let first = collector.told("ReconcileSandboxClaim", is_root).await?;
    let traceparent = format!("00-{}-{}-01", trace(&first.span), hex(&first.span.span_id));
    assert_eq!(context, json!({"traceparent": traceparent}).to_string());
    collector.told("ReconcileSandboxClaim", |span| is_child(span, &first.span)).await?;
    let look = collector.told("ReconcileSandbox", |span| is_child(span, &first.span)).await?.span;
    let pod = collector.told("reconcilePod", |span| is_child(span, &look)).await?.span;
    assert!(events(&pod).iter().any(|(event, _)| event == "NewPodStatusObserved"), "{pod:?}");
    collector.told("create pods", |span| is_child(span, &pod)).await?;

    assert_eq!((first.scope.as_str(), first.password.as_str()), ("agent-sandbox-controller", "secret"));
    for attribute in ["service.name=agent-sandbox-controller", "k8s.cluster.name=blue"] {
        assert!(first.resource.contains(&attribute.to_owned()), "{:?}", first.resource);
    }
    place.stop().await.map(drop)
}

#[tokio::test]
async fn what_goes_wrong_is_told_where_it_did_and_on_the_whole() -> Result<()> {
    let collector = Collector::start().await?;
    let place = Place::with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint), SOON]).await?;
    let pod = json!({"metadata": {"labels": {"bad": "no label at all!"}},
        "spec": {"containers": [{"name": "main", "image": "demo"}]}});
    place.create::<Sandbox>("wrong", of_a_client(), json!({"podTemplate": pod})).await?;
    place.create::<SandboxClaim>("lost", json!({}), json!({"warmPoolRef": {"name": "nowhere"}})).await?;
    let is_bad = |span: &Span| span.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error);
    let look = collector.told("ReconcileSandbox", |span| is_about(span, "wrong") && is_bad(span)).await?.span;
    let part = collector.told("reconcilePod", |span| is_child(span, &look) && is_bad(span)).await?.span;
    let write = collector.told("create pods", |span| is_child(span, &part) && is_bad(span)).await?.span;
    for span in [&look, &part, &write] {
        let said = &span.status.as_ref().context("it is bad")?.message;
        assert!(said.contains("no label at all!"), "{span:?}");
        let (event, about) =
            events(span).into_iter().find(|(name, _)| name == "exception").context("an event")?;
        assert!(about.contains(&format!("exception.message={said}")), "{event} {about:?}");
    }
    let claim =
        collector.told("ReconcileSandboxClaim", |span| is_about(span, "lost") && is_bad(span)).await?;
    let said = claim.span.status.context("it is bad")?.message;
    assert!(said.contains("\"nowhere\" not found"), "{said}");
    place.stop().await.map(drop)
}

/// Nothing is sent before the end: spans would wait for others for an hour.
#[tokio::test]
async fn what_still_waits_at_the_end_is_delivered() -> Result<()> {
    let collector = Collector::start().await?;
    let hour = ("OTEL_BSP_SCHEDULE_DELAY", "3600000");
    let place = Place::with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint), hour]).await?;
    place.pool("pool", 0).await?;
    place.claim("mine", "pool", of_a_client()).await?;
    assert!(collector.all().is_empty());
    place.stop().await?;
    assert!(
        collector.all().iter().any(|it| it.span.name == "ReconcileSandboxClaim" && trace(&it.span) == TRACE)
    );
    Ok(())
}

#[tokio::test]
async fn where_nobody_takes_them_claims_are_served_all_the_same_and_the_end_comes_in_time() -> Result<()> {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = format!("http://{}", nobody.local_addr()?);
    drop(nobody);
    let place = Place::with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint), SOON]).await?;
    place.pool("pool", 1).await?;
    place.claim("mine", "pool", of_a_client()).await?;
    let lost = || async { place.spans("failed").await.ok().filter(|count| *count > 0) };
    wait::until(wait::DEADLINE, "spans to be counted as lost", lost).await?;
    assert_eq!(place.spans("sent").await?, 0);
    let start = Instant::now();
    let log = place.stop().await?;
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    assert_eq!(log.matches("cannot deliver spans").count(), 1, "{log}");
    Ok(())
}
