//! Who reaches whom when no policy says anything.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use asb_core::network::cidr::choose;

use super::super::{connect, in_use};
use super::rig::{
    GATEWAY, HOST, METADATA, NODE, Namespace, Rig, WORLD, ask, ask_udp, is_closed, is_open, listen, listen_at,
};

#[test]
fn pods_reach_each_other_as_themselves_and_the_world_as_the_host() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let _b = listen(&b.namespace, 8080, "b");
    let _world = listen(&rig.outside, 80, "world");
    assert_eq!(ask(&a.namespace, b.address, 8080), Ok("b 10.1.0.2".to_owned()));
    assert_eq!(ask_udp(&a.namespace, b.address, 8080), Some("b 10.1.0.2".to_owned()));
    assert_eq!(ask(&a.namespace, WORLD, 80), Ok(format!("world {HOST}")));
    assert_eq!(ask_udp(&a.namespace, GATEWAY, 80), Some(format!("world {HOST}")));
}

#[test]
fn the_host_reaches_its_pods_with_its_address_among_them() {
    let mut rig = Rig::new();
    let a = rig.pod("a", 2);
    let _a = listen(&a.namespace, 8080, "a");
    assert_eq!(ask(&rig.host, a.address, 8080), Ok(format!("a {NODE}")));
}

#[test]
fn what_the_host_uses_is_known_before_a_range_is_chosen() {
    let mut rig = Rig::new();
    let _a = rig.pod("a", 2);
    rig.host.ip("route add 10.244.7.0/24 via 198.51.100.2");
    let used = rig.host.run(|| in_use("asb-p").unwrap());
    assert!(
        used.contains(&"198.51.100.0/24".parse().unwrap())
            && used.contains(&"10.244.7.0/24".parse().unwrap())
    );
    assert!(!used.contains(&"10.1.0.2/32".parse().unwrap()), "links of ours are in nobody's way: {used:?}");
    assert_eq!(choose(&used).unwrap().to_string(), "10.245.0.0/16");
}

#[test]
fn a_pod_that_rules_do_not_know_reaches_nobody() {
    let mut rig = Rig::new();
    let b = rig.pod("b", 3);
    let _b = listen(&b.namespace, 8080, "b");
    let a = rig.attached("a", 2);
    assert!(is_closed(&a.namespace, b.address, 8080));
    rig.apply();
    assert!(is_open(&a.namespace, b.address, 8080));
}

#[test]
fn nobody_speaks_with_an_address_that_is_not_theirs() {
    let mut rig = Rig::new();
    let (a, b, c) = (rig.pod("a", 2), rig.pod("b", 3), rig.pod("c", 4));
    a.namespace.ip("addr add 10.1.0.4/32 dev eth0");
    a.namespace.ip("addr add 198.51.100.1/32 dev eth0");
    let heard = b.namespace.run(|| UdpSocket::bind((b.address, 9)).unwrap());
    heard.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let say = |source: Ipv4Addr, word: &[u8]| {
        let socket = a.namespace.run(|| UdpSocket::bind((source, 0)).unwrap());
        socket.send_to(word, (b.address, 9)).unwrap();
    };
    say(c.address, b"as c");
    say(HOST, b"as host");
    say(a.address, b"as a");
    let mut buffer = [0; 16];
    let (length, from) = heard.recv_from(&mut buffer).unwrap();
    assert_eq!((&buffer[..length], from.ip()), (&b"as a"[..], a.address.into()), "packets keep their order");
}

#[test]
fn what_a_pod_claims_about_hardware_is_not_heard() {
    let mut rig = Rig::new();
    let a = rig.pod("a", 2);
    let _a = listen(&a.namespace, 8080, "a");
    let own = a.namespace.ip("-br link show dev eth0").split_whitespace().nth(2).unwrap().to_owned();
    let rename = |hardware: &str| {
        a.namespace.ip(&format!("link set eth0 address {hardware}"));
        // The Pod's kernel forgets its neighbours with that.
        a.namespace.ip("neigh replace 10.1.0.1 lladdr 02:61:00:00:00:01 nud permanent dev eth0");
    };
    rename("02:00:00:00:00:99");
    // The Pod's kernel asks who has an address that nobody has, and says who is asking.
    a.namespace.ip("route add 10.1.0.200/32 dev eth0");
    let socket = a.namespace.run(|| UdpSocket::bind((a.address, 0)).unwrap());
    socket.send_to(b"?", (Ipv4Addr::new(10, 1, 0, 200), 9)).unwrap();
    assert!(is_closed(&rig.host, a.address, 8080), "the host believed it");
    rename(&own);
    assert!(is_open(&rig.host, a.address, 8080));
}

#[test]
fn metadata_and_services_of_the_host_are_closed() {
    let mut rig = Rig::new();
    let a = rig.pod("a", 2);
    let _metadata = listen_at(&rig.outside, (METADATA, 80).into(), "metadata");
    let _host = listen(&rig.host, 22, "host");
    for target in [METADATA, Ipv4Addr::new(169, 254, 1, 1)] {
        assert_eq!(ask(&a.namespace, target, 80), Err(ErrorKind::HostUnreachable), "{target}");
    }
    for address in [NODE, HOST] {
        assert_eq!(ask(&a.namespace, address, 22), Err(ErrorKind::HostUnreachable), "{address}");
    }
    assert_eq!(ask(&rig.host, METADATA, 80), Ok(format!("metadata {HOST}")), "it is there");
    rig.settings.open.push((NODE, asb_core::network::member::Protocol::Tcp, 22));
    rig.settings.blocked.clear();
    rig.apply();
    assert_eq!(ask(&a.namespace, NODE, 22), Ok("host 10.1.0.2".to_owned()));
    assert_eq!(ask(&a.namespace, METADATA, 80), Ok(format!("metadata {HOST}")));
}

#[test]
fn the_host_becomes_no_router_for_others() {
    let mut rig = Rig::new();
    assert_eq!(rig.settings.uplinks, ["up0"]);
    let setting =
        |file: &str| rig.host.run(|| std::fs::read_to_string(format!("/proc/sys/net/ipv4/{file}")).unwrap());
    assert_eq!(setting("ip_forward").trim(), "0", "the setting of the whole host is left alone");
    assert_eq!(setting("conf/up0/forwarding").trim(), "1");
    let far = Namespace::of_host();
    rig.host.ip(&format!("link add far0 type veth peer name eth0 netns {}", far.process()));
    rig.host.ip("addr add 203.0.113.1/24 dev far0");
    rig.host.ip("link set far0 up");
    far.ip("addr add 203.0.113.2/24 dev eth0");
    far.ip("link set eth0 up");
    rig.outside.ip("route add 203.0.113.0/24 via 198.51.100.1");
    let heard = far.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 9)).unwrap());
    heard.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let sender = rig.outside.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
    let far_end = (Ipv4Addr::new(203, 0, 113, 2), 9);
    sender.send_to(b"guarded", far_end).unwrap();
    rig.settings.uplinks.clear();
    rig.apply();
    sender.send_to(b"open", far_end).unwrap();
    let mut buffer = [0; 16];
    let length = heard.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"open", "rules were all that stood in the way");
}

#[test]
fn a_port_of_a_pod_is_reached_from_within_it() {
    let mut rig = Rig::new();
    let a = rig.pod("a", 2);
    let _a = listen_at(&a.namespace, (Ipv4Addr::LOCALHOST, 8080).into(), "within");
    let mut line = String::new();
    let stream = connect(&a.namespace.descriptor, 8080).unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stream), &mut line).unwrap();
    assert_eq!(line, "within 127.0.0.1\n");
    let refused = connect(&a.namespace.descriptor, 8081).unwrap_err();
    assert_eq!(refused.to_string(), "nothing answers on port 8081 of the Pod");
}

#[test]
fn pods_have_no_other_family_of_addresses() {
    let mut rig = Rig::new();
    let a = rig.pod("a", 2);
    assert_eq!(a.namespace.ip("-6 addr show").trim(), "");
    let links = rig.host.ip("-6 addr show");
    assert!(!links.contains("asb"), "{links}");
}
