//! The nodes of the simulated cluster, and what really runs on them, whatever the API server's objects say.

use std::collections::BTreeMap;

use asb_core::write::Kind;
use serde_json::{Value, json};

use crate::agenda::Deed;
use crate::object::{controller_of, is_deleting, name, uid};
use crate::store::{Change, Deletion, Id};
use crate::world::{Actor, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// Nobody hears from it. What runs there may go on running.
    Silent,
    /// Somebody vouches that nothing runs there any more.
    OutOfService,
    /// It is gone, and its object with it.
    Gone,
}

#[derive(Debug, Default)]
pub(crate) struct Nodes {
    /// Those that are not Ready.
    states: BTreeMap<String, State>,
    /// The Sandboxes and nodes of the Pods that run, by the Pods' UIDs.
    running: BTreeMap<String, (String, String)>,
}

/// The one that things happen to. The other is always there to take Pods.
const FRAIL: &str = "node-1";

impl Nodes {
    pub(crate) fn state(&self, node: &str) -> State {
        self.states.get(node).copied().unwrap_or(State::Ready)
    }

    /// Whether somebody on a node does something about its Pods.
    pub(crate) fn has_kubelet(&self, pod: &Value) -> bool {
        pod["spec"]["nodeName"].as_str().is_none_or(|node| self.state(node) == State::Ready)
    }

    /// The node for a Pod.
    pub(crate) fn place(&self, number: u64) -> String {
        let wanted = format!("node-{}", number % 2);
        if self.state(&wanted) == State::Ready { wanted } else { "node-0".to_owned() }
    }

    /// A Pod runs from now on. Says so if another of its Sandbox runs too.
    pub(crate) fn run(&mut self, pod: &Value) -> Result<(), String> {
        let sandbox = controller_of(pod, Kind::Sandbox).unwrap_or_default().to_owned();
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
        let twin = self.running.iter().find(|(other, (of, _))| *of == sandbox && **other != uid(pod));
        let verdict = match twin {
            Some((_, (_, there))) => {
                Err(format!("Pod {} runs on {node} while another of its Sandbox runs on {there}", name(pod)))
            }
            None => Ok(()),
        };
        self.running.insert(uid(pod).to_owned(), (sandbox, node));
        verdict
    }

    pub(crate) fn ended(&mut self, pod: &str) {
        self.running.remove(pod);
    }

    fn all_ended(&mut self, node: &str) {
        self.running.retain(|_, (_, of)| of != node);
    }
}

/// A Node as the API server shows it, if it is there.
pub(crate) fn object(state: State, name: &str) -> Option<Value> {
    let taints = match state {
        State::Gone => return None,
        State::Ready => json!([]),
        State::Silent => json!([{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]),
        State::OutOfService => json!([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]),
    };
    Some(json!({"kind": "Node", "metadata": {"name": name}, "spec": {"taints": taints}}))
}

/// Something happens to a node, and more later.
pub(crate) fn happen(world: &mut World) {
    if !world.is_stormy {
        return;
    }
    let next = match world.nodes.state(FRAIL) {
        State::Ready => State::Silent,
        State::Silent => world.chance.pick(&[State::Ready, State::OutOfService, State::Gone]),
        State::OutOfService | State::Gone => State::Ready,
    };
    become_(world, next);
    let pause = world.chance.millis(60_000);
    world.agenda.add(pause, Deed::NodeChanges);
}

/// Every node is as it should be.
pub(crate) fn heal(world: &mut World) {
    become_(world, State::Ready);
}

fn become_(world: &mut World, state: State) {
    world.transcript.note(format_args!("{FRAIL} is {state:?}"));
    world.nodes.states.insert(FRAIL.to_owned(), state);
    match state {
        State::Ready => restart(world),
        State::Silent => {
            let lag = world.lag(20_000);
            world.agenda.add(lag, Deed::Evict);
        }
        State::OutOfService | State::Gone => world.nodes.all_ended(FRAIL),
    }
}

fn pods(world: &World) -> Vec<(Id, Value)> {
    let there = world.store.list(Kind::Pod).filter(|pod| pod["spec"]["nodeName"] == FRAIL);
    there.map(|pod| ((Kind::Pod, name(pod).to_owned()), Value::clone(pod))).collect()
}

/// A kubelet that is back ends what is no longer there, and runs again what is still wanted.
fn restart(world: &mut World) {
    let there = pods(world);
    let known: Vec<_> = there.iter().map(|(_, pod)| uid(pod)).collect();
    world.nodes.running.retain(|pod, (_, node)| node != FRAIL || known.contains(&pod.as_str()));
    for (_, pod) in there.iter().filter(|(_, pod)| !is_deleting(pod) && pod["status"]["phase"] == "Running") {
        world.run(pod);
    }
}

/// Pods of a node that nobody hears from are asked to go, which nobody there hears either. Those of one that is gone go.
pub(crate) fn evict(world: &mut World) {
    let state = world.nodes.state(FRAIL);
    if state == State::Ready {
        return;
    }
    let how = Deletion { is_forced: state == State::Gone, ..Deletion::default() };
    for (id, _) in pods(world) {
        let now = world.now();
        if let Ok(change) = world.store.delete(Kind::Pod, &id.1, &how, now) {
            world.took(Actor::Collector, "evicts", &change);
        }
    }
}

/// A Pod's object is gone without its kubelet having said that it ended: where there is a kubelet, it ends it now.
pub(crate) fn follow_removal(world: &mut World, change: &Change) {
    let (Kind::Pod, Some(pod), None) = (change.id.0, &change.before, &change.after) else { return };
    if world.nodes.has_kubelet(pod) {
        world.nodes.ended(uid(pod));
    }
}
