//! The Pods that are connected, as they were last seen.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use asb_core::network::member::Member;
use asb_core::network::reservations::Reservations;
use asb_core::object::Uid;
use k8s_openapi::api::core::v1::Pod;

use super::Error;
use crate::cache::Cache;

#[derive(Default)]
pub(super) struct Roster(BTreeMap<Uid, Entry>);

struct Entry {
    pod: Arc<Pod>,
    address: Ipv4Addr,
    /// Nothing when the Pod has ended: it is connected to nobody.
    member: Option<Member>,
}

impl Roster {
    pub(super) fn of(known: Vec<(Pod, Ipv4Addr)>, reservations: &mut Reservations) -> Result<Self, Error> {
        let mut roster = Self::default();
        for (pod, address) in known {
            let uid = uid(&pod)?;
            reservations.keep(&uid, address)?;
            roster.add(uid, Arc::new(pod), address);
        }
        Ok(roster)
    }

    pub(super) fn add(&mut self, uid: Uid, pod: Arc<Pod>, address: Ipv4Addr) {
        let member = Member::of(&pod, address);
        self.0.insert(uid, Entry { pod, address, member });
    }

    pub(super) fn remove(&mut self, uid: &Uid) {
        self.0.remove(uid);
    }

    /// Whether rules can know this Pod.
    pub(super) fn has_member(&self, uid: &Uid) -> bool {
        self.0.get(uid).is_some_and(|entry| entry.member.is_some())
    }

    /// Takes what is newer in the cache. A Pod that is gone from there is as it was last, until it is dismissed.
    pub(super) fn refresh(&mut self, pods: &Cache<Pod>) {
        for entry in self.0.values_mut() {
            let metadata = &entry.pod.metadata;
            let (Some(namespace), Some(name)) = (&metadata.namespace, &metadata.name) else { continue };
            if let Some(found) = pods.get(namespace, name).filter(|found| is_newer(found, &entry.pod)) {
                entry.member = Member::of(&found, entry.address);
                entry.pod = found;
            }
        }
    }

    /// In the order of their UIDs.
    pub(super) fn members(&self) -> Vec<Member> {
        self.0.values().filter_map(|entry| entry.member.clone()).collect()
    }
}

pub(super) fn uid(pod: &Pod) -> Result<Uid, Error> {
    let has_own_network = pod.spec.as_ref().is_some_and(|spec| spec.host_network != Some(true));
    let uid = pod.metadata.uid.as_deref().filter(|_| has_own_network);
    uid.map(Uid::from).ok_or(Error::NoMember)
}

/// The same Pod at a later time. Another of its name is somebody else.
fn is_newer(found: &Pod, known: &Pod) -> bool {
    let version =
        |pod: &Pod| pod.metadata.resource_version.as_deref().and_then(|text| text.parse::<u64>().ok());
    found.metadata.uid == known.metadata.uid && version(found) > version(known)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(uid: &str, version: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"namespace": "default", "name": "web", "uid": uid, "resourceVersion": version},
            "spec": {"containers": []},
        }))
        .unwrap()
    }

    #[test]
    fn versions_are_numbers_and_another_pod_of_the_name_is_not_a_newer_one() {
        assert!(is_newer(&pod("a", "10"), &pod("a", "9")));
        assert!(!is_newer(&pod("a", "9"), &pod("a", "9")));
        assert!(!is_newer(&pod("b", "10"), &pod("a", "9")));
    }

    #[test]
    fn a_pod_in_the_hosts_network_is_not_connected() {
        let mut pod = pod("a", "1");
        pod.spec.as_mut().unwrap().host_network = Some(true);
        assert!(matches!(uid(&pod), Err(Error::NoMember)));
    }

    #[test]
    fn whoever_is_known_keeps_the_address_and_two_cannot_have_one() {
        let address = Ipv4Addr::new(10, 1, 0, 5);
        let mut reservations = Reservations::new("10.1.0.0/24".parse().unwrap());
        let roster = Roster::of(vec![(pod("a", "1"), address)], &mut reservations).unwrap();
        assert_eq!(roster.members()[0].address, address);
        assert!(Roster::of(vec![(pod("b", "1"), address)], &mut reservations).is_err());
    }
}
