//! Without the feature `otlp` nobody records spans, and they belong to no trace.

use tracing::Span;

pub(super) fn follow(_span: &Span, _trace: &str) {}

pub(super) fn context(_span: &Span) -> Option<String> {
    None
}
