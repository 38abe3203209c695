//! Names as a Pod asks for them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use asb_core::network::names::build;
use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RecordType};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::json;
use tokio::sync::watch;

use super::super::dns::{Outside, Server, View};
use super::rig::{NODE, Namespace, Pod, Rig};

fn resolve(pod: &Pod, name: &str) -> Vec<String> {
    resolve_at(&pod.namespace, NODE, name)
}

/// The addresses behind a name, as a server tells them.
pub(crate) fn resolve_at(namespace: &Namespace, server: Ipv4Addr, name: &str) -> Vec<String> {
    let mut question = Message::query();
    question.add_query(Query::query(Name::from_ascii(name).unwrap(), RecordType::A));
    let socket = namespace.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket.send_to(&question.to_vec().unwrap(), (server, 53)).unwrap();
    let mut buffer = [0; 1500];
    let Ok(length) = socket.recv(&mut buffer) else { return vec!["silence".to_owned()] };
    let answer = Message::from_vec(&buffer[..length]).unwrap();
    let mut found: Vec<_> = answer.answers.iter().map(|record| record.data.to_string()).collect();
    found.sort();
    found
}

fn view(rig: &Rig) -> View {
    let service =
        json!({"metadata": {"namespace": "default", "name": "crew"}, "spec": {"clusterIP": "None"}});
    let slice = json!({
        "metadata": {"namespace": "default", "name": "crew-1", "labels": {"kubernetes.io/service-name": "crew"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.0.2"], "hostname": "first"}, {"addresses": ["10.1.0.3"]}],
    });
    let services: [Service; 1] = [serde_json::from_value(service).unwrap()];
    let slices: [EndpointSlice; 1] = [serde_json::from_value(slice).unwrap()];
    let names = build("cluster.local", vec![rig.settings.range], &services, &slices, &rig.members);
    View { names: Arc::new(names), upstreams: Vec::new(), outside: Outside::Nothing }
}

/// Runs the server on the host while a Pod asks.
fn with_server(rig: &Rig, work: impl FnOnce() + Send + 'static) {
    let view = view(rig);
    let serve = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (_sender, receiver) = watch::channel(view);
            let address = SocketAddr::new(IpAddr::V4(NODE), 53);
            let server = Server::start(address, receiver).await.unwrap();
            tokio::task::spawn_blocking(work).await.unwrap();
            drop(server);
        });
    };
    rig.host.run(serve);
}

#[test]
fn agents_find_each_other_by_name() {
    let mut rig = Rig::new();
    let (a, _b) = (rig.pod("a", 2), rig.pod("b", 3));
    with_server(&rig, move || {
        assert_eq!(resolve(&a, "crew.default.svc.cluster.local."), ["10.1.0.2", "10.1.0.3"]);
        assert_eq!(resolve(&a, "first.crew.default.svc.cluster.local."), ["10.1.0.2"]);
        assert_eq!(resolve(&a, "b-3.default.svc.cluster.local."), ["10.1.0.3"]);
        assert_eq!(resolve(&a, "10-1-0-3.default.pod.cluster.local."), ["10.1.0.3"]);
    });
}

#[test]
fn the_name_server_is_asked_only_by_those_who_may() {
    let mut rig = Rig::new();
    let (a, b) = (rig.pod("a", 2), rig.pod("b", 3));
    rig.policy(json!({"podSelector": {"matchLabels": {"app": "a"}}, "policyTypes": ["Egress"]}));
    let refused = a.namespace.run(|| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        socket.connect((NODE, 53)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket.send(b"?").unwrap();
        socket.recv(&mut [0; 16]).unwrap_err().kind()
    });
    assert_eq!(refused, std::io::ErrorKind::HostUnreachable);
    with_server(&rig, move || assert_eq!(resolve(&b, "b-3.default.svc.cluster.local."), ["10.1.0.3"]));
}
