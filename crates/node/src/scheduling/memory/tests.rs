//! Looks at Pods on a node of two processors, several of them before the first shows.

use serde_json::{Value, json};

use super::*;

fn node() -> Node {
    let status = json!({"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "10"}});
    serde_json::from_value(json!({"metadata": {"name": "here"}, "status": status})).unwrap()
}

fn pod(name: &str, cpu: &str, priority: i32, more: Value) -> Arc<Pod> {
    let container = json!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
    let mut pod = json!({
        "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "1"},
        "spec": {"containers": [container], "priority": priority},
    });
    for (field, value) in more.as_object().unwrap() {
        pod["spec"][field] = value.clone();
    }
    Arc::new(serde_json::from_value(pod).unwrap())
}

fn plain(name: &str, cpu: &str, priority: i32) -> Arc<Pod> {
    pod(name, cpu, priority, json!({}))
}

fn look(memory: &mut Memory, pods: &[Arc<Pod>]) -> Vec<String> {
    let snapshot = Snapshot {
        node: &node(),
        pods,
        namespaces: &BTreeMap::new(),
        claim: &|_, _| None,
        is_delayed: &|_| false,
    };
    let mut steps = Vec::new();
    memory.plan(&snapshot, Instant::now(), |step| steps.push(described(step)));
    steps
}

fn described(step: Step) -> String {
    let name = |pod: &Pod| pod.metadata.name.clone().unwrap();
    match step {
        Step::Choose { pod, claims } => format!("choose for {} {}", name(&pod), claims.join(" ")),
        Step::Bind(pod) => format!("bind {}", name(&pod)),
        Step::Wait { pod, reason, victims, is_nominated, .. } => {
            let victims: Vec<_> = victims.into_iter().map(|victim| victim.name).collect();
            format!("{} {reason} {victims:?} {is_nominated}", name(&pod))
        }
    }
}

#[test]
fn what_was_decided_counts_before_it_shows() {
    let mut memory = Memory::default();
    let pods = [plain("a", "1", 0), plain("b", "1", 0), plain("c", "1", 0)];
    assert_eq!(look(&mut memory, &pods), ["bind a", "bind b", "c Unschedulable [] false"]);
    assert_eq!(look(&mut memory, &pods), [""; 0], "neither twice nor told twice");
    let shown = [pod("a", "1", 0, json!({"nodeName": "here"})), plain("c", "1", 0)];
    assert_eq!(look(&mut memory, &shown), ["bind c"], "b is gone");
}

#[test]
fn more_priority_goes_first() {
    let pods = [plain("a", "2", 0), plain("urgent", "2", 9)];
    let steps = look(&mut Memory::default(), &pods);
    assert_eq!(steps, ["bind urgent", "a Unschedulable [] false"]);
}

#[test]
fn a_gate_and_an_absent_claim_hold_a_pod_back() {
    let gated = pod("g", "1", 0, json!({"schedulingGates": [{"name": "wait"}]}));
    let volumes = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]});
    let steps = look(&mut Memory::default(), &[gated, pod("v", "1", 0, volumes)]);
    assert_eq!(steps, ["g SchedulingGated [] false", "v Unschedulable [] false"]);
}

#[test]
fn room_that_is_made_for_one_is_not_taken_by_another() {
    let mut memory = Memory::default();
    let lesser = pod("low", "2", 0, json!({"nodeName": "here"}));
    let urgent = plain("urgent", "2", 9);
    let pods = [Arc::clone(&lesser), Arc::clone(&urgent)];
    assert_eq!(look(&mut memory, &pods), ["urgent Unschedulable [\"low\"] true"]);
    assert_eq!(look(&mut memory, &pods), [""; 0], "nobody is told to go twice");
    memory.outdated();
    assert_eq!(look(&mut memory, &pods).len(), 1, "unless it is not known whether they were");
    let small = plain("small", "1", 5);
    let pods = [Arc::clone(&urgent), small];
    assert_eq!(look(&mut memory, &pods), ["bind urgent", "small Unschedulable [] false"]);
}

#[test]
fn what_could_not_be_written_is_tried_again_later() {
    let mut memory = Memory::default();
    let pods = [plain("a", "1", 0)];
    assert!(memory.has_news(&pods));
    assert_eq!(look(&mut memory, &pods), ["bind a"]);
    assert!(!memory.has_news(&pods));
    memory.failed("a", Instant::now());
    assert_eq!(look(&mut memory, &pods), [""; 0]);
    let snapshot = Snapshot {
        node: &node(),
        pods: &pods,
        namespaces: &BTreeMap::new(),
        claim: &|_, _| None,
        is_delayed: &|_| false,
    };
    let later = memory.next().unwrap();
    let mut steps = 0;
    memory.plan(&snapshot, later, |_| steps += 1);
    assert_eq!(steps, 1);
}

#[test]
fn what_shows_already_is_not_written_again_after_a_restart() {
    let mut waiting = Arc::unwrap_or_clone(plain("a", "3", 0));
    let snapshot_of = |pod: &Pod| [Arc::new(pod.clone())];
    let first = snapshot_of(&waiting);
    let snapshot = Snapshot {
        node: &node(),
        pods: &first,
        namespaces: &BTreeMap::new(),
        claim: &|_, _| None,
        is_delayed: &|_| false,
    };
    let mut steps = Vec::new();
    Memory::default().plan(&snapshot, Instant::now(), |step| steps.push(step));
    let Some(Step::Wait { message, .. }) = steps.pop() else { panic!("it does not fit") };
    let condition =
        json!({"type": "PodScheduled", "status": "False", "reason": UNSCHEDULABLE, "message": message});
    waiting.status = Some(serde_json::from_value(json!({"conditions": [condition]})).unwrap());
    assert_eq!(look(&mut Memory::default(), &snapshot_of(&waiting)), [""; 0]);
}
