//! Who gets in, where to, and what the others are told.

use http::StatusCode;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::backend::Backend;
use crate::world::{World, ask, refusal, token};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_reaches_the_sandbox_that_its_headers_name_as_it_was_sent() {
    let (world, backend) = (World::start().await, Backend::echo().await);
    world.sandbox("box", &["127.0.0.1"]).await;
    let request = world.to("box", backend.port, "/download/a%2Fb%252Fc?x=%20").header("Accept", "text/plain");
    let (status, body) = ask(request.method("GET"), "").await;
    assert_eq!(status, StatusCode::OK);
    let said: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(
        (said["method"].as_str(), said["path"].as_str()),
        (Some("GET"), Some("/download/a%2Fb%252Fc?x=%20"))
    );
    let headers = said["headers"].to_string().to_lowercase();
    assert!(headers.contains("accept: ") && headers.contains("x-forwarded-for"));
    assert!(!headers.contains("x-sandbox-") && !headers.contains("authorization"), "{headers}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_token_opens_one_sandbox() {
    let (world, backend) = (World::start().await, Backend::echo().await);
    world.sandbox("mine", &["127.0.0.1"]).await;
    world.sandbox("yours", &["127.0.0.1"]).await;
    let with = |name: &str, token: Option<String>| {
        let request = http::Request::builder()
            .uri(format!("http://{}/", world.address))
            .header("X-Sandbox-ID", name)
            .header("X-Sandbox-Port", backend.port);
        match token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    };
    assert_eq!(ask(with("mine", Some(token("mine"))), "").await.0, StatusCode::OK);
    assert_eq!(refusal(with("yours", Some(token("mine")))).await, (403, "forbidden".to_owned()));
    assert_eq!(refusal(with("mine", None)).await, (401, "unauthenticated".to_owned()));
    assert_eq!(refusal(with("mine", Some("nonsense".to_owned()))).await, (401, "unauthenticated".to_owned()));
}

/// Its client has more to send than fits on the way, and hears why it is refused all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_arrives_while_its_request_is_still_being_sent() {
    let world = World::start().await;
    let mut stream = TcpStream::connect(world.address).await.expect("connects");
    let head = "POST / HTTP/1.1\r\nHost: r\r\nX-Sandbox-ID: box\r\nContent-Length: 2097152\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(&vec![b'x'; 2 << 20]).await.expect("nobody hangs up on it");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("not reset");
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_refused_before_anything_else() {
    let world = World::start().await;
    let plain = || http::Request::builder().uri(format!("http://{}/", world.address));
    assert_eq!(refusal(plain()).await, (400, "X-Sandbox-ID header is required.".to_owned()));
    let twice = plain().header("X-Sandbox-ID", "a").header("X-Sandbox-ID", "b");
    assert_eq!(refusal(twice).await, (400, "Invalid sandbox ID format.".to_owned()));
    let inward = plain().header("X-Sandbox-ID", "a").header("X-Sandbox-Pod-IP", "169.254.169.254");
    assert_eq!(refusal(inward).await, (400, "Invalid target IP address.".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_of_somebody_else_leads_nowhere_else() {
    let (world, backend) = (World::start().await, Backend::echo().await);
    world.sandbox("box", &["127.0.0.1"]).await;
    let request = world.to("box", backend.port, "/").header("X-Sandbox-Pod-IP", "192.0.2.1");
    assert_eq!(ask(request, "").await.0, StatusCode::OK, "it is where its status says");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_is_not_there_cannot_be_reached() {
    let world = World::start().await;
    world.sandbox("pending", &[]).await;
    for name in ["nobody", "pending"] {
        let said = refusal(world.to(name, 80, "/")).await;
        assert_eq!(said, (502, format!("Could not connect to the backend sandbox: {name}")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_router_answers_for_itself() {
    let world = World::start().await;
    let request = http::Request::builder().uri(format!("http://{}/healthz", world.address));
    let (status, body) = ask(request, "").await;
    assert_eq!((status, &body[..]), (StatusCode::OK, &br#"{"status":"ok"}"#[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_can_name_the_sandbox() {
    let (world, backend) = (World::start().await, Backend::echo().await);
    world.sandbox("box", &["127.0.0.1"]).await;
    let path = format!("/sandboxes/default/box/{}/a%2Fb", backend.port);
    let request = http::Request::builder()
        .uri(format!("http://{}{path}", world.address))
        .header("Authorization", format!("Bearer {}", token("box")));
    let (status, body) = ask(request, "").await;
    assert_eq!(status, StatusCode::OK);
    let said: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(said["path"], "/a%2Fb");
}
