//! Spans as OpenTelemetry knows them: which trace each belongs to, in the headers of W3C Trace Context, as JSON.

use std::collections::HashMap;

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TraceContextExt;
use opentelemetry::{Context, SpanId, TraceId};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// A span among all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub trace: TraceId,
    pub span: SpanId,
}

/// The span that whoever asks is in, if it is in one.
pub fn current() -> Option<Place> {
    place(&Context::current())
}

fn place(context: &Context) -> Option<Place> {
    let span = context.span();
    let context = span.span_context();
    context.is_valid().then(|| Place { trace: context.trace_id(), span: context.span_id() })
}

/// Makes a span that has not been entered yet a child of the one that the headers name. Headers are anybody's to write:
/// those that name none are passed over.
pub(super) fn follow(span: &Span, headers: &str) {
    let headers: HashMap<String, String> = serde_json::from_str(headers).unwrap_or_default();
    if !headers.get("traceparent").is_some_and(|parent| is_whole(parent)) {
        return;
    }
    let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
    if place(&parent).is_some() {
        // Nobody records it, then.
        let _ = span.set_parent(parent);
    }
}

/// Whether all parts have the length that they must have, which the propagator does not mind.
fn is_whole(traceparent: &str) -> bool {
    let mut parts = traceparent.split('-').map(str::len);
    [2, 32, 16, 2].into_iter().all(|length| parts.next() == Some(length))
}

/// The headers that name a span, if it is recorded.
pub(super) fn context(span: &Span) -> Option<String> {
    let (context, mut headers) = (span.context(), HashMap::new());
    place(&context)?;
    TraceContextPropagator::new().inject_context(&context, &mut headers);
    // An empty state says nothing.
    headers.retain(|_, value: &mut String| !value.is_empty());
    serde_json::to_string(&headers.into_iter().collect::<std::collections::BTreeMap<_, _>>()).ok()
}
