//! Where a Pod may run. Preferences order nodes, so with one node they are met by binding to it.

use super::super::Kind;
use super::super::kind::{holding, honoured, kind, only};

pub(super) const KINDS: &[Kind] = &[
    kind(
        "Affinity",
        &[
            holding("nodeAffinity", "NodeAffinity", "to labels and fields of the node"),
            holding("podAffinity", "PodAffinity", "to Pods on the node"),
            holding("podAntiAffinity", "PodAntiAffinity", "away from Pods on the node"),
        ],
    ),
    kind(
        "NodeAffinity",
        &[
            holding(
                "preferredDuringSchedulingIgnoredDuringExecution",
                "PreferredSchedulingTerm",
                "orders nodes, of which there is one",
            ),
            holding(
                "requiredDuringSchedulingIgnoredDuringExecution",
                "NodeSelector",
                "or the Pod stays Pending",
            ),
        ],
    ),
    kind(
        "PreferredSchedulingTerm",
        &[
            holding("preference", "NodeSelectorTerm", "orders nodes, of which there is one"),
            honoured("weight", "orders nodes, of which there is one"),
        ],
    ),
    kind("NodeSelector", &[holding("nodeSelectorTerms", "NodeSelectorTerm", "one of them must match")]),
    kind(
        "NodeSelectorTerm",
        &[
            holding("matchExpressions", "NodeSelectorRequirement", "of labels"),
            holding("matchFields", "NodeSelectorRequirement", "of metadata.name"),
        ],
    ),
    kind(
        "NodeSelectorRequirement",
        &[
            honoured("key", "a label or metadata.name"),
            only("operator", &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"], "no such operator"),
            honoured("values", "as the operator asks"),
        ],
    ),
    kind("PodAffinity", POD_AFFINITY),
    kind("PodAntiAffinity", POD_AFFINITY),
    kind(
        "WeightedPodAffinityTerm",
        &[
            holding("podAffinityTerm", "PodAffinityTerm", "orders nodes, of which there is one"),
            honoured("weight", "orders nodes, of which there is one"),
        ],
    ),
    kind(
        "PodAffinityTerm",
        &[
            holding("labelSelector", "LabelSelector", "which Pods"),
            honoured("matchLabelKeys", "labels of the Pod itself that others must have too"),
            honoured("mismatchLabelKeys", "labels of the Pod itself that others must not have"),
            holding("namespaceSelector", "LabelSelector", "which namespaces"),
            honoured("namespaces", "which namespaces"),
            honoured("topologyKey", "a label that the node must have"),
        ],
    ),
    kind(
        "LabelSelector",
        &[
            holding("matchExpressions", "LabelSelectorRequirement", "all must hold"),
            honoured("matchLabels", "all must be equal"),
        ],
    ),
    kind(
        "LabelSelectorRequirement",
        &[
            honoured("key", "a label"),
            only("operator", &["In", "NotIn", "Exists", "DoesNotExist"], "no such operator"),
            honoured("values", "as the operator asks"),
        ],
    ),
    kind(
        "Toleration",
        &[
            only("effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], "no such effect"),
            honoured("key", "of the taint; none means all"),
            only("operator", &["Exists", "Equal"], "Kubernetes 1.36 has the gate of Lt and Gt off"),
            honoured("tolerationSeconds", "how long a NoExecute taint is borne"),
            honoured("value", "of the taint"),
        ],
    ),
    kind(
        "TopologySpreadConstraint",
        &[
            holding("labelSelector", "LabelSelector", "which Pods are counted"),
            honoured("matchLabelKeys", "labels of the Pod itself that counted Pods must have too"),
            honoured("maxSkew", "between the node's domain and none"),
            honoured("minDomains", "more than one leaves no room beyond maxSkew"),
            only("nodeAffinityPolicy", &["Honor", "Ignore"], "no such policy"),
            only("nodeTaintsPolicy", &["Honor", "Ignore"], "no such policy"),
            honoured("topologyKey", "a label that the node must have"),
            only("whenUnsatisfiable", &["DoNotSchedule", "ScheduleAnyway"], "no such choice"),
        ],
    ),
];

const POD_AFFINITY: &[super::super::Field] = &[
    holding(
        "preferredDuringSchedulingIgnoredDuringExecution",
        "WeightedPodAffinityTerm",
        "orders nodes, of which there is one",
    ),
    holding("requiredDuringSchedulingIgnoredDuringExecution", "PodAffinityTerm", "or the Pod stays Pending"),
];
