//! Spans of what the operator does, under upstream's names where it has them, and which trace each belongs to.
//!
//! They cost nothing unless the program has a subscriber that records what is said under [`TARGET`]: nothing is looked up,
//! formatted or allocated for a span that nobody records. Whoever makes log lines of what is said leaves this target out.

#[cfg(feature = "otlp")]
mod recorded;
mod remembered;
#[cfg(not(feature = "otlp"))]
mod unrecorded;

use asb_core::object::{Key, Metadata};
use asb_core::sandbox::Part;
use asb_core::views::PodView;
use asb_core::write::{Kind, Part as Written, Write};
use asb_types::{annotations, labels};
use tracing::field::Empty;
use tracing::{Level, Span};

use crate::caches::Caches;
use crate::queue::Next;
use crate::world::Held;
#[cfg(feature = "otlp")]
use recorded::{context, follow};
#[cfg(not(feature = "otlp"))]
use unrecorded::{context, follow};

#[cfg(feature = "otlp")]
pub use recorded::{Place, current};
pub(crate) use remembered::Remembered;

/// Where spans are, apart from everything else that is said.
pub const TARGET: &str = module_path!();

const DESCRIPTION: &str = "otel.status_description";
const CODE: &str = "otel.status_code";

/// A look at an object, as traces tell of it. One that is dropped before it has ended was cut short, and says so.
pub(crate) struct Look {
    span: Span,
    has_ended: bool,
}

impl Look {
    pub(crate) fn at<V: Held>(key: &Key, caches: &Caches) -> Self {
        let span = if caches.memory.traces.is_wanted() { begin::<V>(key, caches) } else { Span::none() };
        Self { span, has_ended: false }
    }

    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    pub(crate) fn end(mut self, next: Next) {
        self.has_ended = true;
        if next == Next::Retry {
            self.span.record(CODE, "ERROR");
        }
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        if !self.has_ended {
            self.span.record(DESCRIPTION, "cut short: this operator ends, or no longer leads");
        }
    }
}

/// The span of a look at an object that is there.
fn begin<V: Held>(key: &Key, caches: &Caches) -> Span {
    let remembered = &caches.memory.traces;
    let Some(metadata) = caches.metadata::<V>(key) else {
        remembered.forget(V::KIND, key);
        return Span::none();
    };
    let span = named(V::KIND, key);
    if let Some(creator) = metadata.label(labels::CREATED_BY) {
        span.record(labels::CREATED_BY, labels::normalized_created_by(creator));
    }
    join(&span, V::KIND, &metadata, remembered);
    span
}

macro_rules! look {
    ($span:literal, $name:literal, $namespace:literal, $key:expr) => {
        tracing::info_span!(
            $span,
            $name = %$key.name,
            $namespace = %$key.namespace,
            "agents.x-k8s.io/created-by" = Empty,
            otel.status_code = Empty,
            otel.status_description = Empty,
        )
    };
}

fn named(kind: Kind, key: &Key) -> Span {
    match kind {
        Kind::Sandbox => look!("ReconcileSandbox", "sandbox.name", "sandbox.namespace", key),
        Kind::SandboxClaim => look!("ReconcileSandboxClaim", "claim.name", "claim.namespace", key),
        Kind::SandboxTemplate => {
            look!("ReconcileSandboxTemplate", "template.name", "template.namespace", key)
        }
        Kind::SandboxWarmPool => look!("ReconcileSandboxWarmPool", "pool.name", "pool.namespace", key),
        Kind::ShorthandClaim => look!("TranslateSandboxClaim", "claim.name", "claim.namespace", key),
        Kind::ShorthandTemplate => {
            look!("TranslateSandboxTemplate", "template.name", "template.namespace", key)
        }
        Kind::ShorthandPool => look!("TranslateSandboxWarmPool", "pool.name", "pool.namespace", key),
        Kind::Pod | Kind::Service | Kind::PersistentVolumeClaim | Kind::NetworkPolicy => Span::none(),
    }
}

/// Makes a span part of the trace that the object names. Where it names none, looks at a claim or Sandbox go on with the
/// trace that the first of them began, which is remembered until it is written on the object.
fn join(span: &Span, kind: Kind, metadata: &Metadata, remembered: &Remembered) {
    if let Some(trace) = metadata.annotation(annotations::TRACE_CONTEXT) {
        remembered.forget(kind, &metadata.key);
        follow(span, trace);
    } else if let Some(trace) = remembered.of(kind, metadata) {
        follow(span, &trace);
    } else if matches!(kind, Kind::Sandbox | Kind::SandboxClaim)
        && let Some(trace) = context(span)
    {
        remembered.keep(kind, metadata, trace.into());
    }
}

/// The span of what is done about a part of a Sandbox. Of some parts nothing is told by themselves.
pub(crate) fn part(part: Part, is_due: bool) -> Span {
    match part {
        Part::Volumes => {
            tracing::info_span!("reconcilePVCs", otel.status_code = Empty, otel.status_description = Empty)
        }
        Part::Pod => {
            tracing::info_span!("reconcilePod", otel.status_code = Empty, otel.status_description = Empty)
        }
        Part::Service if is_due => {
            tracing::info_span!("reconcileService", otel.status_code = Empty, otel.status_description = Empty)
        }
        Part::Service | Part::PodName | Part::Sandbox => Span::none(),
    }
}

/// The span of a write, from when it is sent until it is answered.
pub(crate) fn write(write: &Write) -> Span {
    let (verb, status) = match write {
        Write::Create { .. } => ("create", ""),
        Write::Patch { part: Written::Object, .. } => ("patch", ""),
        Write::Patch { part: Written::Status, .. } => ("patch", "/status"),
        Write::Delete { .. } => ("delete", ""),
    };
    let target = write.target();
    tracing::info_span!(
        "write",
        otel.name = format_args!("{verb} {}{status}", target.kind.plural()),
        otel.kind = "client",
        "object.name" = %target.key.name,
        "object.namespace" = %target.key.namespace,
        otel.status_code = Empty,
        otel.status_description = Empty,
    )
}

/// Notes on the span of what is being done that it went wrong.
pub(crate) fn failed(problem: &str) {
    let span = Span::current();
    if !span.is_disabled() {
        span.record(DESCRIPTION, problem);
        tracing::event!(name: "exception", Level::INFO, exception.message = problem);
    }
}

/// A Pod that was there already.
pub(crate) fn existing_pod(pod: &PodView) {
    let name = pod.metadata.name();
    tracing::event!(name: "ExistingPodStatusObserved", Level::INFO, pod.Name = name, pod.Phase = pod.phase);
}

/// A Pod that was just made.
pub(crate) fn new_pod(pod: &PodView) {
    let name = pod.metadata.name();
    tracing::event!(name: "NewPodStatusObserved", Level::INFO, pod.Name = name, pod.Phase = pod.phase);
}

#[cfg(test)]
mod tests;
