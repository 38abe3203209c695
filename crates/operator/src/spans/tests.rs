//! What nobody records costs nothing, and what somebody records is told as it was.

use asb_core::views::SandboxView;
use serde_json::{Value, json};

use super::*;

fn caches(annotations: &Value) -> Caches {
    let caches = Caches::default();
    let sandbox = json!({
        "metadata": {"namespace": "team", "name": "demo", "uid": "1", "resourceVersion": "1",
            "labels": {"agents.x-k8s.io/created-by": "my-fork"}, "annotations": annotations},
        "spec": {},
    });
    caches.learn(Kind::Sandbox, &sandbox).unwrap();
    caches
}

fn demo() -> Key {
    Key::new("team", "demo")
}

#[test]
fn a_look_that_nobody_records_is_no_span_and_leaves_nothing_behind() {
    let caches = caches(&json!({}));
    let look = Look::at::<SandboxView>(&demo(), &caches);
    assert!(look.span().is_disabled() && part(Part::Pod, true).is_disabled());
    assert_eq!(caches.memory.traces.size(), 0);
    look.end(Next::Settled);
}

#[cfg(feature = "otlp")]
mod recorded {
    use asb_core::object::Uid;
    use asb_core::write::Target;
    use opentelemetry::trace::{SpanKind, Status};
    use opentelemetry_sdk::trace::SpanData;

    use super::*;
    use crate::otlp;

    const PARENT: &str =
        r#"{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","tracestate":"a=b"}"#;

    fn recording(caches: &Caches, act: impl FnOnce()) -> Vec<SpanData> {
        caches.memory.traces.begin();
        otlp::recording(act)
    }

    fn look(caches: &Caches, next: Next) {
        Look::at::<SandboxView>(&demo(), caches).end(next);
    }

    fn attributes(span: &SpanData) -> Vec<String> {
        span.attributes.iter().map(|attribute| format!("{}={}", attribute.key, attribute.value)).collect()
    }

    #[test]
    fn a_look_is_part_of_the_trace_that_the_object_names() {
        let caches = caches(&json!({annotations::TRACE_CONTEXT: PARENT}));
        let spans = recording(&caches, || look(&caches, Next::Settled));
        let [span] = &*spans else { panic!("{spans:?}") };
        assert_eq!(span.name, "ReconcileSandbox");
        assert_eq!(span.span_context.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(span.parent_span_id.to_string(), "00f067aa0ba902b7");
        assert_eq!(span.status, Status::Unset);
        let expected = ["sandbox.name=demo", "sandbox.namespace=team", "agents.x-k8s.io/created-by=unknown"];
        assert_eq!(attributes(span), expected);
    }

    #[test]
    fn looks_at_an_object_that_names_no_trace_go_on_with_that_of_the_first_until_it_does() {
        let caches = caches(&json!({}));
        let spans = recording(&caches, || {
            look(&caches, Next::Settled);
            let metadata = caches.metadata::<SandboxView>(&demo()).unwrap();
            let trace = caches.memory.traces.of(Kind::Sandbox, &metadata).unwrap();
            assert!(trace.starts_with(r#"{"traceparent":"00-"#) && trace.ends_with(r#"-01"}"#), "{trace}");
            look(&caches, Next::Settled);
        });
        let [first, second] = &*spans else { panic!("{spans:?}") };
        assert_eq!(first.span_context.trace_id(), second.span_context.trace_id());
        assert_eq!(second.parent_span_id, first.span_context.span_id());
        caches.learn_gone(&Target::new(Kind::Sandbox, demo()), &Uid::from("1"));
        assert_eq!(recording(&caches, || look(&caches, Next::Settled)), [], "there is nothing to look at");
        assert_eq!(caches.memory.traces.size(), 0);
    }

    #[test]
    fn what_names_no_trace_is_passed_over_and_left_alone() {
        let zeros = r#"{"traceparent":"00-00000000000000000000000000000000-0000000000000000-01"}"#;
        for rubbish in ["rubbish", "{}", r#"{"traceparent":7}"#, r#"{"traceparent":"00-1-2-01"}"#, zeros] {
            let caches = caches(&json!({annotations::TRACE_CONTEXT: rubbish}));
            let spans = recording(&caches, || look(&caches, Next::Settled));
            assert_eq!(spans[0].parent_span_id.to_string(), "0000000000000000", "{rubbish}");
            assert_eq!(caches.memory.traces.size(), 0, "{rubbish}");
        }
    }

    #[test]
    fn a_look_that_fails_or_is_cut_short_says_so() {
        let caches = caches(&json!({}));
        let spans = recording(&caches, || {
            look(&caches, Next::Retry);
            let failing = Look::at::<SandboxView>(&demo(), &caches);
            failing.span().in_scope(|| failed("no room"));
            failing.end(Next::Retry);
            drop(Look::at::<SandboxView>(&demo(), &caches));
        });
        let statuses = spans.iter().map(|span| span.status.clone()).collect::<Vec<_>>();
        let cut = "cut short: this operator ends, or no longer leads";
        assert_eq!(statuses, [Status::error(""), Status::error("no room"), Status::error(cut)]);
        let event = &spans[1].events[0];
        assert_eq!(event.name, "exception");
        assert!(event.attributes.iter().any(|attribute| attribute.value.as_str() == "no room"), "{event:?}");
    }

    #[test]
    fn a_write_is_a_call_of_somebody_else() {
        let target = Target::new(Kind::Sandbox, demo());
        let patch = Write::Patch {
            target,
            part: Written::Status,
            lock: asb_core::write::Lock::Uid(Uid::from("1")),
            body: json!({}),
        };
        let spans = otlp::recording(|| drop(write(&patch)));
        assert_eq!(
            (spans[0].name.as_ref(), &spans[0].span_kind),
            ("patch sandboxes/status", &SpanKind::Client)
        );
        assert_eq!(attributes(&spans[0]), ["object.name=demo", "object.namespace=team"]);
    }
}
