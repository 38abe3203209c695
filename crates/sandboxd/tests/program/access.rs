//! Who may use a sandbox that asks for tokens.

use std::time::{SystemTime, UNIX_EPOCH};

use asb_sandboxd::token::{Claims, Mint};
use serde_json::json;

use super::service::Service;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn mint() -> Mint {
    Mint::from_seed(&[9; 32])
}

fn token(uid: &str, seconds: u64) -> String {
    mint().token(&Claims { uid: uid.to_owned(), exp: now() + seconds, nbf: None })
}

fn guarded() -> Service {
    Service::with(&["--public-key", &mint().public_key(), "--sandbox-uid", "uid-1"])
}

#[test]
fn only_a_token_for_this_sandbox_opens_it() {
    let service = guarded();
    let status =
        |header: &str, value: &str| service.request("GET", "/v1/processes", &[(header, value)], b"").status;
    assert_eq!(status("Authorization", &format!("Bearer {}", token("uid-1", 60))), 200);
    assert_eq!(status("X-Sandboxd-Token", &token("uid-1", 60)), 200);
    assert_eq!(status("Authorization", &format!("Bearer {}", token("uid-2", 60))), 401);
    assert_eq!(status("Authorization", &format!("Bearer {}", token("uid-1", 0))), 401);
    assert_eq!(status("Authorization", &format!("Bearer {}", token("uid-1", 10_000))), 401);
    assert_eq!(status("Accept", "*/*"), 401);
}

#[test]
fn a_known_token_opens_too() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "known\n").unwrap();
    let service = Service::with(&["--bearer-token-file", file.path().to_str().unwrap()]);
    let run = |token: &str| {
        let headers = [("Authorization", token), ("Content-Type", "application/json")];
        service
            .request("POST", "/execute", &headers, json!({"command": "true"}).to_string().as_bytes())
            .status
    };
    assert_eq!((run("Bearer known"), run("Bearer unknown")), (200, 401));
}
