//! The objects to try, by kind and version. What should become of them stands in the snapshots.

use serde_json::{Value, json};

pub(crate) struct Case {
    pub name: &'static str,
    pub object: Value,
}

/// An object of a kind whose spec is the only thing that matters.
fn of(api_version: &str, kind: &str, cases: Vec<(&'static str, Value)>) -> Vec<Case> {
    let object = |name: &str, spec: Value| {
        let name = name.replace([' ', ',', '\''], "-").to_lowercase();
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
        if !spec.is_null() {
            object["spec"] = spec;
        }
        object
    };
    cases.into_iter().map(|(name, spec)| Case { name, object: object(name, spec) }).collect()
}

fn sandboxes(version: &str, cases: Vec<(&'static str, Value)>) -> Vec<Case> {
    of(&format!("agents.x-k8s.io/{version}"), "Sandbox", cases)
}

fn extensions(kind: &str, version: &str, cases: Vec<(&'static str, Value)>) -> Vec<Case> {
    of(&format!("extensions.agents.x-k8s.io/{version}"), kind, cases)
}

/// The smallest podTemplate.
fn pod() -> Value {
    json!({"spec": {"containers": [{"name": "main"}]}})
}

/// A spec with the smallest podTemplate and these fields.
fn with_pod(fields: Value) -> Value {
    let mut spec = json!({"podTemplate": pod()});
    spec.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
    spec
}

pub(crate) fn sandbox_v1beta1() -> Vec<Case> {
    let volume = json!({"metadata": {"name": "work", "labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"]}});
    sandboxes(
        "v1beta1",
        vec![
            ("the smallest", with_pod(json!({}))),
            (
                "every field",
                with_pod(json!({
                    "volumeClaimTemplates": [volume], "service": true, "shutdownTime": "2030-01-02T03:04:05Z",
                    "shutdownPolicy": "Delete", "operatingMode": "Suspended",
                })),
            ),
            ("no spec", Value::Null),
            ("an empty spec", json!({})),
            ("an unknown mode", with_pod(json!({"operatingMode": "Paused"}))),
            ("a null mode takes the default", with_pod(json!({"operatingMode": null}))),
            ("a policy only claims have", with_pod(json!({"shutdownPolicy": "DeleteForeground"}))),
            ("a time that is none", with_pod(json!({"shutdownTime": "tomorrow"}))),
            ("a service that is text", with_pod(json!({"service": "yes"}))),
            ("service false", with_pod(json!({"service": false}))),
            (
                "a volume without a spec",
                with_pod(json!({"volumeClaimTemplates": [{"metadata": {"name": "work"}}]})),
            ),
            ("a volume without a name", with_pod(json!({"volumeClaimTemplates": [{"spec": {}}]}))),
            (
                "a volume of a size that is none",
                with_pod(json!({
                    "volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "lots"}}}}],
                })),
            ),
            ("replicas are not of this version", with_pod(json!({"replicas": 1}))),
            ("a field nobody knows", with_pod(json!({"colour": "red"}))),
        ],
    )
}

pub(crate) fn sandbox_v1alpha1() -> Vec<Case> {
    sandboxes(
        "v1alpha1",
        vec![
            ("the smallest", with_pod(json!({}))),
            ("no replicas", with_pod(json!({"replicas": 0}))),
            ("two replicas", with_pod(json!({"replicas": 2}))),
            ("less than no replicas", with_pod(json!({"replicas": -1}))),
            ("half a replica", with_pod(json!({"replicas": 0.5}))),
            ("a mode is not of this version", with_pod(json!({"operatingMode": "Suspended"}))),
            ("no podTemplate", json!({"replicas": 1})),
        ],
    )
}

/// Kubernetes' own schemas inside ours, on Sandbox v1beta1.
pub(crate) fn pod_template() -> Vec<Case> {
    let pod_spec = |fields: Value| {
        let mut spec = json!({"containers": [{"name": "main"}]});
        spec.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        json!({"podTemplate": {"spec": spec}})
    };
    let container = |fields: Value| {
        let mut container = json!({"name": "main"});
        container.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        json!({"podTemplate": {"spec": {"containers": [container]}}})
    };
    sandboxes(
        "v1beta1",
        vec![
            ("no pod spec", json!({"podTemplate": {"metadata": {"labels": {"a": "b"}}}})),
            ("no containers", json!({"podTemplate": {"spec": {}}})),
            ("null containers", json!({"podTemplate": {"spec": {"containers": null}}})),
            (
                "a container without a name",
                json!({"podTemplate": {"spec": {"containers": [{"image": "busybox"}]}}}),
            ),
            (
                "two containers of one name",
                json!({"podTemplate": {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}}),
            ),
            ("a port takes TCP", container(json!({"ports": [{"containerPort": 80}]}))),
            (
                "one port twice",
                container(
                    json!({"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]}),
                ),
            ),
            (
                "one port of two protocols",
                container(
                    json!({"ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}]}),
                ),
            ),
            (
                "one variable twice",
                container(json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]})),
            ),
            (
                "one mount path twice",
                container(
                    json!({"volumeMounts": [{"name": "a", "mountPath": "/x"}, {"name": "b", "mountPath": "/x"}]}),
                ),
            ),
            (
                "quantities as number and text",
                container(json!({"resources": {"limits": {"cpu": 2, "memory": "1.5Gi"}}})),
            ),
            ("a quantity that is none", container(json!({"resources": {"limits": {"memory": "1.5 gigs"}}}))),
            (
                "probe ports as number and name",
                container(json!({
                    "livenessProbe": {"httpGet": {"port": 80}}, "readinessProbe": {"httpGet": {"port": "web"}},
                })),
            ),
            ("a gRPC probe names no service", container(json!({"livenessProbe": {"grpc": {"port": 9000}}}))),
            (
                "a secret reference without a name",
                container(json!({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}}]})),
            ),
            (
                "a file reference is not optional",
                container(json!({
                    "env": [{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}}],
                })),
            ),
            ("an image pull secret without a name", pod_spec(json!({"imagePullSecrets": [{}]}))),
            (
                "defaults of old volume kinds",
                pod_spec(json!({"volumes": [
                    {"name": "a", "azureDisk": {"diskName": "d", "diskURI": "u"}},
                    {"name": "i", "iscsi": {"targetPortal": "p", "iqn": "q", "lun": 0}},
                    {"name": "r", "rbd": {"monitors": ["m"], "image": "i"}},
                    {"name": "s", "scaleIO": {"gateway": "g", "system": "s", "secretRef": {}}},
                ]})),
            ),
            (
                "labels of an ephemeral volume's claim",
                pod_spec(json!({"volumes": [{"name": "a", "ephemeral": {
                    "volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"]}},
                }}]})),
            ),
            (
                "newer fields",
                pod_spec(json!({
                    "hostnameOverride": "h", "resources": {"limits": {"cpu": "1"}}, "schedulingGates": [{"name": "g"}],
                    "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}], "runtimeClassName": "gvisor",
                })),
            ),
            (
                "a native sidecar",
                pod_spec(json!({"initContainers": [{"name": "proxy", "restartPolicy": "Always"}]})),
            ),
            ("a pod field nobody knows", pod_spec(json!({"colour": "red"}))),
            (
                "metadata beyond labels and annotations",
                json!({"podTemplate": {
                    "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "name": "n", "finalizers": ["f"]},
                    "spec": {"containers": [{"name": "main"}]},
                }}),
            ),
            (
                "a label that is a number",
                json!({"podTemplate": {"metadata": {"labels": {"a": 1}}, "spec": {"containers": [{"name": "main"}]}}}),
            ),
        ],
    )
}

pub(crate) fn sandbox_template_v1beta1() -> Vec<Case> {
    extensions(
        "SandboxTemplate",
        "v1beta1",
        vec![
            ("the smallest", with_pod(json!({}))),
            ("no podTemplate", json!({})),
            ("a policy that denies all", with_pod(json!({"networkPolicy": {}}))),
            (
                "rules as in a NetworkPolicy",
                with_pod(json!({"networkPolicy": {
                    "ingress": [{"from": [{"podSelector": {"matchLabels": {"a": "b"}}}], "ports": [{"port": 80}, {"port": "web"}]}],
                    "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}]}],
                }})),
            ),
            (
                "an address block without addresses",
                with_pod(json!({"networkPolicy": {"egress": [{"to": [{"ipBlock": {}}]}]}})),
            ),
            ("an unknown management", with_pod(json!({"networkPolicyManagement": "Sometimes"}))),
            ("an unknown env policy", with_pod(json!({"envVarsInjectionPolicy": "Maybe"}))),
            ("an unknown volume policy", with_pod(json!({"volumeClaimTemplatesPolicy": "Maybe"}))),
            (
                "every policy",
                with_pod(json!({
                    "networkPolicyManagement": "Unmanaged", "envVarsInjectionPolicy": "Overrides", "volumeClaimTemplatesPolicy": "Allowed",
                })),
            ),
        ],
    )
}

pub(crate) fn sandbox_template_v1alpha1() -> Vec<Case> {
    extensions(
        "SandboxTemplate",
        "v1alpha1",
        vec![
            ("the smallest", with_pod(json!({}))),
            (
                "the volume policy is not of this version",
                with_pod(json!({"volumeClaimTemplatesPolicy": "Allowed"})),
            ),
            ("an unknown env policy", with_pod(json!({"envVarsInjectionPolicy": "Maybe"}))),
        ],
    )
}

pub(crate) fn sandbox_claim_v1beta1() -> Vec<Case> {
    let claim = |fields: Value| {
        let mut spec = json!({"warmPoolRef": {"name": "pool"}});
        spec.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        spec
    };
    extensions(
        "SandboxClaim",
        "v1beta1",
        vec![
            ("the smallest", claim(json!({}))),
            (
                "every field",
                claim(json!({
                    "lifecycle": {"shutdownTime": "2030-01-02T03:04:05Z", "ttlSecondsAfterFinished": 0, "shutdownPolicy": "DeleteForeground"},
                    "additionalPodMetadata": {"labels": {"sandbox.users.io/a": "b"}, "annotations": {"c": "d"}},
                    "env": [{"name": "A", "value": "1", "containerName": "main"}, {"name": "A", "value": "2"}],
                    "volumeClaimTemplates": [{"metadata": {"name": "work"}, "spec": {"accessModes": ["ReadWriteOnce"]}}],
                })),
            ),
            ("no pool", json!({})),
            ("a pool without a name", json!({"warmPoolRef": {}})),
            ("a pool of an empty name", json!({"warmPoolRef": {"name": ""}})),
            ("a lifecycle keeps by default", claim(json!({"lifecycle": {}}))),
            ("a time to live below zero", claim(json!({"lifecycle": {"ttlSecondsAfterFinished": -1}}))),
            ("a time that is none", claim(json!({"lifecycle": {"shutdownTime": "soon"}}))),
            ("an unknown policy", claim(json!({"lifecycle": {"shutdownPolicy": "Keep"}}))),
            ("a variable without a value", claim(json!({"env": [{"name": "A"}]}))),
            ("a variable without a name", claim(json!({"env": [{"value": "1"}]}))),
            ("a template is not of this version", claim(json!({"sandboxTemplateRef": {"name": "t"}}))),
        ],
    )
}

pub(crate) fn sandbox_claim_v1alpha1() -> Vec<Case> {
    extensions(
        "SandboxClaim",
        "v1alpha1",
        vec![
            ("the smallest", json!({"sandboxTemplateRef": {"name": "t"}})),
            ("no warm pool", json!({"sandboxTemplateRef": {"name": "t"}, "warmpool": "none"})),
            ("no template", json!({"warmpool": "pool"})),
            ("a template without a name", json!({"sandboxTemplateRef": {}})),
            (
                "volumes are not of this version",
                json!({"sandboxTemplateRef": {"name": "t"}, "volumeClaimTemplates": [{"spec": {}}]}),
            ),
        ],
    )
}

pub(crate) fn sandbox_warm_pool_v1beta1() -> Vec<Case> {
    let pool = |fields: Value| {
        let mut spec = json!({"sandboxTemplateRef": {"name": "t"}});
        spec.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        spec
    };
    extensions(
        "SandboxWarmPool",
        "v1beta1",
        vec![
            ("the smallest", pool(json!({}))),
            ("an empty pool", pool(json!({"replicas": 0}))),
            ("less than nothing", pool(json!({"replicas": -1}))),
            ("more than a number holds", pool(json!({"replicas": 3_000_000_000_u64}))),
            ("no template", json!({"replicas": 1})),
            ("a strategy of no type", pool(json!({"updateStrategy": {}}))),
            ("a strategy", pool(json!({"updateStrategy": {"type": "Recreate"}}))),
            ("an unknown strategy", pool(json!({"updateStrategy": {"type": "RollingUpdate"}}))),
        ],
    )
}

pub(crate) fn sandbox_warm_pool_v1alpha1() -> Vec<Case> {
    extensions(
        "SandboxWarmPool",
        "v1alpha1",
        vec![
            ("the smallest", json!({"replicas": 2, "sandboxTemplateRef": {"name": "t"}})),
            ("replicas have no default here", json!({"sandboxTemplateRef": {"name": "t"}})),
            ("less than nothing", json!({"replicas": -1, "sandboxTemplateRef": {"name": "t"}})),
        ],
    )
}
