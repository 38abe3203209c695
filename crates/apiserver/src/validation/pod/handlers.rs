//! What is run or asked in a container: probes, and hooks of its life.

use serde_json::Value;

use super::super::at::At;
use super::Context;
use crate::names;

/// What a handler can be, in the order in which Kubernetes looks.
const OF_PROBES: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];
const OF_LIFE: [&str; 4] = ["exec", "httpGet", "tcpSocket", "sleep"];
#[rustfmt::skip]
const SIGNALS: [&str; 65] = [
    "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO",
    "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMAX-1",
    "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3",
    "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6", "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1",
    "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2",
    "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", "SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV",
    "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1",
    "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ",
];

pub(super) fn probes(container: &At, context: &Context) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.field(name).given() else { continue };
        self::probe(&probe, context);
        let (threshold, grace) =
            (probe.field("successThreshold"), probe.field("terminationGracePeriodSeconds"));
        if name != "readinessProbe" && threshold.integer() != 1 {
            threshold.invalid(threshold.integer(), "must be 1");
        }
        if name == "readinessProbe" && grace.exists() {
            grace.invalid(grace.value.clone(), "must not be set for readinessProbes");
        }
    }
}

fn probe(probe: &At, context: &Context) {
    handler(probe, &OF_PROBES, context);
    let numbers =
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
    for name in numbers {
        probe.field(name).must_not_be_negative();
    }
    let grace = probe.field("terminationGracePeriodSeconds");
    if grace.exists() && grace.integer() <= 0 {
        grace.invalid(grace.integer(), "must be greater than 0");
    }
}

pub(super) fn lifecycle(lifecycle: &At, context: &Context) {
    for name in ["postStart", "preStop"] {
        if let Some(hook) = lifecycle.field(name).given() {
            handler(&hook, &OF_LIFE, context);
        }
    }
    if let Some(signal) = lifecycle.field("stopSignal").given() {
        match context.operating_system {
            None => signal.forbidden("may not be set for containers with empty `spec.os.name`"),
            Some("windows") => signal.must_be_one_of(&["SIGKILL", "SIGTERM"]),
            Some("linux") => signal.must_be_one_of(&SIGNALS),
            Some(_) => {}
        }
    }
}

fn handler(handler: &At, kinds: &[&str], context: &Context) {
    let mut found = false;
    for kind in kinds {
        let Some(action) = handler.field(kind).given() else { continue };
        if found {
            action.forbidden("may not specify more than 1 handler type");
        } else {
            self::action(&action, kind, context);
        }
        found = true;
    }
    if !found {
        handler.required("must specify a handler type");
    }
}

fn action(action: &At, kind: &str, context: &Context) {
    match kind {
        "exec" if action.field("command").is_empty() => action.field("command").required(""),
        "httpGet" => http_get(action),
        "tcpSocket" => port(&action.field("port")),
        "grpc" => action.field("port").must_be_a_port(),
        "sleep" => sleep(action, context.grace_period),
        _ => {}
    }
}

fn http_get(action: &At) {
    action.field("path").must_be_given();
    port(&action.field("port"));
    action.field("scheme").must_be_one_of(&["HTTP", "HTTPS"]);
    let headers = action.field("httpHeaders");
    for header in headers.items() {
        let name = header.text_of("name");
        headers.must_hold(name, names::header_name);
    }
}

fn sleep(action: &At, grace_period: Option<i64>) {
    let seconds = action.integer_of("seconds");
    if let Some(grace) = grace_period.filter(|grace| !(0..=*grace).contains(&seconds)) {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        action.invalid(seconds, detail);
    }
}

/// A port, by number or by name.
pub(in super::super) fn port(port: &At) {
    match port.value {
        Value::String(_) => port.must(names::port_name),
        _ => port.must_be_a_port(),
    }
}
