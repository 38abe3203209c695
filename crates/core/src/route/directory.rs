//! Where Sandboxes are, as far as their status says, and which one a request means.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use asb_types::labels;
use asb_types::runtime::{Runtime, RuntimeAccess};
use asb_types::v1beta1::OperatingMode;

use super::wanted::{Named, Wanted, is_special};
use crate::object::{Key, Uid};
use crate::views::SandboxView;

/// All Sandboxes.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    entries: HashMap<Key, Entry>,
}

/// What is known of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub uid: Uid,
    /// None while it has no Pod.
    pub addresses: Vec<IpAddr>,
    /// Nobody has claimed it: it cannot be reached by its name, which others may guess, only by its UID.
    pub is_spare: bool,
    /// It is deleted or suspended: a Pod that is still there is on its way out.
    pub is_leaving: bool,
    /// Whether its runtime wants tokens.
    pub access: Option<RuntimeAccess>,
}

/// Whether a Sandbox may be at an address that is this machine's own, or nobody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loopback {
    #[default]
    Refused,
    /// For tests.
    Allowed,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub key: Key,
    pub uid: Uid,
    pub address: SocketAddr,
    pub access: Option<RuntimeAccess>,
}

/// What a request means at one moment. Whoever is let in is let into this, and not into what has its name when they were asked
/// about: a host name can mean another Sandbox by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whose right is asked for, whether it can be reached or not.
    pub sandbox: Key,
    /// Of the Sandbox that has the name, if there is one.
    pub uid: Option<Uid>,
    pub place: Result<Place, Unreachable>,
}

/// Why a request goes nowhere. Clients are told no more than that the Sandbox cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    #[error("there is no such Sandbox")]
    Unknown,
    #[error("the name can mean several Sandboxes")]
    Ambiguous,
    #[error("the name is another Sandbox's by now")]
    Another,
    #[error("it has no address yet")]
    NoAddress,
    #[error("it is suspended or deleted")]
    Leaving,
}

impl Entry {
    pub fn of(sandbox: &SandboxView, loopback: Loopback) -> Self {
        let metadata = &sandbox.metadata;
        let addresses = sandbox.status.pod_ips.iter().filter_map(|address| address.parse().ok());
        let addresses = addresses.map(|address: IpAddr| address.to_canonical());
        Self {
            uid: metadata.uid.clone(),
            addresses: addresses
                .filter(|address| loopback == Loopback::Allowed || !is_special(*address))
                .collect(),
            is_spare: metadata.label(labels::WARM_POOL).is_some(),
            is_leaving: metadata.is_deleting() || sandbox.operating_mode == OperatingMode::Suspended,
            access: sandbox.runtime.as_ref().map(|runtime: &Runtime| runtime.access),
        }
    }

    /// The address that the client believes in, if it is the Sandbox's; else the first, preferring IPv4 as SDKs do.
    fn address(&self, hint: Option<IpAddr>) -> Option<IpAddr> {
        let hinted = hint.filter(|hint| self.addresses.contains(hint));
        hinted
            .or_else(|| self.addresses.iter().copied().find(IpAddr::is_ipv4))
            .or_else(|| self.addresses.first().copied())
    }
}

impl Directory {
    pub fn put(&mut self, key: Key, entry: Entry) {
        self.entries.insert(key, entry);
    }

    pub fn remove(&mut self, key: &Key) {
        self.entries.remove(key);
    }

    /// Only these are left.
    pub fn retain(&mut self, mut is_there: impl FnMut(&Key) -> bool) {
        self.entries.retain(|key, _| is_there(key));
    }

    pub fn get(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Nothing, where no Sandbox is named. Whoever names what is not there is asked for their right to the likeliest, and hears no
    /// more than others.
    pub fn look_up(&self, wanted: &Wanted) -> Option<Found> {
        let sandbox = match (self.meant(wanted), &wanted.named) {
            (Ok(key), _) => key,
            (Err(_), Named::Exactly(key)) => key.clone(),
            (Err(_), Named::Either(keys)) => keys.first()?.clone(),
        };
        let uid = self.entries.get(&sandbox).map(|entry| entry.uid.clone());
        Some(Found { sandbox, uid, place: self.find(wanted) })
    }

    fn meant(&self, wanted: &Wanted) -> Result<Key, Unreachable> {
        match &wanted.named {
            Named::Exactly(key) => Ok(key.clone()),
            Named::Either(keys) => {
                let mut there = keys.iter().filter(|key| self.entries.contains_key(key));
                match (there.next(), there.next()) {
                    (Some(key), None) => Ok(key.clone()),
                    (Some(_), Some(_)) => Err(Unreachable::Ambiguous),
                    (None, _) => Err(Unreachable::Unknown),
                }
            }
        }
    }

    fn find(&self, wanted: &Wanted) -> Result<Place, Unreachable> {
        let key = self.meant(wanted)?;
        let entry = self.entries.get(&key).ok_or(Unreachable::Unknown)?;
        match &wanted.uid {
            Some(uid) if entry.uid.as_str() != uid => return Err(Unreachable::Another),
            None if entry.is_spare => return Err(Unreachable::Unknown),
            _ => {}
        }
        if entry.is_leaving {
            return Err(Unreachable::Leaving);
        }
        let address = entry.address(wanted.pod_ip).ok_or(Unreachable::NoAddress)?;
        let address = SocketAddr::new(address, wanted.port);
        Ok(Place { key, uid: entry.uid.clone(), address, access: entry.access })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::route::{Asked, Field};
    use crate::views;

    fn entry(change: Value) -> Entry {
        let mut object = json!({
            "metadata": {"name": "box", "namespace": "team", "uid": "u1", "resourceVersion": "1",
                "creationTimestamp": "2030-01-01T11:00:00Z"},
            "spec": {"podTemplate": {"spec": {"containers": []}}},
            "status": {"podIPs": ["fd00::7", "10.1.0.7"]},
        });
        crate::patch::merge(&mut object, &change);
        let sandbox = views::read::<SandboxView>(&object).expect("an object").expect("a Sandbox");
        Entry::of(&sandbox, Loopback::Refused)
    }

    fn directory(change: Value) -> Directory {
        let mut directory = Directory::default();
        directory.put(Key::new("team", "box"), entry(change));
        directory
    }

    fn wanted(pod_ip: Option<&str>, uid: Option<&str>) -> Wanted {
        let field = |text: Option<&'static str>| text.map_or(Field::Absent, Field::One);
        let asked = Asked {
            id: Field::One("box"),
            namespace: Field::One("team"),
            pod_ip: pod_ip.map_or(Field::Absent, Field::One),
            uid: uid.map_or(field(None), Field::One),
            path: "/",
            ..Asked::default()
        };
        Wanted::of(&asked).expect("clear")
    }

    fn address(directory: &Directory, wanted: &Wanted) -> Result<String, Unreachable> {
        directory.find(wanted).map(|place| place.address.to_string())
    }

    #[test]
    fn a_sandbox_is_where_its_status_says() {
        let directory = directory(json!({}));
        assert_eq!(address(&directory, &wanted(None, None)), Ok("10.1.0.7:8888".to_owned()));
        assert_eq!(address(&directory, &wanted(Some("fd00::7"), None)), Ok("[fd00::7]:8888".to_owned()));
    }

    #[test]
    fn an_address_that_is_not_the_sandboxs_is_not_believed() {
        for elsewhere in ["10.1.0.8", "192.0.2.1", "10.96.0.1"] {
            let found = address(&directory(json!({})), &wanted(Some(elsewhere), None));
            assert_eq!(found, Ok("10.1.0.7:8888".to_owned()));
        }
    }

    #[test]
    fn whoever_writes_a_status_cannot_lead_requests_to_this_machine() {
        for special in ["127.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"] {
            let directory = directory(json!({"status": {"podIPs": [special]}}));
            assert_eq!(address(&directory, &wanted(None, None)), Err(Unreachable::NoAddress), "{special}");
        }
    }

    #[test]
    fn who_is_not_there_is_not_reached() {
        let find = |change, wanted: &Wanted| address(&directory(change), wanted);
        let plain = wanted(None, None);
        assert_eq!(find(json!({"status": {"podIPs": null}}), &plain), Err(Unreachable::NoAddress));
        assert_eq!(find(json!({"spec": {"operatingMode": "Suspended"}}), &plain), Err(Unreachable::Leaving));
        assert_eq!(find(json!({}), &wanted(None, Some("u2"))), Err(Unreachable::Another));
        assert_eq!(address(&Directory::default(), &plain), Err(Unreachable::Unknown));
    }

    #[test]
    fn nobody_reaches_a_spare_sandbox_by_guessing_its_name() {
        let spare = json!({"metadata": {"labels": {"agents.x-k8s.io/warm-pool-sandbox": "pool"}}});
        let directory = directory(spare);
        assert_eq!(address(&directory, &wanted(None, None)), Err(Unreachable::Unknown));
        assert!(directory.find(&wanted(None, Some("u1"))).is_ok());
    }

    #[test]
    fn a_host_name_means_what_is_there_if_that_is_one() {
        let host = Asked {
            host: Some("80-box-a-team.boxes.test"),
            domain: Some("boxes.test"),
            path: "/",
            ..Asked::default()
        };
        let wanted = Wanted::of(&host).expect("clear");
        let mut directory = Directory::default();
        assert_eq!(directory.meant(&wanted), Err(Unreachable::Unknown));
        directory.put(Key::new("team", "box-a"), entry(json!({})));
        assert_eq!(directory.meant(&wanted), Ok(Key::new("team", "box-a")));
        directory.put(Key::new("a-team", "box"), entry(json!({})));
        assert_eq!(directory.meant(&wanted), Err(Unreachable::Ambiguous));
    }

    #[test]
    fn what_is_looked_up_leads_to_the_sandbox_whose_right_is_asked_for_or_nowhere() {
        let host = Asked {
            host: Some("80-box-a-team.boxes.test"),
            domain: Some("boxes.test"),
            path: "/",
            ..Asked::default()
        };
        let wanted = Wanted::of(&host).expect("clear");
        let mut directory = Directory::default();
        for (namespace, name) in [("team", "box-a"), ("a-team", "box")] {
            let found = directory.look_up(&wanted).expect("named");
            assert!(found.place.is_err() || found.place.is_ok_and(|place| place.key == found.sandbox));
            directory.put(Key::new(namespace, name), entry(json!({})));
        }
        let found = directory.look_up(&wanted).expect("named");
        assert_eq!((found.sandbox, found.place), (Key::new("a-team", "box"), Err(Unreachable::Ambiguous)));
    }
}
