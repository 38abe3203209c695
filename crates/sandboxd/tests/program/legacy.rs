//! The contract of upstream's Python runtime, with the requests that its SDKs send.

use std::io::{BufReader, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::requests::{self, form};
use super::service::Service;

fn executed(service: &Service, body: &Value) -> Value {
    let reply = service.post("/execute", body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

#[test]
fn it_says_that_it_is_there() {
    let expected = json!({"status": "ok", "message": "Sandbox Runtime is active."});
    assert_eq!(Service::start().get("/").pair(), (200, expected));
}

#[test]
fn a_command_runs_without_a_shell_where_files_are() {
    let service = Service::start();
    let done = executed(&service, &json!({"command": "echo $HOME | cat"}));
    assert_eq!((&done["stdout"], &done["exit_code"]), (&json!("$HOME | cat\n"), &json!(0)));
    let root = std::fs::canonicalize(service.root()).unwrap();
    assert_eq!(executed(&service, &json!({"command": "pwd"}))["stdout"], format!("{}\n", root.display()));
    let both = executed(&service, &json!({"command": "sh -c 'echo out; echo err >&2; exit 3'"}));
    assert_eq!(
        (&both["stdout"], &both["stderr"], &both["exit_code"]),
        (&json!("out\n"), &json!("err\n"), &json!(3))
    );
}

#[test]
fn what_goes_wrong_with_a_command_is_an_answer() {
    let service = Service::start();
    for (command, reason) in
        [("/no/such/program", "no such file"), ("echo 'open", "No closing quotation"), ("", "no command")]
    {
        let done = executed(&service, &json!({"command": command}));
        assert_eq!(done["exit_code"], 1);
        let stderr = done["stderr"].as_str().unwrap();
        assert!(stderr.starts_with("Failed to execute command: ") && stderr.contains(reason), "{stderr}");
    }
}

#[test]
fn a_command_that_takes_too_long_is_killed_with_all_that_it_started() {
    let service = Service::start();
    let command = "sh -c 'sleep 1000 & echo $!; wait'";
    let done = executed(&service, &json!({"command": command, "timeout_seconds": 0.3}));
    assert_eq!((&done["timed_out"], &done["exit_code"]), (&json!(true), &json!(124)));
    let child: i64 = done["stdout"].as_str().unwrap().trim().parse().unwrap();
    super::wait::until("the child is gone", || (!super::service::runs(child)).then_some(()));
}

#[test]
fn the_default_time_is_that_of_the_environment_or_a_flag() {
    let service = Service::with(&["--execute-seconds", "1"]);
    assert_eq!(executed(&service, &json!({"command": "sleep 1000"}))["timed_out"], true);
}

#[test]
fn it_answers_others_while_a_command_runs() {
    let service = Service::start();
    let body = json!({"command": "sleep 1000"}).to_string();
    let length = body.len().to_string();
    let mut slow = service.open(
        "POST",
        "/execute",
        &[("Content-Length", &length), ("Content-Type", "application/json")],
    );
    slow.write_all(body.as_bytes()).unwrap();
    super::wait::until("it runs", || {
        (service.get("/v1/processes").json()["processes"][0]["id"] == 1).then_some(())
    });
    let asked = Instant::now();
    assert_eq!(service.get("/").status, 200);
    assert!(asked.elapsed() < Duration::from_millis(200));
    // Nobody waits for it any more.
    let pid = service.get("/v1/processes").json()["processes"][0]["pid"].as_i64().unwrap();
    drop(slow);
    super::wait::until("it is killed", || (!super::service::runs(pid)).then_some(()));
}

#[test]
fn bodies_that_make_no_sense_are_refused_as_fastapi_does() {
    let service = Service::start();
    let missing = service.post("/execute", &json!({}));
    let detail =
        json!([{"type": "missing", "loc": ["body", "command"], "msg": "Field required", "input": {}}]);
    assert_eq!(missing.pair(), (422, json!({"detail": detail})));
    let no_file = service.request("POST", "/upload", &[], b"");
    let detail =
        json!([{"type": "missing", "loc": ["body", "file"], "msg": "Field required", "input": null}]);
    assert_eq!(no_file.pair(), (422, json!({"detail": detail})));
    assert_eq!(service.get("/execute").pair(), (405, json!({"detail": "Method Not Allowed"})));
    assert_eq!(service.post("/agent", &json!({})).pair(), (404, json!({"detail": "Not Found"})));
}

#[test]
fn a_file_goes_in_and_out() {
    let service = Service::start();
    let (body, headers) = form("dir/ü b.txt", b"hello");
    let reply = service.request("POST", "/upload", &headers, &body);
    assert_eq!(reply.pair(), (200, json!({"message": "File 'dir/ü b.txt' uploaded successfully."})));
    let reply = service.get("/download/dir%2F%C3%BC%20b.txt");
    assert_eq!((reply.status, reply.text(), reply.header("content-length")), (200, "hello".to_owned(), "5"));
    let listed = service.get("/list/dir").json();
    assert_eq!(
        (&listed[0]["name"], &listed[0]["size"], &listed[0]["type"]),
        (&json!("ü b.txt"), &json!(5), &json!("file"))
    );
    assert!(listed[0]["mod_time"].as_f64().unwrap() > 1_700_000_000.0);
    assert_eq!(service.get("/exists/dir").json(), json!({"path": "dir", "exists": true}));
    assert_eq!(service.get("/exists/dir%2Fnot").json(), json!({"path": "dir/not", "exists": false}));
}

#[test]
fn a_file_may_come_in_chunks() {
    let service = Service::start();
    let (body, [kind]) = form("big", &vec![b'x'; 1_000_000]);
    let mut stream =
        service.open("POST", "/upload", &[kind, ("Transfer-Encoding", "chunked"), ("Connection", "close")]);
    for piece in body.chunks(77_777) {
        write!(stream, "{:x}\r\n", piece.len()).unwrap();
        stream.write_all(piece).unwrap();
        stream.write_all(b"\r\n").unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    assert_eq!(requests::read(&mut BufReader::new(stream), "POST").status, 200);
    assert_eq!(std::fs::metadata(service.root().join("big")).unwrap().len(), 1_000_000);
}

#[test]
fn every_spelling_of_the_root_is_listed_without_a_redirect() {
    let service = Service::start();
    std::fs::write(service.root().join("file"), "").unwrap();
    for path in ["/list", "/list/", "/list/.", "/list/%2F", "/list/%2E"] {
        let reply = service.get(path);
        assert_eq!((reply.status, &reply.json()[0]["name"]), (200, &json!("file")), "{path}");
    }
    assert_eq!(service.get("/list/a%2F.").status, 404);
}

#[test]
fn paths_that_were_encoded_twice_are_understood_and_exact_names_win() {
    let service = Service::start();
    std::fs::create_dir(service.root().join("a")).unwrap();
    std::fs::write(service.root().join("a/b"), "twice").unwrap();
    assert_eq!(service.get("/download/a%252Fb").text(), "twice");
    assert_eq!(service.get("/exists/a%252Fb").json()["exists"], true);
    std::fs::write(service.root().join("100%41"), "exact").unwrap();
    assert_eq!(service.get("/download/100%2541").text(), "exact");
}

#[test]
fn what_leads_out_is_denied() {
    let service = Service::start();
    std::os::unix::fs::symlink("../secret", service.root().join("link")).unwrap();
    let denied = (403, json!({"message": "Access denied"}));
    for path in [
        "/download/..%2Fsecret",
        "/download/link",
        "/list/..%2F",
        "/exists/..%2Fsecret",
        "/download/%252E%252E%252Fsecret",
    ] {
        assert_eq!(service.get(path).pair(), denied, "{path}");
    }
    let (body, headers) = form("../out", b"x");
    assert_eq!(service.request("POST", "/upload", &headers, &body).pair(), denied);
    assert!(!service.home.path().join("out").exists());
}

#[test]
fn what_is_not_there_is_said_in_upstreams_words() {
    let service = Service::start();
    std::fs::write(service.root().join("file"), "").unwrap();
    assert_eq!(service.get("/download/none").pair(), (404, json!({"message": "File not found"})));
    assert_eq!(service.get("/list/file").pair(), (404, json!({"message": "Path is not a directory"})));
}

#[test]
fn an_upload_that_breaks_off_leaves_nothing() {
    let service = Service::start();
    let (body, [kind]) = form("half", &vec![b'x'; 600_000]);
    let mut stream = service.open("POST", "/upload", &[kind, ("Content-Length", &body.len().to_string())]);
    stream.write_all(&body[..500_000]).unwrap();
    super::wait::until("it has begun", || {
        (std::fs::read_dir(service.root()).unwrap().count() == 1).then_some(())
    });
    drop(stream);
    super::wait::until("it is gone", || {
        (std::fs::read_dir(service.root()).unwrap().count() == 0).then_some(())
    });
}
