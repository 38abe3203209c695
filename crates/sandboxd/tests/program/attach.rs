//! Processes over WebSockets.

use serde_json::{Value, json};

use super::service::{Service, runs};
use super::sockets::{Message, Socket, UPGRADE};
use super::wait::until;

fn start(service: &Service, body: &Value) -> (u64, i64) {
    let process = service.post("/v1/processes", body).json();
    (process["id"].as_u64().unwrap(), process["pid"].as_i64().unwrap())
}

#[test]
fn input_goes_in_and_output_comes_out_with_offsets() {
    let service = Service::start();
    let (id, _) = start(&service, &json!({"shell": "cat; echo end >&2", "stdin": true}));
    let mut socket = Socket::open(&service, &format!("/v1/processes/{id}/attach"));
    socket.send(2, b"hello");
    assert_eq!(socket.next(), Message::Output(1, 0, b"hello".to_vec()));
    socket.send(9, b"");
    assert_eq!(socket.next(), Message::Pong);
    socket.send(2, b" again");
    assert_eq!(socket.next(), Message::Output(1, 5, b" again".to_vec()));
    socket.order(&json!({"closeStdin": {}}));
    assert_eq!(socket.next(), Message::Output(2, 11, b"end\n".to_vec()));
    assert_eq!(socket.next(), Message::Text(json!({"exit": {"code": 0, "timedOut": false}})));
    assert_eq!(socket.next(), Message::Close(1000));
}

#[test]
fn a_terminal_is_used_resized_and_interrupted() {
    let service = Service::start();
    let (id, _) =
        start(&service, &json!({"command": ["sh"], "pty": {"cols": 80, "rows": 24}, "env": {"PS1": "$ "}}));
    let mut socket = Socket::open(&service, &format!("/v1/processes/{id}/attach"));
    socket.order(&json!({"resize": {"cols": 33, "rows": 11}}));
    socket.send(2, b"stty size; sleep 1000\n");
    let mut seen = String::new();
    while !seen.contains("11 33") {
        if let Message::Output(3, _, bytes) = socket.next() {
            seen.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    // Typed, and so for the foreground of the terminal alone: the shell goes on.
    until("the sleeper is in front", || foreground_sleeps(&service).then_some(()));
    socket.send(2, &[3]);
    socket.send(2, b"exit 5\n");
    assert_eq!(socket.rest().1["exit"]["code"], 5);
}

/// Whether a child of a child of ours sleeps.
fn foreground_sleeps(service: &Service) -> bool {
    let shell = children(service.child.id());
    shell.iter().flat_map(|shell| children(*shell)).any(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sleep")
    })
}

fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[test]
fn whoever_comes_back_goes_on_where_they_were() {
    let service = Service::start();
    let (id, pid) = start(&service, &json!({"command": ["cat"], "stdin": true}));
    let mut socket = Socket::open(&service, &format!("/v1/processes/{id}/attach"));
    socket.send(2, b"first");
    assert_eq!(socket.next(), Message::Output(1, 0, b"first".to_vec()));
    drop(socket);
    let mut again = Socket::open(&service, &format!("/v1/processes/{id}/attach?from=3"));
    assert_eq!(again.next(), Message::Output(1, 3, b"st".to_vec()));
    again.order(&json!({"signal": "KILL"}));
    assert_eq!(again.rest().1["exit"]["signal"], "SIGKILL");
    assert!(!runs(pid));
}

#[test]
fn a_process_dies_with_its_client_if_it_should() {
    let service = Service::start();
    let (id, pid) = start(&service, &json!({"command": ["sleep", "1000"], "onDisconnect": "kill"}));
    drop(Socket::open(&service, &format!("/v1/processes/{id}/attach")));
    until("it is killed", || (!runs(pid)).then_some(()));
}

#[test]
fn a_client_that_does_not_read_is_told_what_it_lost() {
    let service = Service::with(&["--output-kept", "100000"]);
    let (id, _) =
        start(&service, &json!({"shell": "read x; head -c 30000000 /dev/zero; echo done", "stdin": true}));
    let mut slow = Socket::open(&service, &format!("/v1/processes/{id}/attach"));
    slow.send(2, b"go\n");
    // It comes to its end all the same.
    assert_eq!(service.get(&format!("/v1/processes/{id}/wait")).json()["exit"]["code"], 0);
    let (mut expected, mut lost) = (0, 0);
    loop {
        match slow.next() {
            Message::Output(_, offset, bytes) => {
                assert_eq!(offset, expected);
                expected += bytes.len() as u64;
            }
            Message::Text(text) if text["lost"].is_object() => {
                assert_eq!(text["lost"]["from"], expected);
                let to = text["lost"]["to"].as_u64().unwrap();
                lost += to - expected;
                expected = to;
            }
            Message::Text(_) | Message::Pong => {}
            Message::Close(_) => break,
        }
    }
    assert_eq!(expected, 30_000_005);
    assert!(lost > 0);
}

#[test]
fn a_process_that_does_not_read_holds_up_only_its_writer() {
    let service = Service::start();
    let before = service.memory();
    let (id, _) = start(&service, &json!({"command": ["sleep", "1000"], "stdin": true}));
    let mut socket = Socket::open(&service, &format!("/v1/processes/{id}/attach"));
    let stream = socket.stream();
    stream.set_nonblocking(true).unwrap();
    let chunk = [vec![0x82, 0xfe], 60_000_u16.to_be_bytes().to_vec(), vec![0; 60_004]].concat();
    let mut sent = 0;
    until("no more is taken", || match std::io::Write::write(stream, &chunk[sent % chunk.len()..]) {
        Ok(length) => {
            sent += length;
            None
        }
        Err(_) => Some(()),
    });
    assert_eq!(service.get("/v1/health").status, 200);
    assert!(service.memory() < before + 8 * 1024, "{} then {}", before, service.memory());
}

#[test]
fn mistakes_are_told_and_bad_frames_end_it() {
    let service = Service::start();
    let (id, _) = start(&service, &json!({"command": ["sleep", "1000"]}));
    let mut socket = Socket::open(&service, &format!("/v1/processes/{id}/attach"));
    for (order, code) in [
        (json!({"dance": {}}), "INVALID_ARGUMENT"),
        (json!({"resize": {"cols": 1, "rows": 1}}), "FAILED_PRECONDITION"),
        (json!({"signal": "SIGNONE"}), "INVALID_ARGUMENT"),
    ] {
        socket.order(&order);
        let Message::Text(answer) = socket.next() else { panic!("no answer to {order}") };
        assert_eq!(answer["error"]["code"], code);
    }
    socket.send(3, b"");
    assert_eq!(socket.next(), Message::Close(1002));
}

#[test]
fn plain_requests_and_pages_of_others_are_refused() {
    let service = Service::start();
    let (id, _) = start(&service, &json!({"command": ["sleep", "1000"]}));
    let path = format!("/v1/processes/{id}/attach");
    assert_eq!(service.get(&path).status, 400);
    let foreign = [&UPGRADE[..], &[("Origin", "https://evil.example")]].concat();
    assert_eq!(service.request("GET", &path, &foreign, b"").status, 403);
    assert_eq!(service.request("POST", "/execute", &[("Origin", "https://evil.example")], b"{}").status, 403);
    let (unknown, headers) = ("/v1/processes/99/attach", UPGRADE);
    assert_eq!(service.request("GET", unknown, &headers, b"").status, 404);
}
