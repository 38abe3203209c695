//! Ways out of the root directory, in every spelling, through everything that takes a path.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::requests::form;
use super::service::Service;

/// What is beside the root, and says so.
const SECRET: &str = "outside";

/// A root with links that lead out of it.
fn service() -> Service {
    let service = Service::start();
    let (home, root) = (service.home.path(), service.root());
    fs::create_dir(root.join("dir")).unwrap();
    fs::write(root.join("file"), "inside").unwrap();
    symlink("../secret", root.join("link")).unwrap();
    symlink("..", root.join("up")).unwrap();
    symlink(home, root.join("absolute")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    symlink("/proc/self/cwd", root.join("here")).unwrap();
    symlink("up/secret", root.join("dir/chain")).unwrap();
    service
}

/// As they stand in an address.
fn spellings(service: &Service) -> Vec<String> {
    let home = service.home.path().display().to_string();
    let flat = home.replace('/', "%2f");
    let mut list: Vec<String> = [
        "../secret",
        "..%2fsecret",
        "%2e%2e/secret",
        "%2E%2E%2Fsecret",
        "%252e%252e%252fsecret",
        "%25252e%25252e%25252fsecret",
        ".%2e/secret",
        "....//secret",
        "./.././secret",
        "//../secret",
        "dir/../../secret",
        "dir/%2e%2e/%2e%2e/secret",
        "file/../../secret",
        "..%5csecret",
        "..\\secret",
        "..%00/secret",
        "../secret%00",
        "%c0%ae%c0%ae%c0%afsecret",
        "..;/secret",
        "link",
        "link/",
        "link/.",
        "dir/chain",
        "up/secret",
        "up%2fsecret",
        "up/./secret",
        "up/root/../secret",
        "absolute/secret",
        "here/../secret",
        "/proc/self/cwd/../secret",
    ]
    .map(str::to_owned)
    .to_vec();
    for prefix in ["", "/", "//", "magic", "magic/", "/proc/self/root", "/proc/1/root"] {
        list.push(format!("{prefix}{home}/secret"));
        list.push(format!("{prefix}{flat}%2fsecret"));
    }
    list.push(format!("{}/../secret", service.root().display()));
    list.push(format!("{}-too/secret", service.root().display()));
    list
}

#[test]
fn nothing_outside_is_read() {
    let service = service();
    let spellings = spellings(&service);
    for spelling in &spellings {
        for door in ["/download", "/list", "/v1/files", "/v1/archive"] {
            let reply = service.get(&format!("{door}/{spelling}"));
            assert!(!reply.text().contains(SECRET), "{door}/{spelling}: {}", reply.text());
        }
        let exists = service.get(&format!("/exists/{spelling}"));
        assert!(!exists.text().contains("true"), "{spelling}: {}", exists.text());
        let stat = service.get(&format!("/v1/stat/{spelling}?follow=true"));
        assert!(stat.status >= 400, "{spelling}: {}", stat.text());
        let watch = service.open("GET", &format!("/v1/watch/{spelling}"), &[("Connection", "close")]);
        let status = super::requests::head(&mut std::io::BufReader::new(watch)).0;
        assert!(status >= 400, "{spelling}: {status}");
    }
    // The way in is open, so it is not for another reason that nothing was found.
    assert_eq!(service.get("/v1/files/dir/../file").text(), "inside");
    assert_eq!(service.get("/download/dir%252f..%252ffile").text(), "inside");
}

#[test]
fn nothing_outside_is_written_moved_or_removed() {
    let service = service();
    for spelling in spellings(&service) {
        let plain = String::from_utf8_lossy(&percent(&spelling)).into_owned();
        service.put(&format!("/v1/files/{spelling}"), b"x");
        service.put(&format!("/v1/files/{spelling}/new"), b"x");
        service.post(&format!("/v1/directories/{spelling}-made"), &json!({}));
        service.delete(&format!("/v1/files/{spelling}?recursive=true"));
        for name in [&spelling, &plain] {
            let (body, headers) = form(name, b"x");
            service.request("POST", "/upload", &headers, &body);
            for door in ["/v1/move", "/v1/copy"] {
                service.post(door, &json!({"from": name, "to": "taken", "overwrite": true}));
                service.post(door, &json!({"from": "file", "to": name, "overwrite": true}));
            }
        }
        assert_eq!(untouched(&service), ["root", "secret"], "{spelling}");
    }
    let taken = fs::read_to_string(service.root().join("taken")).unwrap_or_default();
    assert_ne!(taken, SECRET);
}

/// What is beside the root, after a look at whether it is as it was.
fn untouched(service: &Service) -> Vec<String> {
    assert_eq!(fs::read_to_string(service.home.path().join("secret")).unwrap(), SECRET);
    let entries = fs::read_dir(service.home.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn percent(text: &str) -> Vec<u8> {
    percent_encoding::percent_decode_str(text).collect()
}

#[test]
fn no_process_begins_outside() {
    let service = service();
    let home = service.home.path().display().to_string();
    for cwd in ["..", "dir/../..", "up", "absolute", "magic", "here/..", &home, "/proc/self/root", "/"] {
        let body = json!({"command": ["cat", "secret"], "cwd": cwd, "onOverflow": "wait"});
        let reply = service.post("/v1/processes", &body);
        if reply.status != 201 {
            continue;
        }
        // Such as `/`, which is the root's own.
        let output = format!("/v1/processes/{}/output?follow=true&format=raw", reply.json()["id"]);
        assert!(!service.get(&output).text().contains(SECRET), "{cwd}");
    }
}
