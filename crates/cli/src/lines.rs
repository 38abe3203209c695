//! Log lines: for people, or for programs, each a JSON object, which names the trace that it belongs to, if it does.

use std::fmt;

use asb_operator::spans;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{Format, Json, JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use crate::logging::Encoder;
use crate::output::Listener;

/// Makes lines of what is said at this level or worse. Spans are not for lines, and where nobody else listens they are not
/// even made.
pub(crate) fn listener<W>(level: LevelFilter, encoder: Encoder, writer: W) -> Listener
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    let lines: Listener = match encoder {
        Encoder::Text => lines.with_target(false).boxed(),
        Encoder::Json => {
            let format = Objects(Format::default().json().flatten_event(true));
            lines.fmt_fields(JsonFields::new()).event_format(format).boxed()
        }
    };
    lines.with_filter(Targets::new().with_default(level).with_target(spans::TARGET, LevelFilter::OFF)).boxed()
}

struct Objects(Format<Json>);

impl<S, N> FormatEvent<S, N> for Objects
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some([trace, span]) = place() else { return self.0.format_event(context, writer, event) };
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        let open = line.trim_end().strip_suffix('}').unwrap_or(&line);
        writeln!(writer, r#"{open},"trace_id":"{trace}","span_id":"{span}"}}"#)
    }
}

/// The trace and the span that whoever logs is in.
#[cfg(feature = "otlp")]
fn place() -> Option<[String; 2]> {
    spans::current().map(|place| [place.trace.to_string(), place.span.to_string()])
}

#[cfg(not(feature = "otlp"))]
fn place() -> Option<[String; 2]> {
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use serde_json::Value;
    use tracing::subscriber::with_default;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What is written while one thing is said outside of any span and one within.
    fn written(other: Option<Listener>) -> Vec<Value> {
        let paper = Paper::default();
        let pen = paper.clone();
        let lines = listener(LevelFilter::INFO, Encoder::Json, move || pen.clone());
        let listeners = [lines].into_iter().chain(other).collect::<Vec<_>>();
        with_default(tracing_subscriber::registry().with(listeners), || {
            tracing::warn!(object = "team/demo", "outside");
            let span = tracing::info_span!(target: "asb_operator::spans", "look", colour = "red");
            span.in_scope(|| tracing::warn!(object = "team/demo", "within"));
        });
        let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_line_says_what_it_is_about_and_nothing_of_spans() {
        let lines = written(None);
        assert_eq!(lines.len(), 2);
        for (line, message) in lines.iter().zip(["outside", "within"]) {
            let keys = line.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>();
            assert_eq!(keys, ["level", "message", "object", "target", "timestamp"]);
            assert_eq!((&line["object"], &line["message"]), (&"team/demo".into(), &message.into()));
        }
    }

    #[test]
    fn spans_are_not_made_for_lines() {
        assert_eq!(spans::TARGET, "asb_operator::spans");
        let lines = listener(LevelFilter::TRACE, Encoder::Text, std::io::sink);
        with_default(tracing_subscriber::registry().with(vec![lines]), || {
            assert!(tracing::info_span!(target: "asb_operator::spans", "look").is_disabled());
            assert!(!tracing::info_span!(target: "asb_operator", "look").is_disabled());
        });
    }

    #[cfg(feature = "otlp")]
    #[tokio::test]
    async fn a_line_of_a_trace_names_it() {
        let traces = asb_operator::otlp::Traces::open("host").unwrap();
        let [outside, within] = written(Some(Box::new(traces.layer()))).try_into().unwrap();
        assert_eq!((&outside["trace_id"], &outside["span_id"]), (&Value::Null, &Value::Null));
        let lengths = ["trace_id", "span_id"].map(|key| within[key].as_str().unwrap().len());
        assert_eq!(lengths, [32, 16]);
        assert_eq!(within["object"], "team/demo");
    }
}
