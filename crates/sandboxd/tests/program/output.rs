//! Output that waits for its reader, and output that does not: either way nobody takes a part for the whole.

use std::io::{BufReader, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::requests::{self, lines};
use super::service::Service;
use super::wait::until;

fn start(service: &Service, body: &Value) -> Value {
    let reply = service.post("/v1/processes", body);
    assert_eq!(reply.status, 201, "{}", reply.text());
    reply.json()["id"].clone()
}

fn patient(service: &Service, line: &str) -> Value {
    start(service, &json!({"shell": line, "onOverflow": "wait"}))
}

fn look(service: &Service, id: &Value) -> Value {
    service.get(&format!("/v1/processes/{id}")).json()
}

/// What lines of output say, which begin at this offset and have no gap.
fn joined(lines: &[Value], from: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        assert!(line["lost"].is_null(), "{line}");
        if let Some(base64) = line["data"]["base64"].as_str() {
            assert_eq!(line["data"]["offset"], from + bytes.len() as u64);
            bytes.extend(STANDARD.decode(base64).unwrap());
        }
    }
    bytes
}

/// `1\n2\n3\n…`
fn counted(to: u32) -> String {
    (1..=to).map(|number| number.to_string() + "\n").collect()
}

#[test]
fn a_process_waits_from_its_start_for_a_reader_who_comes_late() {
    let service = Service::start();
    let id = patient(&service, "seq 1 500000");
    until("no more is taken in", || (look(&service, &id)["output"]["to"] == 1024 * 1024).then_some(()));
    let waiting = look(&service, &id);
    assert_eq!((&waiting["state"], &waiting["onOverflow"]), (&json!("running"), &json!("wait")));
    assert_eq!(waiting["output"]["from"], 0);
    let all = service.get(&format!("/v1/processes/{id}/output?follow=true&format=raw"));
    assert_eq!(all.header("x-sandboxd-output-from"), "0");
    assert!(all.text() == counted(500_000), "{} bytes", all.body.len());
    assert_eq!(service.get(&format!("/v1/processes/{id}/wait")).json()["exit"]["code"], 0);
}

#[test]
fn what_was_sent_counts_as_read_only_when_its_reader_asks_on() {
    let service = Service::with(&["--output-kept", "100000"]);
    let id = patient(&service, "seq 1 100000");
    let mut seen = Vec::new();
    let mut broken = 0;
    loop {
        let path = format!("/v1/processes/{id}/output?follow=true&most=60000&from={}", seen.len());
        if seen.len() % 2 == 0 {
            // This one reads the beginning of an answer, and then its connection is gone.
            let mut stream = BufReader::new(service.open("GET", &path, &[]));
            requests::head(&mut stream);
            requests::chunk(&mut stream);
            broken += 1;
        }
        let answer = lines(&service.get(&path).text());
        let more = joined(&answer, seen.len() as u64);
        assert!(more.len() <= 50_000, "half of what is kept, but there are {}", more.len());
        seen.extend(more);
        if answer.last().unwrap()["exit"].is_object() {
            break;
        }
    }
    assert!(String::from_utf8(seen).unwrap() == counted(100_000));
    assert!(broken > 0);
}

#[test]
fn whoever_can_only_write_or_read_does_so_by_turns() {
    let service = Service::with(&["--output-kept", "100000"]);
    let asked = json!({"command": ["sed", "p;p;p;p;p;p;p"], "stdin": true, "onOverflow": "wait"});
    let id = start(&service, &asked);
    let input = counted(60_000).into_bytes();
    let (mut given, mut seen, mut turns) = (0, Vec::new(), 0);
    let read = |seen: &mut Vec<u8>, follow: bool| {
        let path = format!("/v1/processes/{id}/output?most=99999999&follow={follow}&from={}", seen.len());
        let answer = lines(&service.get(&path).text());
        seen.extend(joined(&answer, seen.len() as u64));
        answer.last().is_some_and(|line| line["exit"].is_object())
    };
    while given < input.len() {
        let piece = &input[given..input.len().min(given + 64 * 1024)];
        let path =
            format!("/v1/processes/{id}/stdin?partial=true&close={}", given + piece.len() == input.len());
        let reply = service.request("POST", &path, &[], piece);
        assert_eq!(reply.status, 200, "{}", reply.text());
        let taken = usize::try_from(reply.json()["taken"].as_u64().unwrap()).unwrap();
        given += taken;
        if taken < piece.len() {
            turns += 1;
            read(&mut seen, false);
        }
    }
    while !read(&mut seen, true) {}
    assert!(turns > 0, "it never had to wait");
    assert_eq!(seen.len(), 8 * input.len());
}

#[test]
fn the_end_of_a_process_does_not_hurry_its_reader() {
    let service = Service::with(&["--output-kept", "1000"]);
    let id = patient(&service, "head -c 5000 /dev/zero; echo end");
    // Longer than output is waited for that somebody else may hold open.
    assert_eq!(service.get(&format!("/v1/processes/{id}/wait?timeout=5.5")).json()["state"], "running");
    let all = service.get(&format!("/v1/processes/{id}/output?follow=true&format=raw")).body;
    assert_eq!((all.len(), &all[5000..]), (5004, &b"end\n"[..]));
}

#[test]
fn those_that_wait_for_readers_count_as_running() {
    let service = Service::with(&["--output-kept", "1000", "--max-processes", "1"]);
    let id = patient(&service, "head -c 5000 /dev/zero");
    let pid = look(&service, &id)["pid"].as_i64().unwrap();
    until("it has ended", || (!super::service::runs(pid)).then_some(()));
    let another = json!({"command": ["true"]});
    assert_eq!(service.post("/v1/processes", &another).status, 429);
    assert_eq!(service.get(&format!("/v1/processes/{id}/output?follow=true&format=raw")).body.len(), 5000);
    until("there is room", || (service.post("/v1/processes", &another).status == 201).then_some(()));
}

#[test]
fn whoever_waits_for_a_command_gets_all_of_it_however_little_is_kept() {
    let service = Service::with(&["--output-kept", "100"]);
    let done = service.post("/execute", &json!({"command": "seq 1 20000"})).json();
    assert!(done["stdout"].as_str().unwrap() == counted(20_000));
}

#[test]
fn raw_output_says_where_it_begins() {
    let service = Service::with(&["--output-kept", "1000"]);
    let id = start(&service, &json!({"shell": "seq 1 1000"}));
    assert_eq!(service.get(&format!("/v1/processes/{id}/wait")).json()["output"]["from"], 2893);
    let rest = service.get(&format!("/v1/processes/{id}/output?format=raw&follow=true"));
    assert_eq!((rest.header("x-sandboxd-output-from"), rest.body.len()), ("2893", 1000));
    let last = service.get(&format!("/v1/processes/{id}/output?format=raw&from=3888"));
    assert_eq!((last.header("x-sandboxd-output-from"), last.text()), ("3888", "1000\n".to_owned()));
}

#[test]
fn raw_output_breaks_off_rather_than_hide_a_gap() {
    let service = Service::with(&["--output-kept", "100000"]);
    let asked = json!({"shell": "read x; head -c 50000000 /dev/zero", "stdin": true});
    let id = start(&service, &asked);
    let slow = service.open("GET", &format!("/v1/processes/{id}/output?follow=true&format=raw"), &[]);
    service.request("POST", &format!("/v1/processes/{id}/stdin"), &[], b"go\n");
    service.get(&format!("/v1/processes/{id}/wait"));
    let mut answer = Vec::new();
    // By a chunk that does not come, or by the connection.
    let _ = BufReader::new(slow).read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 200") && !answer.ends_with(b"0\r\n\r\n"));
}
