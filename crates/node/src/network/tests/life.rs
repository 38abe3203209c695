//! Pods that come and go, and programs that are killed in between.

use asb_core::object::Uid;

use super::rig::{Line, Namespace, Rig, ask, ask_udp, is_closed, is_open, listen};

/// Links of ours on the host.
fn links(rig: &Rig) -> usize {
    rig.host.ip("-o link show").lines().filter(|line| line.contains(": asb-p")).count()
}

fn connections(rig: &Rig, address: std::net::Ipv4Addr) -> usize {
    let listed = rig.host.run(|| std::fs::read_to_string("/proc/thread-self/net/nf_conntrack").unwrap());
    listed.lines().filter(|line| line.contains(&format!("={address} "))).count()
}

#[test]
fn everything_of_a_pod_is_listed_with_its_owner_and_goes_with_it() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let census = rig.kernel.census().unwrap();
    let mut owners: Vec<_> = census.links.iter().map(|link| link.owner.clone().unwrap()).collect();
    owners.sort();
    assert_eq!(owners, [a.uid.clone(), b.uid.clone()]);
    assert!(census.links.iter().any(|link| link.addresses.contains(&a.address)), "{census:?}");
    assert!(
        census.elements.iter().any(|element| element.set == "sources" && *element.remark == *a.uid.as_str())
    );
    rig.detach(&a);
    let census = rig.kernel.census().unwrap();
    assert_eq!(census.links.len(), 1);
    assert!(census.elements.iter().all(|element| *element.remark != *a.uid.as_str()), "{census:?}");
    rig.detach(&a);
}

#[test]
fn what_rules_say_of_one_pod_can_be_taken_away_and_comes_back_with_the_next_rules() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let _b = listen(&b.namespace, 8080, "b");
    assert!(is_open(&a.namespace, b.address, 8080));
    rig.kernel.remove_elements(a.uid.as_str()).unwrap();
    let remarks = |rig: &mut Rig| rig.kernel.census().unwrap().elements.into_iter().map(|it| it.remark);
    assert!(!remarks(&mut rig).any(|remark| remark == a.uid.as_str()));
    assert!(remarks(&mut rig).any(|remark| remark == b.uid.as_str()));
    assert!(is_closed(&a.namespace, b.address, 8080));
    let _c = rig.pod("c", 4);
    assert!(is_open(&a.namespace, b.address, 8080));
}

#[test]
fn an_address_brings_no_old_connections_to_its_next_pod() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let _b = listen(&b.namespace, 8080, "b");
    assert!(ask_udp(&a.namespace, b.address, 8080).is_some());
    assert!(connections(&rig, a.address) > 0);
    rig.detach(&a);
    rig.kernel.settle().unwrap();
    assert_eq!(connections(&rig, a.address), 0);
}

#[test]
fn a_pod_that_comes_back_at_once_is_connected() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let _b = listen(&b.namespace, 8080, "b");
    rig.detach(&a);
    let again = rig.pod("a", 2);
    assert!(is_open(&again.namespace, b.address, 8080));
    rig.kernel.settle().unwrap();
    assert!(is_open(&again.namespace, b.address, 8080));
}

#[test]
fn attaching_twice_is_attaching_once() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let _b = listen(&b.namespace, 8080, "b");
    let kernel = &mut rig.kernel;
    rig.host.run(|| kernel.attach(&a.uid, a.address, &a.namespace.descriptor).unwrap());
    assert!(is_open(&a.namespace, b.address, 8080));
    assert_eq!(links(&rig), 2);
}

/// Every state that a kill can leave: a link that was only made, one that says whose it is, one that is up, one with
/// everything but rules.
#[test]
fn whatever_a_kill_leaves_is_swept_away_and_what_is_known_stays() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let _b = listen(&b.namespace, 8080, "b");
    let pods: Vec<_> = (0..3).map(|_| Namespace::of_pod()).collect();
    for number in 0..3 {
        rig.host.ip(&format!("link add asb-p000000000{number} type veth peer name x{number}"));
    }
    rig.host.ip("link set asb-p0000000001 alias uid-of-nobody");
    rig.host.ip("link set asb-p0000000002 alias uid-of-another up");
    rig.host.ip("route add 10.1.0.77/32 dev asb-p0000000002");
    let unruled = rig.attached("c", 9);
    rig.members.pop();
    rig.restart();
    rig.host.ip("link add asb-pod-network type veth peer name theirs");
    assert_eq!(rig.sweep(&[&a.uid, &b.uid]), 4);
    rig.host.ip("link del asb-pod-network");
    rig.apply();
    assert_eq!(links(&rig), 2);
    assert!(!rig.host.ip("route show").contains("10.1.0.77"));
    assert!(is_open(&a.namespace, b.address, 8080), "those who are known never noticed");
    assert_eq!(rig.sweep(&[&a.uid, &b.uid]), 0);
    drop((pods, unruled));
}

#[test]
fn a_new_program_replaces_rules_it_does_not_know_without_a_gap() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let _b = listen(&b.namespace, 8080, "b");
    let mut line = Line::open(&a.namespace, b.address, 8080);
    rig.restart();
    rig.apply();
    assert!(line.is_alive() && is_open(&a.namespace, b.address, 8080));
}

#[test]
fn rules_that_somebody_removed_come_back_with_the_next_change() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    let _b = listen(&b.namespace, 8080, "b");
    let mut other = rig.second("asb");
    rig.host.run(|| other.clear_rules().unwrap());
    rig.policy(serde_json::json!({"podSelector": {}}));
    assert!(is_closed(&a.namespace, b.address, 8080));
}

#[test]
fn clearing_leaves_nothing_and_touches_nothing_of_others() {
    let mut rig = Rig::new();
    let _a = rig.pod("a", 2);
    let mut theirs = rig.second("theirs");
    let rules = asb_core::network::ruleset::compile(asb_core::network::ruleset::Snapshot {
        settings: &rig.settings,
        members: &rig.members,
        namespaces: &std::collections::BTreeMap::new(),
        policies: &[],
        frontends: &[],
    });
    rig.host.run(|| theirs.apply(rules.rules).unwrap());
    let before = theirs.census().unwrap().elements;
    let kernel = &mut rig.kernel;
    rig.host.run(|| kernel.clear().unwrap());
    assert_eq!(rig.kernel.census().unwrap(), super::super::Census::default());
    assert_eq!(links(&rig), 0);
    assert!(!rig.host.ip("addr show dev lo").contains("10.1.0.1"));
    assert_eq!(theirs.census().unwrap().elements, before);
    rig.host.run(|| rig.kernel.clear().unwrap());
}

#[test]
fn a_hundred_pods_come_speak_and_go() {
    let mut rig = Rig::new();
    let pods: Vec<_> = (2..102).map(|last| rig.attached("many", last)).collect();
    rig.apply();
    let (first, last) = (&pods[0], &pods[99]);
    let _last = listen(&last.namespace, 8080, "last");
    assert_eq!(ask(&first.namespace, last.address, 8080), Ok("last 10.1.0.2".to_owned()));
    assert_eq!(links(&rig), 100);
    rig.members.clear();
    rig.apply();
    for pod in &pods {
        let kernel = &mut rig.kernel;
        rig.host.run(|| kernel.detach(&pod.uid, Some(pod.address)).unwrap());
    }
    let census = rig.kernel.census().unwrap();
    assert!(census.links.is_empty() && census.elements.is_empty(), "{census:?}");
    assert_eq!(rig.sweep(&[] as &[&Uid]), 0);
}
