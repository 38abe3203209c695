//! A server, a client, and somebody who plays the world outside.

use std::net::Ipv4Addr;
use std::time::Duration;

use asb_core::network::member::Member;
use asb_core::network::names;
use asb_core::object::Key;
use hickory_proto::op::{Message, MessageType, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, TXT};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::serve::{read, write};
use super::*;

const PATIENCE: Duration = Duration::from_secs(10);
const LOCAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Answers every question with an address, or with more text than a datagram holds.
async fn world() -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind(LOCAL).await.unwrap();
    let address = listener.local_addr().unwrap();
    let socket = UdpSocket::bind(address).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut buffer = [0; 4096];
        while let Ok((length, client)) = socket.recv_from(&mut buffer).await {
            let answer = worldly(&buffer[..length]);
            let answer = if answer.answers.len() > 1 { answer.truncate() } else { answer };
            socket.send_to(&answer.to_vec().unwrap(), client).await.unwrap();
        }
    });
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let question = read(&mut stream).await.unwrap();
            write(&mut stream, &worldly(&question).to_vec().unwrap()).await.unwrap();
        }
    });
    (address, tasks)
}

fn worldly(question: &[u8]) -> Message {
    let mut answer = Message::from_vec(question).unwrap();
    answer.metadata.message_type = MessageType::Response;
    let name = answer.queries[0].name().clone();
    if answer.queries[0].query_type() == RecordType::TXT {
        let text = || RData::TXT(TXT::new(vec!["x".repeat(250)]));
        answer.add_answers((0..20).map(|_| Record::from_rdata(name.clone(), 60, text())).collect::<Vec<_>>());
    } else {
        answer.add_answer(Record::from_rdata(name, 60, RData::A(A(Ipv4Addr::new(93, 184, 216, 34)))));
    }
    answer
}

struct Rig {
    server: Server,
    view: watch::Sender<View>,
    _world: JoinSet<()>,
}

async fn rig() -> Rig {
    let member = Member {
        key: Key::new("default", "agent"),
        uid: "u".into(),
        address: Ipv4Addr::new(10, 1, 0, 9),
        labels: std::collections::BTreeMap::new(),
        ports: Vec::new(),
        has_token: false,
    };
    let (services, slices): (Vec<Service>, Vec<EndpointSlice>) = (Vec::new(), Vec::new());
    let names = names::build("cluster.local", Vec::new(), &services, &slices, &[member]);
    let (world_address, world_tasks) = world().await;
    let view = View { names: Arc::new(names), upstreams: vec![world_address], outside: Outside::Everything };
    let (sender, receiver) = watch::channel(view);
    let server = Server::start(LOCAL, receiver).await.unwrap();
    Rig { server, view: sender, _world: world_tasks }
}

fn question(name: &str, kind: RecordType) -> Message {
    let mut question = Message::query();
    question.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    question
}

async fn ask(rig: &Rig, name: &str, kind: RecordType) -> Message {
    let socket = UdpSocket::bind(LOCAL).await.unwrap();
    let asked = question(name, kind);
    socket.send_to(&asked.to_vec().unwrap(), rig.server.address()).await.unwrap();
    let mut buffer = [0; 4096];
    let length = timeout(PATIENCE, socket.recv(&mut buffer)).await.expect("an answer").unwrap();
    let answer = Message::from_vec(&buffer[..length]).unwrap();
    assert_eq!((answer.metadata.id, &answer.queries), (asked.metadata.id, &asked.queries));
    answer
}

fn addresses(answer: &Message) -> Vec<String> {
    answer.answers.iter().map(|record| record.data.to_string()).collect()
}

#[tokio::test]
async fn names_of_the_cluster_are_answered_from_memory_and_others_by_the_world() {
    let rig = rig().await;
    let ours = ask(&rig, "agent.default.svc.cluster.local.", RecordType::A).await;
    assert_eq!(addresses(&ours), ["10.1.0.9"]);
    assert!(ours.metadata.authoritative);
    let theirs = ask(&rig, "example.com.", RecordType::A).await;
    assert_eq!(addresses(&theirs), ["93.184.216.34"]);
}

#[tokio::test]
async fn what_is_not_there_is_said_with_how_long_that_holds() {
    let rig = rig().await;
    let none = ask(&rig, "nobody.default.svc.cluster.local.", RecordType::A).await;
    assert_eq!(none.metadata.response_code, ResponseCode::NXDomain);
    assert_eq!(none.authorities[0].record_type(), RecordType::SOA);
    let v6 = ask(&rig, "agent.default.svc.cluster.local.", RecordType::AAAA).await;
    assert_eq!((v6.metadata.response_code, v6.answers.len()), (ResponseCode::NoError, 0));
}

#[tokio::test]
async fn private_names_and_all_others_can_be_kept_from_pods() {
    let rig = rig().await;
    rig.view.send_modify(|view| view.outside = Outside::Public);
    let private = ask(&rig, "printer.lan.", RecordType::A).await;
    assert_eq!(private.metadata.response_code, ResponseCode::Refused);
    assert_eq!(addresses(&ask(&rig, "example.com.", RecordType::A).await), ["93.184.216.34"]);
    rig.view.send_modify(|view| view.outside = Outside::Nothing);
    assert_eq!(ask(&rig, "example.com.", RecordType::A).await.metadata.response_code, ResponseCode::Refused);
    assert_eq!(addresses(&ask(&rig, "agent.default.svc.cluster.local.", RecordType::A).await), ["10.1.0.9"]);
}

#[tokio::test]
async fn a_long_answer_comes_over_a_stream() {
    let rig = rig().await;
    let cut = ask(&rig, "long.example.", RecordType::TXT).await;
    assert!(cut.metadata.truncation && cut.answers.is_empty());
    let mut stream = TcpStream::connect(rig.server.address()).await.unwrap();
    write(&mut stream, &question("long.example.", RecordType::TXT).to_vec().unwrap()).await.unwrap();
    let whole = timeout(PATIENCE, read(&mut stream)).await.unwrap().unwrap();
    assert_eq!(Message::from_vec(&whole).unwrap().answers.len(), 20);
}

#[tokio::test]
async fn without_servers_the_world_is_a_failure_and_the_cluster_is_not() {
    let rig = rig().await;
    rig.view.send_modify(|view| view.upstreams = vec![rig.server.address()]);
    let failed = ask(&rig, "example.com.", RecordType::A).await;
    assert_eq!(failed.metadata.response_code, ResponseCode::ServFail);
}

#[tokio::test]
async fn rubbish_is_refused_and_answers_are_not_answered() {
    let own = LOCAL;
    let view = View::default();
    let rubbish = [7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 63];
    let answer = reply(&rubbish, &view, own, Transport::Datagram).await.unwrap();
    assert_eq!(Message::from_vec(&answer).unwrap().metadata.response_code, ResponseCode::FormErr);
    let mut response = question("example.com.", RecordType::A);
    response.metadata.message_type = MessageType::Response;
    assert!(reply(&response.to_vec().unwrap(), &view, own, Transport::Datagram).await.is_none());
    assert!(reply(&[1, 2, 3], &view, own, Transport::Datagram).await.is_none());
}
