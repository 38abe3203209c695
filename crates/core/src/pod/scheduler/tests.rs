//! The decisions of the scheduler, on a node of two processors and one gibibyte.

use serde_json::{Value, json};

use super::*;

fn node() -> Node {
    serde_json::from_value(json!({
        "metadata": {"name": "here", "labels": {"kubernetes.io/hostname": "here", "disk": "fast"}},
        "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "3"}},
    }))
    .unwrap()
}

fn pod(name: &str, spec: Value) -> Pod {
    let mut all = json!({"containers": [{"name": "c", "image": "i"}]});
    for (field, value) in spec.as_object().unwrap() {
        all[field] = value.clone();
    }
    let metadata = json!({"name": name, "namespace": "n", "uid": name, "labels": {"app": name}});
    serde_json::from_value(json!({"metadata": metadata, "spec": all})).unwrap()
}

fn asking(name: &str, cpu: &str, priority: i32) -> Pod {
    let container = json!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
    pod(name, json!({"containers": [container], "priority": priority}))
}

fn on(node: &Node, pods: &[&Pod], pod: &Pod) -> Decision {
    decide(pod, &Site { node, pods, namespaces: &BTreeMap::new() })
}

fn refusal(node: &Node, pods: &[&Pod], pod: &Pod) -> String {
    match on(node, pods, pod) {
        Decision::Unschedulable(message) => message,
        other => panic!("{other:?}"),
    }
}

const USELESS: &str = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
const NO_VICTIMS: &str =
    "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.";

#[test]
fn a_pod_that_fits_is_bound() {
    assert_eq!(on(&node(), &[], &asking("p", "2", 0)), Decision::Bind);
    assert_eq!(on(&node(), &[&asking("a", "1", 0)], &asking("p", "1", 0)), Decision::Bind);
}

#[test]
fn only_pods_that_ask_for_this_scheduler_are_looked_at() {
    let mut bound = pod("p", json!({"nodeName": "here"}));
    assert_eq!(on(&node(), &[], &bound), Decision::NotOurs);
    assert_eq!(on(&node(), &[], &pod("p", json!({"schedulerName": "mine"}))), Decision::NotOurs);
    bound.spec.as_mut().unwrap().node_name = None;
    bound.status = Some(serde_json::from_value(json!({"phase": "Failed"})).unwrap());
    assert_eq!(on(&node(), &[], &bound), Decision::NotOurs);
}

#[test]
fn gates_hold_a_pod_back() {
    let gated = pod("p", json!({"schedulingGates": [{"name": "wait"}]}));
    assert_eq!(on(&node(), &[], &gated), Decision::Gated(GATED.to_owned()));
}

#[test]
fn what_is_scarce_is_named() {
    let big = pod(
        "p",
        json!({"containers": [{"name": "c",
        "resources": {"requests": {"cpu": "3", "memory": "2Gi", "example.com/gpu": "1"}}}]}),
    );
    assert_eq!(
        refusal(&node(), &[], &big),
        format!(
            "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient example.com/gpu, 1 Insufficient memory. {USELESS}"
        )
    );
    let message = refusal(&node(), &[&asking("a", "1500m", 0)], &asking("p", "1", 0));
    assert_eq!(message, format!("0/1 nodes are available: 1 Insufficient cpu. {NO_VICTIMS}"));
}

#[test]
fn pods_are_counted_and_those_that_ended_are_not() {
    let others = ["a", "b", "c"].map(|name| pod(name, json!({})));
    let message = refusal(&node(), &others.each_ref(), &pod("p", json!({})));
    assert_eq!(message, format!("0/1 nodes are available: 1 Too many pods. {NO_VICTIMS}"));
    let mut ended = others.clone();
    ended[0].status = Some(serde_json::from_value(json!({"phase": "Succeeded"})).unwrap());
    assert_eq!(on(&node(), &ended.each_ref(), &pod("p", json!({}))), Decision::Bind);
}

#[test]
fn labels_and_affinity_choose_the_node() {
    let unselected =
        format!("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. {USELESS}");
    assert_eq!(on(&node(), &[], &pod("p", json!({"nodeSelector": {"disk": "fast"}}))), Decision::Bind);
    assert_eq!(refusal(&node(), &[], &pod("p", json!({"nodeSelector": {"disk": "slow"}}))), unselected);
    let affinity = |operator: &str| {
        let terms =
            json!([{"matchExpressions": [{"key": "disk", "operator": operator, "values": ["fast"]}]}]);
        let required =
            json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        pod("p", json!({"affinity": {"nodeAffinity": required}}))
    };
    assert_eq!(on(&node(), &[], &affinity("In")), Decision::Bind);
    assert_eq!(refusal(&node(), &[], &affinity("NotIn")), unselected);
}

#[test]
fn taints_and_cordons_keep_pods_away() {
    let mut tainted = node();
    tainted.spec =
        Some(serde_json::from_value(json!({"taints": [{"key": "k", "effect": "NoSchedule"}]})).unwrap());
    let message = refusal(&tainted, &[], &pod("p", json!({})));
    assert_eq!(message, format!("0/1 nodes are available: 1 node(s) had untolerated taint(s). {USELESS}"));
    let tolerant = pod("p", json!({"tolerations": [{"key": "k", "operator": "Exists"}]}));
    assert_eq!(on(&tainted, &[], &tolerant), Decision::Bind);
    let mut cordoned = node();
    cordoned.spec = Some(serde_json::from_value(json!({"unschedulable": true})).unwrap());
    let message = refusal(&cordoned, &[], &pod("p", json!({})));
    assert_eq!(message, format!("0/1 nodes are available: 1 node(s) were unschedulable. {USELESS}"));
}

#[test]
fn a_port_of_the_host_is_taken_once() {
    let listening = |name: &str, address: &str| {
        let ports = json!([{"containerPort": 80, "hostPort": 80, "hostIP": address}]);
        pod(name, json!({"containers": [{"name": "c", "ports": ports}]}))
    };
    let message = refusal(&node(), &[&listening("a", "")], &listening("p", "10.0.0.1"));
    assert!(message.starts_with(
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."
    ));
    assert_eq!(on(&node(), &[&listening("a", "10.0.0.2")], &listening("p", "10.0.0.1")), Decision::Bind);
}

fn affine(name: &str, kind: &str, app: &str) -> Pod {
    let term =
        json!({"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}});
    pod(name, json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}))
}

#[test]
fn pods_keep_together_and_apart_as_they_ask() {
    let (other, stranger) = (pod("a", json!({})), pod("b", json!({})));
    assert_eq!(on(&node(), &[&other], &affine("p", "podAffinity", "a")), Decision::Bind);
    let message = refusal(&node(), &[&stranger], &affine("p", "podAffinity", "a"));
    assert_eq!(
        message,
        format!("0/1 nodes are available: 1 node(s) didn't match pod affinity rules. {USELESS}")
    );
    assert_eq!(on(&node(), &[], &affine("p", "podAffinity", "p")), Decision::Bind, "the first of its kind");
    let message = refusal(&node(), &[&other], &affine("p", "podAntiAffinity", "a"));
    assert!(message.starts_with("0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."));
    let message = refusal(&node(), &[&affine("b", "podAntiAffinity", "p")], &pod("p", json!({})));
    assert!(
        message.starts_with(
            "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules."
        )
    );
}

#[test]
fn spreading_needs_the_label_and_the_domains() {
    let spread = |key: &str, domains: Value| {
        let selector = json!({"matchLabels": {"app": "p"}});
        pod(
            "p",
            json!({"topologySpreadConstraints": [{"topologyKey": key, "maxSkew": 1, "minDomains": domains,
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]}),
        )
    };
    let same = pod("p", json!({}));
    let same = Pod {
        metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
            uid: Some("q".into()),
            ..same.metadata
        },
        ..same
    };
    assert_eq!(on(&node(), &[&same], &spread("kubernetes.io/hostname", Value::Null)), Decision::Bind);
    assert!(refusal(&node(), &[], &spread("zone", Value::Null)).contains("(missing required label)"));
    assert_eq!(on(&node(), &[], &spread("kubernetes.io/hostname", json!(2))), Decision::Bind);
    let message = refusal(&node(), &[&same], &spread("kubernetes.io/hostname", json!(2)));
    assert!(
        message
            .starts_with("0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints.")
    );
}

#[test]
fn lesser_pods_make_room_and_as_few_as_will_do() {
    let (low, middle, peer) = (asking("low", "1", 1), asking("middle", "1", 5), asking("peer", "1", 10));
    let names = |pods: &[&Pod], pod: &Pod| match on(&node(), pods, pod) {
        Decision::Preempt { victims, .. } => {
            victims.into_iter().map(|victim| victim.name).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(names(&[&low, &middle], &asking("p", "1", 10)), ["low"]);
    assert_eq!(names(&[&low, &middle], &asking("p", "2", 10)), ["middle", "low"]);
    let message = refusal(&node(), &[&low, &peer], &asking("p", "2", 10));
    assert_eq!(
        message,
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu."
    );
}

#[test]
fn who_does_not_preempt_says_so() {
    let mut polite = asking("p", "2", 10);
    polite.spec.as_mut().unwrap().preemption_policy = Some("Never".to_owned());
    let message = refusal(&node(), &[&asking("low", "1", 1)], &polite);
    assert!(message.ends_with("preemption: not eligible due to preemptionPolicy=Never."));
}

#[test]
fn nobody_is_preempted_twice() {
    let mut leaving = asking("low", "1", 1);
    leaving.metadata.deletion_timestamp = Some(crate::conditions::whole_seconds(Timestamp::UNIX_EPOCH));
    let mut waiting = asking("p", "2", 10);
    waiting.status = Some(serde_json::from_value(json!({"nominatedNodeName": "here"})).unwrap());
    let message = refusal(&node(), &[&leaving], &waiting);
    assert!(message.ends_with("preemption: not eligible due to a terminating pod on the nominated node."));
}

#[test]
fn the_queue_goes_by_priority_and_then_by_time() {
    let at = |name: &str, priority: i32, second: i64| {
        let mut pod = asking(name, "1", priority);
        pod.metadata.creation_timestamp =
            Some(crate::conditions::whole_seconds(Timestamp::from_second(second).unwrap()));
        pod
    };
    let mut queue = [at("late", 0, 2), at("early", 0, 1), at("urgent", 9, 3)];
    queue.sort_by(order);
    assert_eq!(queue.map(|pod| pod.metadata.name.unwrap()), ["urgent", "early", "late"]);
}

fn rejection(pods: &[&Pod], pod: &Pod) -> Option<(String, String)> {
    let site = Site { node: &node(), pods, namespaces: &BTreeMap::new() };
    admit(pod, &[], &site).err().map(|rejection| (rejection.reason, rejection.message))
}

#[test]
fn a_pod_that_was_bound_without_asking_is_checked_once_more() {
    assert_eq!(rejection(&[], &pod("p", json!({"nodeName": "here"}))), None);
    let (reason, message) = rejection(&[&asking("a", "1500m", 0)], &asking("p", "1", 0)).unwrap();
    assert_eq!(reason, "OutOfcpu");
    assert_eq!(message, "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000");
    let (reason, message) = rejection(&[], &pod("p", json!({"nodeSelector": {"disk": "slow"}}))).unwrap();
    assert_eq!(reason, "NodeAffinity");
    assert_eq!(message, "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector");
    let others = ["a", "b", "c"].map(|name| pod(name, json!({})));
    assert_eq!(rejection(&others.each_ref(), &pod("p", json!({}))).unwrap().0, "OutOfpods");
}

#[test]
fn a_pod_that_this_node_does_not_support_is_rejected_for_all_it_asks() {
    let refusal =
        |path: &str| crate::pod::support::Refusal { path: path.to_owned(), reason: "no".to_owned() };
    let site = Site { node: &node(), pods: &[], namespaces: &BTreeMap::new() };
    let rejection = admit(&pod("p", json!({})), &[refusal("spec.a"), refusal("spec.b")], &site).unwrap_err();
    assert_eq!(rejection.reason, "UnsupportedPodSpec");
    assert_eq!(rejection.message, "spec.a: no; spec.b: no");
}
