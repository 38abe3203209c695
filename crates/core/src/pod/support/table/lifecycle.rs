//! Hooks and probes.

use super::super::kind::{holding, honoured, kind, only, refused};
use super::super::{Field, Kind};

const HOST: &str = "the node would connect wherever it says; requests go to the Pod's own address";

pub(super) const KINDS: &[Kind] = &[
    kind(
        "Lifecycle",
        &[
            holding("postStart", "LifecycleHandler", "a failure restarts the container"),
            holding("preStop", "LifecycleHandler", "within the grace, before the signal"),
            refused(
                "stopSignal",
                "Kubernetes 1.36 has its gate off: the API server drops the field, and the signal is the image's or SIGTERM",
            ),
        ],
    ),
    kind(
        "LifecycleHandler",
        &[
            EXEC,
            HTTP_GET,
            holding("sleep", "SleepAction", "waits"),
            refused("tcpSocket", "Kubernetes runs nothing for it; use exec, httpGet or sleep"),
        ],
    ),
    kind("SleepAction", &[honoured("seconds", "how long")]),
    kind(
        "Probe",
        &[
            EXEC,
            honoured("failureThreshold", "failures in a row that count"),
            holding("grpc", "GRPCAction", "the health service, answering SERVING"),
            HTTP_GET,
            honoured("initialDelaySeconds", "from the start of the container"),
            honoured("periodSeconds", "from one probe to the next"),
            honoured("successThreshold", "successes in a row that count"),
            holding("tcpSocket", "TCPSocketAction", "a connection"),
            honoured("terminationGracePeriodSeconds", "instead of the Pod's, when the probe has failed"),
            honoured("timeoutSeconds", "a probe that takes longer has failed"),
        ],
    ),
    kind("ExecAction", &[honoured("command", "run in the container, without a shell; 0 is success")]),
    kind(
        "GRPCAction",
        &[honoured("port", "on the Pod's address"), honoured("service", "named in the request")],
    ),
    kind(
        "HTTPGetAction",
        &[
            refused("host", HOST),
            holding("httpHeaders", "HTTPHeader", "sent along; Host too"),
            honoured("path", "asked for; 200 to 399 is success"),
            honoured("port", "on the Pod's address, by number or name"),
            only("scheme", &["HTTP", "HTTPS"], "no such scheme"),
        ],
    ),
    kind("HTTPHeader", &[honoured("name", "of the header"), honoured("value", "of the header")]),
    kind(
        "TCPSocketAction",
        &[refused("host", HOST), honoured("port", "on the Pod's address, by number or name")],
    ),
];

const EXEC: Field = holding("exec", "ExecAction", "a command in the container");
const HTTP_GET: Field = holding("httpGet", "HTTPGetAction", "a request to the Pod");
