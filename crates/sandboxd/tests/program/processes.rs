//! Processes over HTTP: ours.

use std::io::BufReader;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::requests::{self, lines};
use super::service::{Service, runs};
use super::wait::until;

fn start(service: &Service, body: &Value) -> Value {
    let reply = service.post("/v1/processes", body);
    assert_eq!(reply.status, 201, "{}", reply.text());
    reply.json()
}

fn ended(service: &Service, id: &Value) -> Value {
    service.get(&format!("/v1/processes/{id}/wait")).json()
}

fn raw(service: &Service, id: &Value) -> String {
    service.get(&format!("/v1/processes/{id}/output?format=raw&follow=true")).text()
}

#[test]
fn a_process_is_started_followed_and_remembered() {
    let service = Service::start();
    let asked =
        json!({"command": ["sh", "-c", "echo $A; pwd >&2; exit 7"], "env": {"A": "b"}, "tag": "mine"});
    let process = start(&service, &asked);
    assert_eq!(
        (&process["id"], &process["tag"], &process["state"]),
        (&json!(1), &json!("mine"), &json!("running"))
    );
    let done = ended(&service, &json!(1));
    assert_eq!((&done["state"], &done["exit"]["code"]), (&json!("exited"), &json!(7)));
    let output = lines(&service.get("/v1/processes/1/output").text());
    assert!(
        output
            .contains(&json!({"data": {"offset": 0, "stream": "stdout", "base64": STANDARD.encode("b\n")}}))
            || output.len() > 2
    );
    assert_eq!(output.last().unwrap(), &json!({"exit": {"code": 7, "timedOut": false}}));
    assert_eq!(service.get("/v1/processes?tag=mine").json()["processes"].as_array().unwrap().len(), 1);
    assert_eq!(service.get("/v1/processes?tag=other").json()["processes"].as_array().unwrap().len(), 0);
    assert_eq!(service.delete("/v1/processes/1").status, 204);
    assert_eq!(service.get("/v1/processes/1").status, 404);
}

#[test]
fn output_is_had_again_from_any_offset_and_what_is_lost_is_said() {
    let service = Service::with(&["--output-kept", "1000"]);
    let id = start(
        &service,
        &json!({"shell": "i=0; while [ $i -lt 500 ]; do echo line-$i; i=$((i+1)); done"}),
    )["id"]
        .clone();
    let done = ended(&service, &id);
    let (from, to) = (done["output"]["from"].as_u64().unwrap(), done["output"]["to"].as_u64().unwrap());
    assert_eq!(to - from, 1000);
    let first = &lines(&service.get(&format!("/v1/processes/{id}/output")).text())[0];
    assert_eq!(first, &json!({"lost": {"from": 0, "to": from}}));
    let tail = service.get(&format!("/v1/processes/{id}/output?format=raw&from={}", to - 9)).text();
    assert_eq!(tail, "line-499\n");
}

#[test]
fn output_is_followed_as_it_comes() {
    let service = Service::start();
    let id = start(&service, &json!({"command": ["cat"], "stdin": true}))["id"].clone();
    let mut stream = BufReader::new(service.open(
        "GET",
        &format!("/v1/processes/{id}/output?format=raw&follow=true"),
        &[],
    ));
    assert_eq!(requests::head(&mut stream).0, 200);
    for text in ["one", "two"] {
        assert_eq!(
            service.request("POST", &format!("/v1/processes/{id}/stdin"), &[], text.as_bytes()).status,
            204
        );
        assert_eq!(requests::chunk(&mut stream).unwrap(), text.as_bytes());
    }
    assert_eq!(
        service.request("POST", &format!("/v1/processes/{id}/stdin?close=true"), &[], b"").status,
        204
    );
    assert_eq!(requests::chunk(&mut stream), None);
    assert_eq!(ended(&service, &id)["exit"]["code"], 0);
    let late = service.request("POST", &format!("/v1/processes/{id}/stdin"), &[], b"x");
    assert_eq!((late.status, &late.json()["code"]), (412, &json!("FAILED_PRECONDITION")));
}

#[test]
fn a_terminal_has_a_size_that_can_change() {
    let service = Service::start();
    let asked = json!({"shell": "stty size; read x; stty size; test -t 0 && echo terminal", "pty": {"cols": 100, "rows": 30}});
    let id = start(&service, &asked)["id"].clone();
    until("it has said its size", || {
        service.get(&format!("/v1/processes/{id}/output?format=raw")).text().contains("30 100").then_some(())
    });
    assert_eq!(
        service.post(&format!("/v1/processes/{id}/resize"), &json!({"cols": 50, "rows": 20})).status,
        204
    );
    service.request("POST", &format!("/v1/processes/{id}/stdin"), &[], b"go\n");
    let output = raw(&service, &id);
    assert!(output.contains("20 50") && output.contains("terminal"), "{output}");
    let plain = start(&service, &json!({"command": ["sleep", "1000"]}))["id"].clone();
    assert_eq!(
        service.post(&format!("/v1/processes/{plain}/resize"), &json!({"cols": 5, "rows": 5})).status,
        412
    );
}

#[test]
fn signals_go_to_the_whole_group() {
    let service = Service::start();
    let id = start(&service, &json!({"shell": "sleep 1000 & echo $!; wait"}))["id"].clone();
    let child = until("the child is known", || {
        service.get(&format!("/v1/processes/{id}/output?format=raw")).text().trim().parse::<i64>().ok()
    });
    assert_eq!(
        service.post(&format!("/v1/processes/{id}/signal"), &json!({"signal": "SIGTERM"})).status,
        204
    );
    assert_eq!(ended(&service, &id)["exit"], json!({"code": 143, "signal": "SIGTERM", "timedOut": false}));
    until("the child is gone", || (!runs(child)).then_some(()));
    assert_eq!(service.post(&format!("/v1/processes/{id}/signal"), &json!({"signal": 15})).status, 412);
    assert_eq!(
        service.post(&format!("/v1/processes/{id}/signal"), &json!({"signal": "SIGNONE"})).status,
        400
    );
}

#[test]
fn other_groups_of_its_session_die_with_a_process() {
    let service = Service::start();
    // A shell with job control gives each job a group of its own.
    let asked = json!({"shell": "set -m; sleep 1000 & echo $!; wait", "pty": {"cols": 80, "rows": 24}});
    let id = start(&service, &asked)["id"].clone();
    let child = until("the child is known", || {
        service.get(&format!("/v1/processes/{id}/output?format=raw")).text().trim().parse::<i64>().ok()
    });
    assert_eq!(service.delete(&format!("/v1/processes/{id}")).status, 204);
    until("the child is gone", || (!runs(child)).then_some(()));
}

#[test]
fn a_process_lives_on_without_followers_unless_it_should_not() {
    let service = Service::start();
    for (wish, lives) in [("keep", true), ("kill", false)] {
        let process = start(&service, &json!({"command": ["sleep", "1000"], "onDisconnect": wish}));
        let (id, pid) = (process["id"].clone(), process["pid"].as_i64().unwrap());
        let mut stream =
            BufReader::new(service.open("GET", &format!("/v1/processes/{id}/output?follow=true"), &[]));
        requests::head(&mut stream);
        drop(stream);
        if lives {
            // The one that must die is started later, and is gone before this one is looked at.
            continue;
        }
        until("it is killed", || (!runs(pid)).then_some(()));
        assert_eq!(service.get("/v1/processes/1").json()["state"], "running");
    }
}

#[test]
fn a_process_has_its_time() {
    let service = Service::start();
    let id = start(&service, &json!({"command": ["sleep", "1000"], "timeoutSeconds": 0.2}))["id"].clone();
    let expected = json!({"code": 137, "signal": "SIGKILL", "timedOut": true});
    assert_eq!(ended(&service, &id)["exit"], expected);
    let other = start(&service, &json!({"command": ["sleep", "1000"]}))["id"].clone();
    assert_eq!(service.get(&format!("/v1/processes/{other}/wait?timeout=0.1")).json()["state"], "running");
}

#[test]
fn what_cannot_be_started_is_refused() {
    let service = Service::with(&["--max-processes", "1", "--max-argument-bytes", "1000"]);
    let refusal = |body: Value| {
        let reply = service.post("/v1/processes", &body);
        (reply.status, reply.json()["code"].as_str().unwrap_or_default().to_owned())
    };
    let expect = |status, code: &str| (status, code.to_owned());
    assert_eq!(refusal(json!({})), expect(400, "INVALID_ARGUMENT"));
    assert_eq!(refusal(json!({"command": ["a"], "shell": "b"})), expect(400, "INVALID_ARGUMENT"));
    assert_eq!(refusal(json!({"command": ["/none"]})), expect(404, "NOT_FOUND"));
    assert_eq!(refusal(json!({"command": ["/"]})), expect(403, "PERMISSION_DENIED"));
    assert_eq!(refusal(json!({"command": ["ls"], "cwd": "none"})), expect(404, "NOT_FOUND"));
    assert_eq!(refusal(json!({"command": ["ls"], "cwd": "../.."})), expect(403, "PERMISSION_DENIED"));
    assert_eq!(refusal(json!({"command": ["ls"], "env": {"A=B": "c"}})), expect(400, "INVALID_ARGUMENT"));
    assert_eq!(refusal(json!({"command": ["ls", "a\u{0}b"]})), expect(400, "INVALID_ARGUMENT"));
    assert_eq!(refusal(json!({"command": ["ls"], "surprise": 1})), expect(400, "INVALID_ARGUMENT"));
    assert_eq!(refusal(json!({"command": ["ls", "x".repeat(2000)]})), expect(400, "INVALID_ARGUMENT"));
    start(&service, &json!({"command": ["sleep", "1000"]}));
    assert_eq!(refusal(json!({"command": ["ls"]})), expect(429, "RESOURCE_EXHAUSTED"));
}

#[test]
fn only_so_many_that_are_finished_are_remembered() {
    let service = Service::with(&["--finished-kept", "2"]);
    for _ in 0..4 {
        let id = start(&service, &json!({"command": ["true"]}))["id"].clone();
        ended(&service, &id);
    }
    let list = service.get("/v1/processes").json();
    let ids: Vec<_> =
        list["processes"].as_array().unwrap().iter().map(|process| process["id"].clone()).collect();
    assert_eq!(ids, [3, 4]);
}

#[test]
fn a_follower_who_does_not_read_holds_up_nobody_and_costs_no_memory() {
    let service = Service::start();
    let before = service.memory();
    let id = start(&service, &json!({"shell": "head -c 50000000 /dev/zero; echo done"}))["id"].clone();
    let stalled = service.open("GET", &format!("/v1/processes/{id}/output?follow=true"), &[]);
    assert_eq!(ended(&service, &id)["exit"]["code"], 0);
    assert!(service.memory() < before + 8 * 1024, "{} then {}", before, service.memory());
    // Reading at last, it is told what it lost and sees the end.
    let mut stream = BufReader::new(stalled);
    requests::head(&mut stream);
    let mut text = Vec::new();
    while let Some(chunk) = requests::chunk(&mut stream) {
        text.extend(chunk);
    }
    let seen = lines(&String::from_utf8(text).unwrap());
    assert!(seen.iter().any(|line| line["lost"].is_object()));
    assert_eq!(seen.last().unwrap()["exit"]["code"], 0);
}
