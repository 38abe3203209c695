//! Fields of features that a default server of this version has switched off: what writers say there is dropped.

use serde_json::{Map, Value};

use crate::pointer;

/// Projections of features that are off.
const PROJECTIONS: [&str; 2] = ["clusterTrustBundle", "podCertificate"];

pub(super) fn forget_in_pod(pod: &mut Value) {
    pointer::remove(pod, "/spec/schedulingGroup");
    for list in ["/spec/containers", "/spec/initContainers", "/spec/ephemeralContainers"] {
        pointer::list_mut(pod, list).iter_mut().filter_map(Value::as_object_mut).for_each(forget_stop_signal);
    }
    for volume in pointer::list_mut(pod, "/spec/volumes") {
        let sources = pointer::list_mut(volume, "/projected/sources").iter_mut();
        for source in sources.filter_map(Value::as_object_mut) {
            source.retain(|field, _| !PROJECTIONS.contains(&field.as_str()));
        }
    }
}

fn forget_stop_signal(container: &mut Map<String, Value>) {
    let Some(lifecycle) = container.get_mut("lifecycle").and_then(Value::as_object_mut) else { return };
    if lifecycle.remove("stopSignal").is_some() && lifecycle.is_empty() {
        container.remove("lifecycle");
    }
}

/// Coordinated leader election is off.
pub(super) fn forget_election(lease: &mut Value) {
    pointer::remove(lease, "/spec/strategy");
    pointer::remove(lease, "/spec/preferredHolder");
}

/// The topology of endpoints is a field of the past that cannot be written any more.
pub(super) fn forget_topology(slice: &mut Value) {
    for endpoint in pointer::list_mut(slice, "/endpoints") {
        pointer::remove(endpoint, "/deprecatedTopology");
    }
}
