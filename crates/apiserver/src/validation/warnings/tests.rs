//! Objects that are in order, and what is remarked about them. The differential suite holds the same against a real server.

use serde_json::json;

use super::*;

fn of(kind: (&str, &str), subresource: Option<&str>, object: &Value, old: Option<&Value>) -> Vec<String> {
    warnings(&GroupKind::new(kind.0, kind.1), subresource, object, old)
}

fn of_pod(spec: &Value) -> Vec<String> {
    of(("", "Pod"), None, &json!({"metadata": {"name": "one"}, "spec": spec}), None)
}

#[test]
fn a_pod_that_nothing_is_wrong_with_is_not_remarked_on() {
    assert_eq!(of_pod(&json!({"containers": [{"name": "a", "ports": [{"containerPort": 80}]}]})), [""; 0]);
}

#[test]
fn labels_of_nodes_that_are_deprecated_are_named_wherever_they_choose() {
    let term = json!({"matchExpressions": [{"key": "beta.kubernetes.io/arch", "values": ["a b"]}]});
    let spec = json!({
        "nodeSelector": {"beta.kubernetes.io/os": "linux"},
        "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"preference": term}],
        }},
        "topologySpreadConstraints": [{"topologyKey": "node-role.kubernetes.io/master"}],
    });
    insta::assert_debug_snapshot!(of_pod(&spec));
}

#[test]
fn ports_and_variables_that_hide_each_other_are_named() {
    let spec = json!({"containers": [
        {
            "name": "a",
            "ports": [{"name": "web", "containerPort": 80, "protocol": "TCP"}, {"containerPort": 81, "hostIP": "1.1.1.1"}],
            "env": [{"name": "A", "value": "x"}, {"name": "A", "value": "$(A)y"}, {"name": "A", "value": "z"}],
            "resources": {"requests": {"memory": "1500m"}},
        },
        {"name": "b", "ports": [
            {"name": "web", "containerPort": 80, "protocol": "TCP"},
            {"containerPort": 80, "protocol": "TCP", "hostPort": 8080},
            {"containerPort": 80, "protocol": "TCP", "hostPort": 8080, "hostIP": "1.1.1.1"},
        ]},
    ]});
    insta::assert_debug_snapshot!(of_pod(&spec));
}

#[test]
fn volumes_that_are_no_more_and_files_over_files_are_named() {
    let items = json!([{"path": "a"}, {"path": "a/b"}, {"path": "c/"}, {"path": "c"}, {"path": ""}]);
    let spec = json!({"volumes": [
        {"name": "git", "gitRepo": {}},
        {"name": "map", "configMap": {"name": "m", "items": items}},
        {"name": "all", "projected": {"sources": [
            {"secret": {"name": "s", "items": [{"path": "token"}]}}, {}, {"serviceAccountToken": {"path": "token"}},
        ]}},
        {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1m"}}}}}},
    ]});
    insta::assert_debug_snapshot!(of_pod(&spec));
}

#[test]
fn the_rest_of_a_pod_is_looked_at() {
    let pod = json!({
        "metadata": {"name": "one.two", "annotations": {
            "scheduler.alpha.kubernetes.io/critical-pod": "", "seccomp.security.alpha.kubernetes.io/pod": "x",
            "container.seccomp.security.alpha.kubernetes.io/a": "x",
        }},
        "spec": {
            "hostAliases": [{"ip": "::FFFF"}, {"ip": "::FFFF"}], "imagePullSecrets": [{}],
            "overhead": {"memory": "1m"}, "terminationGracePeriodSeconds": -1,
            "dnsConfig": {"nameservers": ["010.0.0.1", "::ffff:1.2.3.4"]}, "containers": [{"name": "a"}],
            "affinity": {"podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{}],
                "preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": {}}],
            }},
        },
    });
    insta::assert_debug_snapshot!(of(("", "Pod"), None, &pod, None));
    assert_eq!(of(("", "Pod"), None, &pod, Some(&pod)), [""; 0], "people do not change Pods");
}

#[test]
fn a_service_hears_what_is_ignored() {
    let service = |spec: Value| of(("", "Service"), None, &json!({"spec": spec}), None);
    insta::assert_debug_snapshot!([
        service(
            json!({"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "ClientIP", "externalIPs": ["1.1.1.1"]})
        ),
        service(json!({
            "type": "LoadBalancer", "clusterIP": "FE80::1", "clusterIPs": ["FE80::1"], "externalIPs": ["01.1.1.1"],
            "externalName": "a", "loadBalancerSourceRanges": ["10.0.0.1/8", "FE80::/64", "010.0.0.0/8"],
            "trafficDistribution": "PreferClose",
        })),
    ]);
}

#[test]
fn other_kinds_hear_of_what_is_deprecated() {
    let annotated = json!({
        "metadata": {"annotations": {
            "volume.beta.kubernetes.io/storage-class": "a", "kubernetes.io/enforce-mountable-secrets": "true",
        }},
        "spec": {"persistentVolumeReclaimPolicy": "Recycle", "rbd": {}, "externalID": "a", "configSource": {}},
        "subsets": [{"addresses": [{"ip": "01.1.1.1"}]}], "addressType": "FQDN",
        "scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "beta.kubernetes.io/os"}]}],
    });
    let kinds = [
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("", "Node"),
        ("", "ServiceAccount"),
        ("", "Endpoints"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("node.k8s.io", "RuntimeClass"),
        ("storage.k8s.io", "StorageClass"),
    ];
    insta::assert_debug_snapshot!(kinds.map(|kind| (kind.1, of(kind, None, &annotated, None))));
    assert_eq!(of(("", "ServiceAccount"), None, &annotated, Some(&annotated)), [""; 0]);
}

#[test]
fn a_status_is_only_looked_at_for_its_addresses() {
    let pod = json!({"metadata": {"name": "a.b"}, "status": {"podIPs": [{"ip": "01.1.1.1"}]}});
    let expected = "status.podIPs[0].ip: non-standard IP address \"01.1.1.1\" is invalid: use \"1.1.1.1\"";
    assert_eq!(of(("", "Pod"), Some("status"), &pod, Some(&pod)), [expected]);
    assert_eq!(of(("", "Pod"), Some("binding"), &pod, None), [""; 0]);
}
