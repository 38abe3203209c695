//! The kubelets and the garbage collector of the simulated cluster.

use std::time::Duration;

use serde_json::{Value, json};

use crate::agenda::Deed;
use crate::object::{is_deleting, owners, uid};
use crate::store::{Deletion, FOREGROUND, Id};
use crate::world::{Actor, World};

/// A finalizer that somebody puts on some Sandboxes, so that they take a while to go.
pub(crate) const GUARD: &str = "somebody.example/guard";

/// What becomes of a new Pod, and when. Some fail, and some are not Ready for long.
pub(crate) fn plan_start(world: &mut World, pod: &Id, own: &str) {
    let is_slow = world.is_stormy && world.chance.one_in(15);
    let fails = world.is_stormy && world.chance.one_in(15);
    let bound = world.lag(1000);
    let ready = bound + world.lag(if is_slow { 60_000 } else { 3000 });
    world.agenda.add(bound, Deed::BindPod(pod.clone(), own.to_owned()));
    let end = if fails { Deed::FailPod } else { Deed::ReadyPod };
    world.agenda.add(ready, end(pod.clone(), own.to_owned()));
}

/// How soon it is looked whether a kubelet is there again.
const ABSENCE: Duration = Duration::from_secs(3);

pub(crate) fn perform(world: &mut World, deed: &Deed) {
    match deed {
        Deed::BindPod(..) => bind(world, deed),
        Deed::ReadyPod(..) => drop(kubelet(world, deed, "readies", |pod, _| {
            pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        })),
        Deed::FailPod(..) => fail(world, deed),
        Deed::EndPod(id, uid) => end_pod(world, deed, id, uid),
        Deed::Collect(id, uid) => collect(world, id, uid),
        Deed::Foreground(id, uid) => foreground(world, id, uid),
        Deed::Unguard(id, uid) => remove_finalizer(world, id, uid, GUARD),
        Deed::UserActs | Deed::Trouble | Deed::NodeChanges | Deed::Evict => {}
    }
}

fn there(world: &World, id: &Id, own: &str) -> Option<Value> {
    let object = world.store.get(id.0, &id.1).filter(|object| uid(object) == own)?;
    Some(Value::clone(object))
}

fn bind(world: &mut World, deed: &Deed) {
    let is_bound = kubelet(world, deed, "binds", |pod, (number, node)| {
        pod["spec"]["nodeName"] = json!(node);
        let ip = format!("10.0.{}.{}", number / 250, number % 250);
        pod["status"] = json!({"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": []});
    });
    if let (true, Deed::BindPod(id, own)) = (is_bound, deed)
        && let Some(pod) = there(world, id, own)
    {
        world.run(&pod);
    }
}

fn fail(world: &mut World, deed: &Deed) {
    let has_failed = kubelet(world, deed, "fails", |pod, _| {
        pod["status"]["phase"] = json!("Failed");
        pod["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    });
    if let (true, Deed::FailPod(_, own)) = (has_failed, deed) {
        world.nodes.ended(own);
    }
}

/// Does something about a Pod that is not on its way out, once its kubelet is there. Whether it was done.
fn kubelet(
    world: &mut World,
    deed: &Deed,
    what: &str,
    change: impl FnOnce(&mut Value, (u64, String)),
) -> bool {
    let (Deed::BindPod(id, own) | Deed::ReadyPod(id, own) | Deed::FailPod(id, own)) = deed else {
        return false;
    };
    let Some(mut pod) = there(world, id, own).filter(|pod| !is_deleting(pod)) else { return false };
    if !world.nodes.has_kubelet(&pod) {
        world.agenda.add(ABSENCE, deed.clone());
        return false;
    }
    let number = own.trim_start_matches("uid-").parse().unwrap_or_default();
    change(&mut pod, (number, world.nodes.place(number)));
    world.put(Actor::Kubelet, what, id, pod);
    true
}

fn end_pod(world: &mut World, deed: &Deed, id: &Id, own: &str) {
    let Some(pod) = there(world, id, own) else { return };
    if world.nodes.has_kubelet(&pod) {
        let change = world.store.commit(id.clone(), None);
        world.took(Actor::Kubelet, "ends", &change);
    } else {
        world.agenda.add(ABSENCE, deed.clone());
    }
}

/// Deletes what has lost all its owners.
fn collect(world: &mut World, id: &Id, own: &str) {
    let Some(object) = there(world, id, own) else { return };
    let mut listed = owners(&object).peekable();
    let is_orphan = listed.peek().is_some()
        && listed.all(|owner| !world.exists(owner["uid"].as_str().unwrap_or_default()));
    if is_orphan {
        delete(world, id);
    }
}

fn delete(world: &mut World, id: &Id) {
    let now = world.now();
    if let Ok(change) = world.store.delete(id.0, &id.1, &Deletion::default(), now) {
        world.took(Actor::Collector, "deletes", &change);
    }
}

/// Deletes what is owned, and lets the owner go once all of it is gone.
fn foreground(world: &mut World, id: &Id, own: &str) {
    if there(world, id, own).is_none() {
        return;
    }
    let owned = |object: &Value| owners(object).any(|owner| owner["uid"] == *own);
    let dependents: Vec<_> = world
        .store
        .all()
        .filter(|(_, object)| owned(object))
        .map(|(id, object)| (id.clone(), is_deleting(object)))
        .collect();
    if dependents.is_empty() {
        return remove_finalizer(world, id, own, FOREGROUND);
    }
    for (dependent, _) in dependents.iter().filter(|(_, is_going)| !is_going) {
        delete(world, dependent);
    }
    let lag = world.lag(500);
    world.agenda.add(lag, Deed::Foreground(id.clone(), own.to_owned()));
}

fn remove_finalizer(world: &mut World, id: &Id, own: &str, finalizer: &str) {
    let Some(mut object) = there(world, id, own) else { return };
    if let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|held| held != finalizer);
    }
    world.put(Actor::Collector, "lets go of", id, object);
}
