//! Addresses that stand for others.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use asb_core::network::member::Protocol;
use asb_core::network::services::Frontend;
use asb_core::object::Key;

use super::rig::{HOST, METADATA, NODE, Pod, Rig, ask, ask_udp, is_closed, listen, listen_at};

const VIRTUAL: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 7);

fn frontend(protocol: Protocol, backends: &[&Pod]) -> Frontend {
    Frontend {
        service: Key::new("default", "web"),
        address: VIRTUAL,
        protocol,
        port: 80,
        backends: backends.iter().map(|pod| SocketAddrV4::new(pod.address, 8080)).collect(),
        affinity: None,
    }
}

#[test]
fn a_service_leads_to_all_its_backends_by_tcp_and_udp_from_pods_and_from_the_host() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.pod("a", 2), rig.pod("b", 3), rig.pod("c", 4));
    let (_b, _c) = (listen(&b.namespace, 8080, "b"), listen(&c.namespace, 8080, "c"));
    rig.frontends = vec![frontend(Protocol::Tcp, &[&b, &c]), frontend(Protocol::Udp, &[&b])];
    rig.apply();
    let heard: BTreeSet<_> = (0..40).map(|_| ask(&a.namespace, VIRTUAL, 80).unwrap()).collect();
    assert_eq!(heard, BTreeSet::from(["b 10.1.0.2".to_owned(), "c 10.1.0.2".to_owned()]));
    assert_eq!(ask_udp(&a.namespace, VIRTUAL, 80), Some("b 10.1.0.2".to_owned()));
    assert!(ask(&rig.host, VIRTUAL, 80).unwrap().ends_with(&HOST.to_string()));
}

#[test]
fn a_client_stays_with_its_backend_while_both_are_there() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.pod("a", 2), rig.pod("b", 3), rig.pod("c", 4));
    let (_b, _c) = (listen(&b.namespace, 8080, "b"), listen(&c.namespace, 8080, "c"));
    let affinity = Some(Duration::from_mins(10));
    rig.frontends = vec![Frontend { affinity, ..frontend(Protocol::Tcp, &[&b, &c]) }];
    rig.apply();
    let heard: BTreeSet<_> = (0..40).map(|_| ask(&a.namespace, VIRTUAL, 80).unwrap()).collect();
    assert_eq!(heard.len(), 1, "{heard:?}");
    let (gone, stays) = if heard.contains("b 10.1.0.2") { (&b, &c) } else { (&c, &b) };
    rig.frontends = vec![Frontend { affinity, ..frontend(Protocol::Tcp, &[stays]) }];
    rig.apply();
    let after = ask(&a.namespace, VIRTUAL, 80).unwrap();
    assert!(!heard.contains(&after), "{} is gone", gone.address);
}

#[test]
fn a_pod_reaches_itself_through_its_service() {
    let mut rig = Rig::new();
    let a = rig.pod("a", 2);
    let _a = listen(&a.namespace, 8080, "a");
    rig.frontends = vec![frontend(Protocol::Tcp, &[&a])];
    rig.apply();
    assert_eq!(ask(&a.namespace, VIRTUAL, 80), Ok(format!("a {NODE}")));
}

#[test]
fn where_nobody_is_home_connections_are_refused() {
    let mut rig = Rig::new();
    let a = rig.pod("a", 2);
    rig.frontends = vec![frontend(Protocol::Tcp, &[])];
    rig.apply();
    assert_eq!(ask(&a.namespace, VIRTUAL, 80), Err(ErrorKind::ConnectionRefused));
    assert_eq!(ask(&a.namespace, VIRTUAL, 81), Err(ErrorKind::ConnectionRefused));
    assert_eq!(ask(&rig.host, VIRTUAL, 80), Err(ErrorKind::ConnectionRefused));
}

#[test]
fn a_service_cannot_be_pointed_at_metadata_or_at_the_host() {
    let mut rig = Rig::new();
    let a = rig.pod("a", 2);
    let _metadata = listen_at(&rig.outside, (METADATA, 80).into(), "metadata");
    let _host = listen(&rig.host, 22, "host");
    for (address, port) in [(METADATA, 80), (NODE, 22), (HOST, 22), (Ipv4Addr::LOCALHOST, 22)] {
        let backends = vec![SocketAddrV4::new(address, port)];
        rig.frontends = vec![Frontend { backends, ..frontend(Protocol::Tcp, &[]) }];
        rig.apply();
        assert!(is_closed(&a.namespace, VIRTUAL, 80), "{address}");
    }
}
