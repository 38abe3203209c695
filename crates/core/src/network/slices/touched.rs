//! Which Services a change is about, so that one Pod's change does not mean a look at every Service.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::network::selector::Labels;
use crate::network::services;
use crate::object::Key;

/// What was there at the last look, each with its version.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pods: BTreeMap<Key, (Version, Labels)>,
    services: BTreeMap<Key, (Version, ())>,
    slices: BTreeMap<Key, (Version, Option<Key>)>,
}

/// Of the object, whoever has its name.
type Version = (Option<String>, Option<String>);

impl Seen {
    /// The Services about which something is new since the last look. At the first look, all of them.
    pub fn look(
        &mut self,
        pods: &[impl Borrow<Pod>],
        services: &[impl Borrow<Service>],
        slices: &[impl Borrow<EndpointSlice>],
    ) -> BTreeSet<Key> {
        let pods = pods.iter().map(|pod| &pod.borrow().metadata);
        let labels = |metadata: &ObjectMeta| metadata.labels.clone().unwrap_or_default();
        let pods = replace(&mut self.pods, pods.map(|pod| (pod, move || labels(pod))));
        let all = services.iter().map(Borrow::borrow);
        let own = replace(&mut self.services, all.clone().map(|service| (&service.metadata, || ())));
        let slices = slices.iter().map(Borrow::borrow);
        let slices = slices.map(|slice| (&slice.metadata, move || services::service_of(slice)));
        let slices = replace(&mut self.slices, slices);
        let own = own.into_iter().map(|(key, ())| key).chain(slices.into_iter().filter_map(|(_, key)| key));
        let own: BTreeSet<_> = own.collect();
        let known = all.filter_map(|service| Some((services::key(service)?, service)));
        let touched = known.filter(|(key, service)| {
            own.contains(key) || pods.iter().any(|(pod, labels)| selects(service, key, pod, labels))
        });
        touched.map(|(key, _)| key).collect()
    }
}

fn selects(service: &Service, key: &Key, pod: &Key, labels: &Labels) -> bool {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    key.namespace == pod.namespace
        && selector.is_some_and(|selector| selector.iter().all(|(key, value)| labels.get(key) == Some(value)))
}

/// What is new, gone or different, with what is kept of it before and after.
fn replace<'a, T: Clone>(
    seen: &mut BTreeMap<Key, (Version, T)>,
    now: impl Iterator<Item = (&'a ObjectMeta, impl FnOnce() -> T)>,
) -> Vec<(Key, T)> {
    let mut before = std::mem::take(seen);
    let mut changed = Vec::new();
    for (metadata, kept) in now {
        let (Some(namespace), Some(name)) = (&metadata.namespace, &metadata.name) else { continue };
        let key = Key::new(namespace, name);
        let version = (metadata.uid.clone(), metadata.resource_version.clone());
        match before.remove(&key) {
            Some((old, kept)) if old == version => drop(seen.insert(key, (version, kept))),
            other => {
                changed.extend(other.map(|(_, kept)| (key.clone(), kept)));
                let kept = kept();
                changed.push((key.clone(), kept.clone()));
                seen.insert(key, (version, kept));
            }
        }
    }
    changed.extend(before.into_iter().map(|(key, (_, kept))| (key, kept)));
    changed
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object<T: serde::de::DeserializeOwned>(name: &str, version: u8, labels: Value, spec: Value) -> T {
        let metadata = json!({"namespace": "default", "name": name, "uid": name, "labels": labels,
                              "resourceVersion": version.to_string()});
        let mut object = json!({"metadata": metadata, "spec": spec});
        if spec == Value::Null {
            object = json!({"metadata": metadata, "addressType": "IPv4", "endpoints": []});
        }
        serde_json::from_value(object).unwrap()
    }

    fn pod(name: &str, version: u8, app: &str) -> Pod {
        object(name, version, json!({"app": app}), json!({"containers": []}))
    }

    fn service(app: &str, version: u8) -> Service {
        object(app, version, json!({}), json!({"selector": {"app": app}}))
    }

    fn slice(service: &str, version: u8) -> EndpointSlice {
        let labels = json!({"kubernetes.io/service-name": service});
        object(&format!("{service}-1"), version, labels, Value::Null)
    }

    fn names(touched: BTreeSet<Key>) -> Vec<String> {
        touched.iter().map(|key| key.name.to_string()).collect()
    }

    #[test]
    fn the_first_look_is_about_all_and_the_next_about_nothing() {
        let mut seen = Seen::default();
        let services = [service("a", 1), service("b", 1)];
        assert_eq!(names(seen.look(&[pod("p", 1, "a")], &services, &[slice("a", 1)])), ["a", "b"]);
        assert!(seen.look(&[pod("p", 1, "a")], &services, &[slice("a", 1)]).is_empty());
    }

    #[test]
    fn a_pod_touches_the_services_that_select_it_or_did() {
        let mut seen = Seen::default();
        let services = [service("a", 1), service("b", 1), service("c", 1)];
        let none: [EndpointSlice; 0] = [];
        seen.look(&[pod("p", 1, "a"), pod("q", 1, "c")], &services, &none);
        assert_eq!(names(seen.look(&[pod("p", 2, "b"), pod("q", 1, "c")], &services, &none)), ["a", "b"]);
        assert_eq!(names(seen.look(&[pod("p", 2, "b")], &services, &none)), ["c"]);
    }

    #[test]
    fn a_slice_that_somebody_changed_or_removed_touches_its_service() {
        let mut seen = Seen::default();
        let services = [service("a", 1), service("b", 1)];
        let none: [Pod; 0] = [];
        seen.look(&none, &services, &[slice("a", 1), slice("b", 1)]);
        assert_eq!(names(seen.look(&none, &services, &[slice("a", 2)])), ["a", "b"]);
        assert_eq!(names(seen.look(&none, &[service("a", 2)], &[slice("a", 2)])), ["a"]);
    }
}
