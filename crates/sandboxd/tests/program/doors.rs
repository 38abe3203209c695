//! Every endpoint of every port is closed to whoever has no token for this sandbox. The list is the program's own, so that none is
//! forgotten here.

use std::io::{BufReader, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use asb_sandboxd::program::endpoints;
use asb_sandboxd::token::{Claims, Mint};

use super::grpc::Client;
use super::requests;
use super::service::Service;
use super::sockets::UPGRADE;

const UID: &str = "uid-1";
const UNAUTHENTICATED: u16 = 16;
/// For probes, which have no tokens.
const OPEN: [&str; 2] = ["/", "/v1/health"];
const CALLS: [&str; 8] = [
    "process.v1.ProcessService/Start",
    "process.v1.ProcessService/Execute",
    "process.v1.ProcessService/WriteStdin",
    "process.v1.ProcessService/SendSignal",
    "process.v1.ProcessService/ResizeTTY",
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    // That this is refused too shows that tokens are asked for before it is looked what a call is.
    "process.v1.ProcessService/Unknown",
];

fn mint() -> Mint {
    Mint::from_seed(&[9; 32])
}

fn claims(uid: &str, from: i64, to: i64) -> Claims {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let at = |seconds| now.saturating_add_signed(seconds);
    Claims { uid: uid.to_owned(), exp: at(to), nbf: Some(at(from)) }
}

fn good() -> String {
    mint().token(&claims(UID, -9, 60))
}

/// What opens nothing, and why one might think that it does.
fn bad() -> Vec<(&'static str, Option<String>)> {
    let stranger = Mint::from_seed(&[8; 32]);
    let whole = good();
    vec![
        ("none", None),
        ("empty", Some(String::new())),
        ("another sandbox's", Some(mint().token(&claims("uid-2", -9, 60)))),
        ("expired", Some(mint().token(&claims(UID, -99, -1)))),
        ("not valid yet", Some(mint().token(&claims(UID, 60, 99)))),
        ("valid for too long", Some(mint().token(&claims(UID, -9, 9999)))),
        ("of another key", Some(stranger.token(&claims(UID, -9, 60)))),
        ("cut off", Some(whole[..whole.len() - 2].to_owned())),
        ("without a signature", Some(whole[..=whole.rfind('.').unwrap()].to_owned())),
        ("the public key", Some(mint().public_key())),
    ]
}

fn guarded() -> Service {
    Service::on_all_ports(&["--public-key", &mint().public_key(), "--sandbox-uid", UID])
}

fn ask(port: u16, method: &str, path: &str, token: Option<&str>) -> u16 {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("Content-Length", "0"), ("Content-Type", "application/json")];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    headers.extend(token.map(|token| ("X-Sandboxd-Token", token)));
    if path.ends_with("/attach") {
        headers.extend(UPGRADE);
    }
    requests::head(&mut BufReader::new(requests::open(port, method, path, &headers))).0
}

/// Each endpoint with each of its methods.
fn questions() -> impl Iterator<Item = (&'static str, &'static str, String)> {
    endpoints().flat_map(|(pattern, methods)| {
        let path = pattern.replace("{id}", "1").replace("{path}", "x");
        methods.split(", ").map(move |method| (pattern, method, path.clone()))
    })
}

#[test]
fn no_endpoint_of_any_port_is_open_without_a_token_for_this_sandbox() {
    let service = guarded();
    for port in &service.ports {
        for (pattern, method, path) in questions() {
            let is_open = OPEN.contains(&pattern);
            for (why, token) in bad() {
                let status = ask(*port, method, &path, token.as_deref());
                assert_eq!(status == 401, !is_open, "{method} {path}, {why}: {status}");
            }
        }
        assert_eq!(ask(*port, "GET", "/unknown", None), 401);
        assert_eq!(ask(*port, "PATCH", "/v1/files/x", None), 401);
    }
    assert_eq!(std::fs::read_dir(service.root()).unwrap().count(), 0);
}

#[test]
fn every_endpoint_is_served_to_whoever_has_one() {
    let service = guarded();
    let mut count = 0;
    for (_, method, path) in questions() {
        let status = ask(service.port, method, &path, Some(&good()));
        assert!(![401, 405, 500].contains(&status), "{method} {path}: {status}");
        count += 1;
    }
    assert!(count > 30, "{count}");
    assert_eq!(ask(service.port, "PATCH", "/v1/files/x", Some(&good())), 405);
}

#[test]
fn no_call_of_grpc_is_open_either() {
    let service = guarded();
    for port in &service.ports {
        for (why, token) in bad() {
            let mut client = Client::connect_to(*port);
            client.token = token;
            for call in CALLS {
                assert_eq!(client.status(call, &[0; 5]), UNAUTHENTICATED, "{call}, {why}");
            }
        }
        let mut client = Client::connect_to(*port);
        client.token = Some(good());
        for call in CALLS {
            assert_ne!(client.status(call, &[0; 5]), UNAUTHENTICATED, "{call}");
        }
    }
}

#[test]
fn a_refusal_says_what_to_send_and_nothing_else() {
    let service = guarded();
    let replies = bad().into_iter().map(|(_, token)| {
        let headers = token.map(|token| ("X-Sandboxd-Token", token));
        let headers: Vec<_> = headers.iter().map(|(name, token)| (*name, token.as_str())).collect();
        let reply = service.request("GET", "/v1/files/x", &headers, b"");
        (reply.status, reply.header("www-authenticate").to_owned(), reply.text())
    });
    let replies: Vec<_> = replies.collect();
    assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:?}");
    assert_eq!((replies[0].0, replies[0].1.as_str()), (401, "Bearer"));
}

#[test]
fn a_body_of_somebody_without_a_token_is_not_taken() {
    let service = guarded();
    let mut stream = service.open("PUT", "/v1/files/x", &[("Content-Length", "99999999999")]);
    stream.write_all(b"begun").unwrap();
    assert_eq!(requests::head(&mut BufReader::new(stream)).0, 401);
}
