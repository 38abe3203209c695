//! Sends spans to a collector of OpenTelemetry, over gRPC, without ever making the operator wait: spans wait in a bounded
//! queue, and are dropped and counted where there are too many or nobody takes them.
//!
//! What is set by the environment is upstream's to name and OpenTelemetry's to define: `OTEL_EXPORTER_OTLP_*`,
//! `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_*`.

mod complaints;
mod delivery;
mod environment;
mod mailbox;

use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanExporter as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use crate::metrics::SpanCounts;
use environment::Environment;
use mailbox::Mailbox;

pub use environment::Misconfiguration;

/// The service that spans are of, as upstream names it.
const SERVICE: &str = "agent-sandbox-controller";
/// How long what still waits is delivered at the end.
const FAREWELL: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Misconfiguration(#[from] Misconfiguration),
    #[error("cannot prepare the way to the collector")]
    Exporter(#[source] ExporterBuildError),
}

/// The way to a collector. Ends with this value.
pub struct Traces {
    provider: SdkTracerProvider,
    counts: SpanCounts,
    stop: CancellationToken,
    delivery: AbortOnDropHandle<()>,
}

impl Traces {
    /// Prepares the way, by what the environment says; nobody is called before there are spans. `instance` is who we are among
    /// replicas. Needs the tokio runtime that it is called in.
    pub fn open(instance: &str) -> Result<Self, Error> {
        let environment = Environment::read(|name| std::env::var(name).ok())?;
        let resource = resource(&environment, instance);
        let exporter = exporter(&environment, &resource)?;
        let (counts, stop) = (SpanCounts::default(), CancellationToken::new());
        let (queue, waiting) = mpsc::channel(environment.pace.queue);
        let mailbox = Mailbox::new(queue, counts.clone());
        let provider =
            SdkTracerProvider::builder().with_resource(resource).with_span_processor(mailbox).build();
        let delivery = delivery::run(exporter, waiting, environment.pace, counts.clone(), stop.clone());
        Ok(Self { provider, counts, stop, delivery: AbortOnDropHandle::new(tokio::spawn(delivery)) })
    }

    /// What records spans, and with them what the operator logs meanwhile.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        layer(&self.provider)
    }

    /// What becomes of spans.
    pub fn counts(&self) -> SpanCounts {
        self.counts.clone()
    }

    /// Delivers what still waits, but for no longer than five seconds.
    pub async fn close(self) {
        self.stop.cancel();
        if tokio::time::timeout(FAREWELL, self.delivery).await.is_err() {
            tracing::warn!("the collector did not take the last spans in time; they are lost");
        }
    }
}

fn layer<S>(provider: &SdkTracerProvider) -> impl Layer<S> + Send + Sync + use<S>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let scope = InstrumentationScope::builder(SERVICE).with_version(env!("CARGO_PKG_VERSION")).build();
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer_with_scope(scope))
        .with_location(false)
        .with_target(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(Targets::new().with_target(env!("CARGO_CRATE_NAME"), LevelFilter::INFO))
}

/// Who sends: what the environment says goes before what we know ourselves.
fn resource(environment: &Environment, instance: &str) -> Resource {
    let own = [
        KeyValue::new("service.name", SERVICE),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", instance.to_owned()),
    ];
    let resource = Resource::builder_empty()
        .with_attributes(own)
        .with_detectors(&[Box::new(TelemetryResourceDetector), Box::new(EnvResourceDetector::new())]);
    match &environment.service {
        Some(name) => resource.with_service_name(name.clone()).build(),
        None => resource.build(),
    }
}

fn exporter(environment: &Environment, resource: &Resource) -> Result<SpanExporter, Error> {
    let mut builder = SpanExporter::builder().with_tonic();
    if let Some(security) = &environment.security {
        builder = builder.with_tls_config(security.clone());
    }
    let mut exporter = builder.build().map_err(Error::Exporter)?;
    exporter.set_resource(resource);
    Ok(exporter)
}

#[cfg(test)]
pub(crate) use tests::recording;

#[cfg(test)]
mod tests;
