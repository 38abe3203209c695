//! The spec itself, and what it says of names and of the network.

use super::super::kind::{allowed, holding, honoured, kind, only, refused};
use super::super::{Allowance, Kind};

pub(super) const KINDS: &[Kind] = &[
    kind(
        "PodSpec",
        &[
            honoured("activeDeadlineSeconds", "the Pod fails with DeadlineExceeded"),
            holding("affinity", "Affinity", "the one node fits or the Pod stays Pending"),
            honoured("automountServiceAccountToken", "false mounts no token"),
            holding("containers", "Container", "run in the Pod's sandbox"),
            holding("dnsConfig", "PodDNSConfig", "merged into /etc/resolv.conf"),
            only(
                "dnsPolicy",
                &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
                "no such policy",
            ),
            honoured("enableServiceLinks", "false leaves out the variables of Services"),
            refused(
                "ephemeralContainers",
                "containers cannot be added to a running Pod; exec into one instead",
            ),
            holding("hostAliases", "HostAlias", "lines of /etc/hosts"),
            allowed(
                "hostIPC",
                &["false"],
                Allowance::HostIpc,
                "it shares the host's shared memory and queues",
            ),
            allowed("hostNetwork", &["false"], Allowance::HostNetwork, "it shares the host's network"),
            only(
                "hostPID",
                &["false"],
                "a Pod has users of its own here, to whom the host's processes are nobody's",
            ),
            only(
                "hostUsers",
                &["false"],
                "root of the Pod would be root of the host; unset means false here",
            ),
            honoured("hostname", "the host name, and the Pod's own line of /etc/hosts"),
            honoured("hostnameOverride", "the host name, before every other"),
            holding("imagePullSecrets", "LocalObjectReference", "credentials for registries"),
            holding("initContainers", "Container", "run in order; sidecars with restartPolicy Always"),
            honoured("nodeName", "a Pod that names this node is run without the scheduler"),
            honoured("nodeSelector", "the node has the labels or the Pod stays Pending"),
            holding("os", "PodOS", "must be linux"),
            honoured("overhead", "added to the Pod's requests and cgroup"),
            only("preemptionPolicy", &["PreemptLowerPriority", "Never"], "no such policy"),
            honoured("priority", "orders the queue, and Pods of less priority make room"),
            honoured("priorityClassName", "the API server makes the priority of it"),
            holding("readinessGates", "PodReadinessGate", "conditions that Ready waits for"),
            refused("resourceClaims", "there are no drivers for dynamically allocated devices on this node"),
            holding("resources", "ResourceRequirements", "limits of the Pod's cgroup, and what is scheduled"),
            only("restartPolicy", &["Always", "OnFailure", "Never"], "no such policy"),
            honoured("runtimeClassName", "the runtime that its handler names"),
            honoured("schedulerName", "a Pod of another scheduler is left to it"),
            holding("schedulingGates", "PodSchedulingGate", "the Pod waits until all are taken off"),
            refused("schedulingGroup", "Pods are not scheduled in groups"),
            holding("securityContext", "PodSecurityContext", "the default of all containers"),
            honoured("serviceAccount", "the older name of serviceAccountName"),
            honoured("serviceAccountName", "whose token is mounted"),
            honoured("setHostnameAsFQDN", "the host name with its domain"),
            honoured("shareProcessNamespace", "the containers see each other's processes"),
            honoured("subdomain", "the domain of a headless Service"),
            honoured("terminationGracePeriodSeconds", "the time from the first signal to the kill"),
            holding("tolerations", "Toleration", "taints of the node that do not keep the Pod away"),
            holding("topologySpreadConstraints", "TopologySpreadConstraint", "as it applies to one node"),
            holding("volumes", "Volume", "directories made for the Pod"),
        ],
    ),
    kind("LocalObjectReference", &[honoured("name", "read in the Pod's namespace")]),
    kind("PodOS", &[only("name", &["linux"], "this node runs Linux")]),
    kind("PodReadinessGate", &[honoured("conditionType", "must be True for the Pod to be Ready")]),
    kind("PodSchedulingGate", &[honoured("name", "told by the reason SchedulingGated")]),
    kind("HostAlias", &[honoured("hostnames", "names of the line"), honoured("ip", "address of the line")]),
    kind(
        "PodDNSConfig",
        &[
            honoured("nameservers", "added, or alone with dnsPolicy None"),
            holding("options", "PodDNSConfigOption", "merged by name"),
            honoured("searches", "added"),
        ],
    ),
    kind(
        "PodDNSConfigOption",
        &[honoured("name", "name of the option"), honoured("value", "its value, after a colon")],
    ),
    kind(
        "ResourceRequirements",
        &[
            refused("claims", "there are no drivers for dynamically allocated devices on this node"),
            honoured("limits", "cpu, memory and ephemeral-storage; others as the node offers them"),
            honoured("requests", "what the scheduler counts; cpu also as weight"),
        ],
    ),
];
