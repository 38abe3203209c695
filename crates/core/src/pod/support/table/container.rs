//! One container.

use super::super::kind::{allowed, holding, honoured, kind, only, refused};
use super::super::{Allowance, Kind};

pub(super) const KINDS: &[Kind] = &[
    kind(
        "Container",
        &[
            honoured("args", "instead of the image's command"),
            honoured("command", "instead of the image's entry point"),
            holding("env", "EnvVar", "with $(NAME) expanded"),
            holding("envFrom", "EnvFromSource", "all keys of a ConfigMap or Secret"),
            honoured("image", "pulled, or asb.local/host"),
            only("imagePullPolicy", &["Always", "IfNotPresent", "Never"], "no such policy"),
            holding("lifecycle", "Lifecycle", "hooks, and the signal to stop"),
            holding("livenessProbe", "Probe", "a failure restarts the container"),
            honoured("name", "tells the containers of a Pod apart"),
            holding("ports", "ContainerPort", "names for probes and Services"),
            holding("readinessProbe", "Probe", "success makes the container ready"),
            holding("resizePolicy", "ContainerResizePolicy", "resources of a running Pod cannot change"),
            holding(
                "resources",
                "ResourceRequirements",
                "limits of the container's cgroup, and what is scheduled",
            ),
            only("restartPolicy", &["Always", "OnFailure", "Never"], "no such policy"),
            holding("restartPolicyRules", "ContainerRestartRule", "before restartPolicy"),
            holding("securityContext", "SecurityContext", "before the Pod's"),
            holding("startupProbe", "Probe", "the other probes wait for it"),
            honoured("stdin", "an open standard input, for attach"),
            honoured("stdinOnce", "closed after the first attach"),
            honoured("terminationMessagePath", "read when the container has ended"),
            only("terminationMessagePolicy", &["File", "FallbackToLogsOnError"], "no such policy"),
            honoured("tty", "a terminal"),
            refused("volumeDevices", "block devices are not given to containers"),
            holding("volumeMounts", "VolumeMount", "volumes in the container"),
            honoured("workingDir", "instead of the image's"),
        ],
    ),
    kind(
        "ContainerPort",
        &[
            honoured("containerPort", "for probes and Services; all ports are open within policy"),
            allowed("hostIP", &[], Allowance::HostPorts, "addresses of the host are not forwarded to Pods"),
            allowed(
                "hostPort",
                &["0"],
                Allowance::HostPorts,
                "ports of the host are not forwarded to Pods; use a Service, or port-forward",
            ),
            honoured("name", "for probes and Services"),
            only("protocol", &["TCP", "UDP", "SCTP"], "no such protocol"),
        ],
    ),
    kind(
        "ContainerResizePolicy",
        &[
            only("resourceName", &["cpu", "memory"], "only these can be resized"),
            only(
                "restartPolicy",
                &["NotRequired"],
                "resources of a running Pod cannot be changed on this node",
            ),
        ],
    ),
    kind(
        "ContainerRestartRule",
        &[
            only("action", &["Restart"], "the containers of a Pod are not restarted together on this node"),
            holding("exitCodes", "ContainerRestartRuleOnExitCodes", "which exits it is for"),
        ],
    ),
    kind(
        "ContainerRestartRuleOnExitCodes",
        &[only("operator", &["In", "NotIn"], "no such operator"), honoured("values", "exit codes")],
    ),
    kind(
        "VolumeMount",
        &[
            honoured("mountPath", "where in the container"),
            only("mountPropagation", &["None"], "mounts are not passed between host and container"),
            honoured("name", "which volume"),
            honoured("readOnly", "cannot be written"),
            only("recursiveReadOnly", &["Disabled", "IfPossible", "Enabled"], "no such choice"),
            honoured("subPath", "a part of the volume, never outside of it"),
            honoured("subPathExpr", "the same with $(NAME) expanded"),
        ],
    ),
];
