//! Defaults of containers of all three sorts: init, regular and ephemeral.

use serde_json::Value;

use super::rule::Constant::{Flag, Number, Text};
use super::rule::{self, Rule, missing, unsaid};
use super::{image, text};

/// Where a Pod has its containers.
pub(super) const LISTS: [&str; 3] =
    ["spec.initContainers[]", "spec.containers[]", "spec.ephemeralContainers[]"];

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HOOKS: [&str; 2] = ["lifecycle.postStart.httpGet", "lifecycle.preStop.httpGet"];

const CONTAINER: &[Rule] = &[
    unsaid("", "terminationMessagePath", Text("/dev/termination-log")),
    unsaid("", "terminationMessagePolicy", Text("File")),
    unsaid("ports[]", "protocol", Text("TCP")),
    unsaid("env[].valueFrom.fieldRef", "apiVersion", Text("v1")),
    missing("env[].valueFrom.fileKeyRef", "optional", Flag(false)),
];

const PROBE: &[Rule] = &[
    unsaid("", "timeoutSeconds", Number(1)),
    unsaid("", "periodSeconds", Number(10)),
    unsaid("", "successThreshold", Number(1)),
    unsaid("", "failureThreshold", Number(3)),
    missing("grpc", "service", Text("")),
];

const HTTP_GET: &[Rule] = &[unsaid("", "path", Text("/")), unsaid("", "scheme", Text("HTTP"))];

pub(super) fn apply(pod: &mut Value) {
    for list in LISTS {
        rule::apply(pod, list, CONTAINER);
        for probe in PROBES {
            rule::apply(pod, &format!("{list}.{probe}"), PROBE);
            rule::apply(pod, &format!("{list}.{probe}.httpGet"), HTTP_GET);
        }
        for hook in HOOKS {
            rule::apply(pod, &format!("{list}.{hook}"), HTTP_GET);
        }
        rule::each(pod, list, &mut |container| image::default_policy(container, "image", "imagePullPolicy"));
    }
}

/// On the network of the host, a container's port is a port of the host.
pub(super) fn open_host_ports(pod: &mut Value) {
    if pod["spec"]["hostNetwork"] != true {
        return;
    }
    for list in ["spec.initContainers[].ports[]", "spec.containers[].ports[]"] {
        rule::each(pod, list, &mut |port| {
            let unsaid = port.get("hostPort").is_none_or(rule::is_zero);
            if let (true, Some(number)) = (unsaid, port.get("containerPort").filter(|it| it.is_i64())) {
                let number = number.clone();
                port.insert("hostPort".into(), number);
            }
        });
    }
}

/// The container that restarts while the Pod lives although it is among the init containers.
pub(super) fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}
