//! WebSockets that want everything for themselves.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::service::Service;
use super::sockets::{Message, Socket};
use super::wait::until;

fn start(service: &Service, body: &Value) -> String {
    let process = service.post("/v1/processes", body).json();
    format!("/v1/processes/{}/attach", process["id"])
}

/// A frame of a client, with a mask of zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [&[first, 0xfe][..], &length, &[0; 4], payload].concat()
}

#[test]
fn each_socket_has_a_place_among_the_connections() {
    let service = Service::with(&["--max-connections", "4"]);
    let path = start(&service, &json!({"command": ["sleep", "1000"]}));
    let mut open: Vec<Socket> = Vec::new();
    let refused = until("there is no room", || {
        if service.get("/v1/health").status == 503 {
            return Some(open.len());
        }
        open.push(Socket::open(&service, &path));
        None
    });
    assert!(refused <= 4, "{refused}");
    open.clear();
    until("there is room again", || (service.get("/v1/health").status == 200).then_some(()));
}

#[test]
fn answers_that_a_client_does_not_take_stop_its_questions() {
    let service = Service::start();
    let before = service.memory();
    let path = start(&service, &json!({"command": ["sleep", "1000"], "stdin": true}));
    for (what, flood) in [
        ("pings", [0x89, 0x80, 0, 0, 0, 0].repeat(10_000)),
        ("orders that are none", [&[0x81, 0x82, 0, 0, 0, 0][..], b"{}"].concat().repeat(10_000)),
    ] {
        let mut socket = Socket::open(&service, &path);
        let stream = socket.stream();
        stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut taken = 0;
        while taken < 400 && stream.write_all(&flood).is_ok() {
            taken += 1;
        }
        assert!(taken < 400, "{what}: all were taken");
        assert_eq!(service.get("/v1/health").status, 200);
        assert!(service.memory() < before + 8 * 1024, "{what}: {} then {}", before, service.memory());
    }
}

#[test]
fn a_message_in_endless_pieces_is_cut_off() {
    let service = Service::start();
    let path = start(&service, &json!({"command": ["sleep", "1000"], "stdin": true}));
    let mut socket = Socket::open(&service, &path);
    let before = service.memory();
    socket.stream().write_all(&frame(0x02, &vec![7; 60_000])).unwrap();
    let more = frame(0x00, &vec![7; 60_000]);
    // It may have said goodbye before all is sent.
    while socket.stream().write_all(&more).is_ok() {
        if service.memory() > before + 8 * 1024 {
            break;
        }
    }
    assert!(service.memory() < before + 8 * 1024, "{} then {}", before, service.memory());
}

#[test]
fn a_message_that_is_too_large_is_refused_by_name() {
    let service = Service::start();
    let path = start(&service, &json!({"command": ["sleep", "1000"], "stdin": true}));
    let mut socket = Socket::open(&service, &path);
    let announced = [&[0x82, 0xff][..], &u64::MAX.to_be_bytes(), &[0; 4]].concat();
    socket.stream().write_all(&announced).unwrap();
    assert_eq!(socket.next(), Message::Close(1009));
}

#[test]
fn one_who_does_not_read_holds_up_neither_the_process_nor_the_others() {
    let service = Service::with(&["--output-kept", "100000"]);
    let path = start(&service, &json!({"shell": "read x; head -c 20000000 /dev/zero", "stdin": true}));
    let mut reader = Socket::open(&service, &path);
    let silent: Vec<Socket> = (0..8).map(|_| Socket::open(&service, &path)).collect();
    let before = service.memory();
    reader.send(2, b"go\n");
    assert_eq!(reader.rest().1["exit"]["code"], 0);
    assert!(service.memory() < before + 8 * 1024, "{} then {}", before, service.memory());
    drop(silent);
}
