//! HTTP/2 as it should not be, and gRPC that lies.

use std::io::Write;
use std::time::Duration;

use super::grpc::Client;
use super::http2::{
    CONTINUATION, Connection, DATA, END_HEADERS, END_STREAM, End, HEADERS, PING, PREFACE, RST_STREAM,
    SETTINGS, WINDOW_UPDATE, frame, request,
};
use super::requests::connect;
use super::service::Service;

const PROTOCOL_ERROR: u32 = 1;
const ENHANCE_YOUR_CALM: u32 = 11;
const INVALID_ARGUMENT: u16 = 3;
const RESOURCE_EXHAUSTED: u16 = 8;
const UNIMPLEMENTED: u16 = 12;
const EXECUTE: &str = "process.v1.ProcessService/Execute";
/// More than any limit or buffer.
const FLOOD: usize = 200 * 1024 * 1024;

/// What one client does costs the others nothing.
fn unharmed(service: &Service, before: u64, attack: impl FnOnce(&Service)) {
    attack(service);
    assert_eq!(service.get("/v1/health").status, 200);
    assert_eq!(Client::connect(service).execute(&["true"]).unwrap().exit_code, 0);
    assert!(service.memory() < before + 16 * 1024, "{} then {}", before, service.memory());
}

#[test]
fn frames_that_are_wrong_end_the_connection_with_a_word() {
    let service = Service::start();
    let head = request("GET", "/v1/health", &[]);
    for (what, bytes) in [
        ("too large", [&[0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1][..], &vec![0; 20_000]].concat()),
        ("data of no stream", frame(DATA, 0, 0, b"x")),
        ("an even stream", frame(HEADERS, END_HEADERS | END_STREAM, 2, &head)),
        ("a continuation of nothing", frame(CONTINUATION, END_HEADERS, 1, &head)),
        ("a window beyond all", frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff])),
        ("a short ping", frame(PING, 0, 0, b"x")),
        ("settings with a rest", frame(SETTINGS, 0, 0, &[0; 7])),
        ("no fields", frame(HEADERS, END_HEADERS, 1, &[0xff; 20])),
    ] {
        let mut connection = Connection::open(service.port);
        connection.0.write_all(&bytes).unwrap();
        let end = connection.end();
        assert!(matches!(end, End::Goaway(1..)), "{what}: {end:?}");
    }
}

#[test]
fn an_endless_head_is_cut_off() {
    let service = Service::start();
    let field = [&[0, 1, b'x', 120][..], &[b'y'; 120]].concat().repeat(100);
    // Frames that hold nothing cost something too.
    for more in [frame(CONTINUATION, 0, 1, &field), frame(CONTINUATION, 0, 1, &[]).repeat(1000)] {
        unharmed(&service, service.memory(), |service| {
            let mut connection = Connection::open(service.port);
            connection.0.write_all(&frame(HEADERS, 0, 1, &request("GET", "/", &[]))).unwrap();
            connection.flood(&more, FLOOD);
            // It is over, though the head is not.
            connection.end();
        });
    }
}

#[test]
fn requests_that_are_taken_back_at_once_do_not_pile_up() {
    let service = Service::start();
    unharmed(&service, service.memory(), |service| {
        let mut connection = Connection::open(service.port);
        let body = request("PUT", "/v1/files/x", &[]);
        let pair = |stream: u32| {
            let cancelled = frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]);
            [frame(HEADERS, END_HEADERS, stream, &body), cancelled].concat()
        };
        let all: Vec<u8> = (0..50_000).flat_map(|number| pair(2 * number + 1)).collect();
        // It may be closed before all are sent.
        let _ = connection.0.write_all(&all);
        assert!([End::Goaway(ENHANCE_YOUR_CALM), End::Closed].contains(&connection.end()));
    });
}

#[test]
fn questions_to_which_nobody_hears_the_answers_do_not_pile_up() {
    let service = Service::start();
    for question in [
        frame(PING, 0, 0, b"12345678"),
        frame(SETTINGS, 0, 0, &[]),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &request("GET", "/v1/health", &[])),
    ] {
        unharmed(&service, service.memory(), |service| {
            let mut connection = Connection::open(service.port);
            connection.0.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
            if connection.flood(&question.repeat(1000), FLOOD) == FLOOD {
                // What was thrown away is no more than the rest of a connection that is over.
                connection.end();
            }
        });
    }
}

#[test]
fn an_answer_that_nobody_takes_is_not_held_in_memory() {
    let service = Service::start();
    std::fs::write(service.root().join("large"), vec![7; 20_000_000]).unwrap();
    unharmed(&service, service.memory(), |service| {
        let mut connection = Connection::open(service.port);
        let head = request("GET", "/v1/files/large", &[]);
        for number in 0..8 {
            let asked = frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &head);
            connection.0.write_all(&asked).unwrap();
        }
        assert_eq!(service.get("/v1/files/large").body.len(), 20_000_000);
    });
}

#[test]
fn whoever_says_nothing_after_the_beginning_is_not_waited_for() {
    let service = Service::with(&["--idle-seconds", "1"]);
    for begun in [&b""[..], &frame(SETTINGS, 0, 0, &[]), &frame(HEADERS, 0, 1, &request("GET", "/", &[]))] {
        let mut stream = connect(service.port);
        stream.write_all(&[PREFACE, begun].concat()).unwrap();
        let end = Connection(stream).end();
        assert!([End::Goaway(0), End::Goaway(PROTOCOL_ERROR), End::Closed].contains(&end), "{end:?}");
    }
}

#[test]
fn lengths_that_are_not_true_are_refused() {
    let service = Service::start();
    for (what, body, status) in [
        ("as large as can be said", [&[0, 0xff, 0xff, 0xff, 0xff][..], b"x"].concat(), RESOURCE_EXHAUSTED),
        ("more than there is", vec![0, 0, 0, 0, 10, 1, 2], INVALID_ARGUMENT),
        ("less than there is", vec![0, 0, 0, 0, 0, 10, 0], INVALID_ARGUMENT),
        ("compressed", vec![1, 0, 0, 0, 0], UNIMPLEMENTED),
        ("a flag that there is not", vec![9, 0, 0, 0, 0], UNIMPLEMENTED),
        ("no message", Vec::new(), INVALID_ARGUMENT),
        ("half a head", vec![0, 0, 0], INVALID_ARGUMENT),
        ("two messages", vec![0; 10], INVALID_ARGUMENT),
        ("a field longer than its message", vec![0, 0, 0, 0, 3, 10, 0x7f, 0], INVALID_ARGUMENT),
        ("a field without an end", vec![0, 0, 0, 0, 2, 0xff, 0xff], INVALID_ARGUMENT),
        ("more than is taken", vec![0; 5_000_000], RESOURCE_EXHAUSTED),
    ] {
        assert_eq!(Client::connect(&service).status(EXECUTE, &body), status, "{what}");
    }
    assert_eq!(Client::connect(&service).execute(&["true"]).unwrap().exit_code, 0);
}
