//! What one client may cost the others.

use std::io::{BufReader, Read, Write};

use serde_json::json;

use super::requests;
use super::service::Service;

#[test]
fn a_head_that_does_not_come_to_its_end_is_not_waited_for() {
    let service = Service::on_all_ports(&["--idle-seconds", "1"]);
    let begun = [&b""[..], b"GE", b"GET / HTTP/1.1\r\nX: ", b"PRI * HT"];
    let slow = service.ports.iter().flat_map(|port| begun.map(|begun| (*port, begun)));
    let opened = slow.map(|(port, begun)| {
        let mut stream = requests::connect(port);
        stream.write_all(begun).unwrap();
        (stream, begun)
    });
    for (mut stream, begun) in opened.collect::<Vec<_>>() {
        let mut rest = Vec::new();
        // It ends, with an answer or without.
        assert!(stream.read_to_end(&mut rest).is_ok(), "{begun:?}");
    }
}

#[test]
fn a_head_that_comes_byte_by_byte_is_not_waited_for_either() {
    let service = Service::with(&["--idle-seconds", "1"]);
    let mut stream = service.open("GET", "/v1/health", &[("X-First", "1")]);
    requests::head(&mut BufReader::new(stream.try_clone().unwrap()));
    stream.write_all(b"GET /v1/health HTTP/1.1\r\nX: ").unwrap();
    super::wait::until("it is closed", || stream.write_all(b"x").is_err().then_some(()));
}

#[test]
fn a_body_that_does_not_go_on_is_not_waited_for() {
    let service = Service::with(&["--stall-seconds", "1"]);
    let mut stream = service.open("PUT", "/v1/files/x", &[("Content-Length", "10"), ("Connection", "close")]);
    stream.write_all(b"half").unwrap();
    assert_eq!(requests::read(&mut BufReader::new(stream), "PUT").status, 408);
    assert_eq!(std::fs::read_dir(service.root()).unwrap().count(), 0);
}

#[test]
fn there_are_only_so_many_connections() {
    let service = Service::with(&["--max-connections", "2"]);
    let held = [service.connect(), service.connect()];
    super::wait::until("the third is refused", || (service.get("/v1/health").status == 503).then_some(()));
    drop(held);
    super::wait::until("there is room again", || (service.get("/v1/health").status == 200).then_some(()));
}

#[test]
fn heads_and_bodies_have_their_size() {
    let service = Service::with(&[
        "--max-request-bytes",
        "1000",
        "--max-upload-bytes",
        "2000",
        "--max-header-bytes",
        "8192",
    ]);
    let long = "x".repeat(20_000);
    assert_eq!(service.request("GET", "/v1/health", &[("X-Long", &long)], b"").status, 431);
    assert_eq!(service.post("/v1/processes", &json!({"shell": "x".repeat(2000)})).status, 413);
    assert_eq!(service.post("/execute", &json!({"command": "x".repeat(2000)})).status, 413);
    assert_eq!(service.put("/v1/files/x", &[0; 2001]).status, 413);
    assert_eq!(service.put("/v1/files/x", &[0; 2000]).status, 204);
    let (body, headers) = requests::form("y", &[0; 2001]);
    assert_eq!(service.request("POST", "/upload", &headers, &body).status, 413);
    assert_eq!(std::fs::read_dir(service.root()).unwrap().count(), 1);
}

#[test]
fn the_output_of_a_command_is_cut_and_that_is_said() {
    let service = Service::with(&["--max-output-bytes", "1000"]);
    let done = service.post("/execute", &json!({"command": "head -c 5000 /dev/zero"})).json();
    assert_eq!((done["stdout"].as_str().unwrap().len(), &done["truncated"]), (1000, &json!(true)));
    assert!(done["stderr"].as_str().unwrap().contains("cut off"));
}

#[test]
fn there_are_only_so_many_watches() {
    let service = Service::with(&["--max-watchers", "1"]);
    let mut held = BufReader::new(service.open("GET", "/v1/watch/", &[]));
    requests::head(&mut held);
    assert_eq!(service.get("/v1/watch/").status, 429);
    drop(held);
    let again = || {
        let mut stream = BufReader::new(service.open("GET", "/v1/watch/", &[]));
        (requests::head(&mut stream).0 == 200).then_some(())
    };
    super::wait::until("the first is over", again);
}
