//! Requests that were good once, with some of their bytes changed, to every port of the real program: whatever arrives, it answers or
//! closes, and goes on.

use std::io::{Read, Write};
use std::net::Shutdown;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use super::http2::{DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, frame, request};
use super::requests::connect;
use super::service::Service;

/// For each port.
const CASES: u32 = 150;

/// What is done to a request.
#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Cut(Index),
    Remove(Index, usize),
    Repeat(Index, usize),
    Insert(Index, Vec<u8>),
}

/// None of them starts a program that there is.
fn seeds() -> Vec<Vec<u8>> {
    let plain = |head: &str, body: &str| {
        format!("{head} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    };
    let form = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\ntext\r\n--b--";
    let upgrade = "GET /v1/processes/1/attach HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let fields = [("content-type", "application/grpc"), ("te", "trailers")];
    let call = request("POST", "/process.v1.ProcessService/Execute", &fields);
    let message = [&[0, 0, 0, 0, 8, 10, 6, 10, 4][..], b"/no/"].concat();
    vec![
        plain("GET /v1/files/dir?recursive=true", ""),
        plain("PUT /v1/files/a?mode=0644", "content"),
        plain("POST /v1/processes", r#"{"command": ["/no/such/program"], "cwd": "dir", "env": {"A": "b"}}"#),
        plain("POST /execute", r#"{"command": "/no/such/program"}"#),
        plain("POST /v1/move", r#"{"from": "a", "to": "b", "overwrite": true}"#),
        plain("POST /v1/processes/1/stdin?close=true", "input"),
        plain("GET /v1/processes/1/output?from=0&most=9&format=raw", ""),
        format!(
            "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n\
             Content-Length: {}\r\n\r\n{form}",
            form.len()
        )
        .into_bytes(),
        b"PUT /v1/files/c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n"
            .to_vec(),
        b"GET /v1/files/a HTTP/1.1\r\nHost: x\r\nRange: bytes=0-1\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"
            .to_vec(),
        [upgrade.as_bytes(), &[0x82, 0x83, 1, 2, 3, 4, 5, 6, 7, 0x88, 0x80, 0, 0, 0, 0]].concat(),
        [
            PREFACE,
            &frame(SETTINGS, 0, 0, &[]),
            &frame(HEADERS, END_HEADERS, 1, &call),
            &frame(DATA, END_STREAM, 1, &message),
            &frame(HEADERS, END_HEADERS | END_STREAM, 3, &request("GET", "/v1/files/", &[])),
        ]
        .concat(),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        1 => any::<Index>().prop_map(Change::Cut),
        1 => (any::<Index>(), 1_usize..20).prop_map(|(at, length)| Change::Remove(at, length)),
        1 => (any::<Index>(), 1_usize..2000).prop_map(|(at, times)| Change::Repeat(at, times)),
        1 => (any::<Index>(), vec(any::<u8>(), 1..40)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
    ]
}

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let length = bytes.len();
        if length == 0 {
            break;
        }
        match change {
            Change::Set(at, byte) => bytes[at.index(length)] = *byte,
            Change::Cut(at) => bytes.truncate(at.index(length)),
            Change::Remove(at, count) => {
                let from = at.index(length);
                bytes.drain(from..length.min(from + count));
            }
            Change::Repeat(at, times) => {
                let at = at.index(length);
                bytes.splice(at..at, vec![bytes[at]; *times]);
            }
            Change::Insert(at, more) => {
                let at = at.index(length);
                bytes.splice(at..at, more.iter().copied());
            }
        }
    }
    bytes
}

/// Sends it, says that no more comes, and reads to the end.
fn send(port: u16, bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut stream = connect(port);
    // It may be closed before all is sent.
    let _ = stream.write_all(bytes).and_then(|()| stream.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
            Err(TestCaseError::fail("it neither answers nor closes"))
        }
        _ => Ok(()),
    }
}

#[test]
fn whatever_arrives_it_answers_or_closes_and_goes_on() {
    let mut service = Service::on_all_ports(&["--idle-seconds", "2", "--stall-seconds", "2"]);
    let before = service.memory();
    let seeds = seeds();
    for port in service.ports.clone() {
        for seed in &seeds {
            send(port, seed).unwrap();
        }
        let mut runner =
            TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
        let mutated = (0..seeds.len(), vec(change(), 1..6));
        let tried =
            runner.run(&mutated, |(seed, changes)| send(port, &changed(seeds[seed].clone(), &changes)));
        tried.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(super::requests::head(&mut std::io::BufReader::new(ask(port))).0, 200);
    }
    assert!(service.child.try_wait().unwrap().is_none(), "it has ended");
    assert!(service.memory() < before + 16 * 1024, "{} then {}", before, service.memory());
    assert_eq!(std::fs::read_to_string(service.home.path().join("secret")).unwrap(), "outside");
}

fn ask(port: u16) -> std::net::TcpStream {
    super::requests::open(port, "GET", "/v1/health", &[("Connection", "close")])
}
