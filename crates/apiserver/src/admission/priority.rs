//! Priority: a Pod's priority is that of its class, and nothing else.

use serde_json::Value;

use super::{Target, forbidden};
use crate::identity::GroupKind;
use crate::pointer;
use crate::status::Status;
use crate::strategy::Cluster;

/// What a class means for a Pod.
struct Class {
    name: String,
    priority: i64,
    preemption: Option<String>,
}

pub(super) fn mutate_create(
    target: Target<'_>,
    pod: &mut Value,
    cluster: &dyn Cluster,
) -> Result<(), Status> {
    let class = match pointer::text(pod, "/spec/priorityClassName") {
        "" => default_class(cluster),
        name => find(name, cluster)
            .ok_or_else(|| forbidden(target, pod, &format!("no PriorityClass with name {name} was found")))?,
    };
    check_said(target, pod, &class)?;
    if !class.name.is_empty() {
        pointer::set(pod, "/spec/priorityClassName", class.name);
    }
    pointer::set(pod, "/spec/priority", class.priority);
    if let Some(preemption) = class.preemption {
        pointer::set(pod, "/spec/preemptionPolicy", preemption);
    }
    Ok(())
}

/// An update that does not repeat what the class gave does not change it.
pub(super) fn mutate_update(new: &mut Value, old: &Value) {
    for field in ["/spec/priority", "/spec/preemptionPolicy"] {
        if pointer::said(new, field).is_none() {
            pointer::copy(new, old, field);
        }
    }
}

/// A Pod may say what its class gives, and nothing else.
fn check_said(target: Target<'_>, pod: &Value, class: &Class) -> Result<(), Status> {
    let tail = "must not be provided in pod spec; priority admission controller computed";
    let from = "from the given PriorityClass name";
    let computed = class.priority;
    if let Some(said) = pod["spec"]["priority"].as_i64().filter(|said| *said != computed) {
        let why = format!("the integer value of priority ({said}) {tail} {computed} {from}");
        return Err(forbidden(target, pod, &why));
    }
    let (said, computed) = (pointer::text(pod, "/spec/preemptionPolicy"), &class.preemption);
    match computed {
        Some(computed) if !said.is_empty() && said != computed => {
            let why = format!("the string value of PreemptionPolicy ({said}) {tail} {computed} {from}");
            Err(forbidden(target, pod, &why))
        }
        _ => Ok(()),
    }
}

/// There is one default at most.
pub(super) fn check_class(target: Target<'_>, class: &Value, cluster: &dyn Cluster) -> Result<(), Status> {
    if class["globalDefault"] != true {
        return Ok(());
    }
    let other = default_class(cluster).name;
    if other.is_empty() || other == pointer::text(class, "/metadata/name") {
        return Ok(());
    }
    let why = format!("PriorityClass {other} is already marked as default. Only one default can exist");
    Err(forbidden(target, class, &why))
}

fn kind() -> GroupKind {
    GroupKind::new("scheduling.k8s.io", "PriorityClass")
}

fn find(name: &str, cluster: &dyn Cluster) -> Option<Class> {
    cluster.get(&kind(), "", name).as_ref().map(read)
}

/// The lowest of the classes that are meant for everybody.
fn default_class(cluster: &dyn Cluster) -> Class {
    let mut lowest: Option<Class> = None;
    cluster.each(&kind(), &mut |class| {
        let class = (class["globalDefault"] == true).then(|| read(class));
        if let Some(class) = class
            && lowest.as_ref().is_none_or(|lowest| lowest.priority > class.priority)
        {
            lowest = Some(class);
        }
    });
    lowest.unwrap_or_else(none)
}

/// What Pods are where no class is the default.
fn none() -> Class {
    Class { name: String::new(), priority: 0, preemption: Some("PreemptLowerPriority".to_owned()) }
}

fn read(class: &Value) -> Class {
    Class {
        name: pointer::text(class, "/metadata/name").to_owned(),
        priority: class["value"].as_i64().unwrap_or_default(),
        preemption: class["preemptionPolicy"].as_str().map(ToOwned::to_owned),
    }
}
