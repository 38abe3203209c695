//! Forms that nobody would fill in.

use super::requests::Reply;
use super::service::Service;

const HEAD: &str = "Content-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n";

fn send(service: &Service, kind: &str, body: &[u8]) -> Reply {
    service.request("POST", "/upload", &[("Content-Type", kind)], body)
}

fn bound(service: &Service, body: &str) -> Reply {
    send(service, "multipart/form-data; boundary=b", body.as_bytes())
}

fn is_empty(service: &Service) -> bool {
    std::fs::read_dir(service.root()).unwrap().next().is_none()
}

#[test]
fn what_is_no_form_is_refused_and_leaves_nothing() {
    let service = Service::start();
    let whole = format!("--b\r\n{HEAD}\r\ntext\r\n--b--");
    for kind in [
        "multipart/form-data".to_owned(),
        "multipart/form-data; boundary=".to_owned(),
        "multipart/form-data; boundary=\"".to_owned(),
        "multipart/form-data; bound=b".to_owned(),
        format!("multipart/form-data; boundary={}", "b".repeat(71)),
    ] {
        assert_eq!(send(&service, &kind, whole.as_bytes()).status, 400, "{kind}");
    }
    for (what, body) in [
        ("nothing", String::new()),
        ("no end", format!("--b\r\n{HEAD}\r\ntext\r\n")),
        ("no end of a head", format!("--b\r\n{HEAD}")),
        ("another boundary", whole.replace("--b", "--c")),
        ("a boundary that goes on", format!("--bb\r\n{HEAD}\r\ntext\r\n--b--")),
        ("no name", "--b\r\nContent-Type: x\r\n\r\ntext\r\n--b--".to_owned()),
        ("a large head", format!("--b\r\n{HEAD}X: {}\r\n\r\ntext\r\n--b--", "x".repeat(20_000))),
        ("a long boundary line", format!("--b{}\r\n{HEAD}\r\ntext\r\n--b--", " ".repeat(20_000))),
        ("a zero in the name", whole.replace("\"f\"", "\"f\0g\"")),
    ] {
        let reply = bound(&service, &body);
        assert_eq!(reply.status, 400, "{what}: {}", reply.text());
        assert!(is_empty(&service), "{what}");
    }
}

#[test]
fn thousands_of_parts_and_an_endless_beginning_cost_time_and_not_memory() {
    let service = Service::start();
    let before = service.memory();
    let other = "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n";
    let body = format!("{}\r\n--b\r\n{HEAD}\r\ntext\r\n--b--", "x".repeat(16_000_000));
    assert_eq!(bound(&service, &body).status, 200);
    let body = format!("{}--b\r\n{HEAD}\r\nlast\r\n--b--", other.repeat(100_000));
    assert_eq!(bound(&service, &body).status, 200);
    assert_eq!(service.get("/download/f").text(), "last");
    assert!(service.memory() < before + 8 * 1024, "{} then {}", before, service.memory());
}

#[test]
fn only_the_first_file_of_a_form_is_written() {
    let service = Service::start();
    let second = HEAD.replace("\"f\"", "\"g\"");
    let body = format!("--b\r\n{HEAD}\r\none\r\n--b\r\n{second}\r\ntwo\r\n--b--");
    assert_eq!(bound(&service, &body).status, 200);
    assert_eq!(service.get("/download/f").text(), "one");
    assert_eq!(service.get("/download/g").status, 404);
}
