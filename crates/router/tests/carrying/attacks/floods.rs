//! Clients that take much and give little: connections that say nothing, headers without end, answers and messages that nobody reads.
//! Each is cut off or held up, and an honest client is served meanwhile.

use std::time::Duration;

use asb_router::Settings;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_ENCODING, UPGRADE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Scene;
use crate::backend::Backend;
use crate::frames::PREFACE;
use crate::raw::{self, Flood};
use crate::world::{PATIENCE, World, http, token};

/// More than all the buffers between two ends of the machine can hold.
const MUCH: usize = 256 << 20;

fn hasty() -> Settings {
    Settings { hello: Duration::from_millis(300), idle: Duration::from_millis(300), ..Settings::default() }
}

/// Sends a byte whenever some time has passed without an answer, and reads until the router hangs up.
async fn trickle(stream: &mut TcpStream, bytes: &[u8]) -> Vec<u8> {
    let mut heard = Vec::new();
    for byte in bytes.iter().cycle() {
        if stream.write_all(&[*byte]).await.is_err() {
            return heard;
        }
        let mut buffer = [0; 1024];
        match tokio::time::timeout(Duration::from_millis(20), stream.read(&mut buffer)).await {
            Err(_) => {}
            Ok(Ok(length @ 1..)) => heard.extend_from_slice(&buffer[..length]),
            Ok(_) => return heard,
        }
    }
    unreachable!("it goes on for ever")
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_says_nothing_is_left() {
    let scene = Scene::with(hasty()).await;
    for beginning in [&b""[..], &PREFACE[..5], PREFACE, b"GET"] {
        let mut stream = raw::connect(scene.world.address).await;
        stream.write_all(beginning).await.expect("sent");
        raw::until_closed(&mut stream).await;
    }
    scene.is_served("silence").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_says_little_at_a_time_is_left_too() {
    let scene = Scene::with(hasty()).await;
    for beginning in ["GET / HTTP/1.1\r\nHost: r\r\n", ""] {
        let mut stream = raw::connect(scene.world.address).await;
        stream.write_all(beginning.as_bytes()).await.expect("sent");
        let trickled = trickle(&mut stream, b"X-Slow: 1\r\n");
        tokio::time::timeout(PATIENCE, trickled).await.expect("it is left");
    }
    scene.is_served("slow headers").await;
}

/// Without it, whoever connects first and often enough has the router.
#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_give_their_place_back() {
    let scene = Scene::with(Settings { connections: 4, ..hasty() }).await;
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(raw::connect(scene.world.address).await);
    }
    scene.is_served("more connections than there is room for").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_has_so_many_connections_and_no_more() {
    let scene = Scene::with(Settings { connections_per_client: 3, ..Settings::default() }).await;
    let ask = |more: &str| format!("GET /healthz HTTP/1.1\r\nHost: r\r\n{more}\r\n");
    let mut kept = Vec::new();
    for _ in 0..3 {
        let mut stream = raw::connect(scene.world.address).await;
        stream.write_all(ask("").as_bytes()).await.expect("sent");
        stream.read_u8().await.expect("it is served");
        kept.push(stream);
    }
    assert_eq!(raw::exchange(scene.world.address, ask("").as_bytes()).await, b"", "one too many");
    drop(kept);
    let served = async {
        while raw::exchange(scene.world.address, ask("Connection: close\r\n").as_bytes()).await.is_empty() {}
    };
    tokio::time::timeout(PATIENCE, served).await.expect("there is room again");
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_have_an_end() {
    let scene = Scene::set().await;
    let long =
        format!("GET /attack HTTP/1.1\r\n{}X-Long: {}\r\n\r\n", scene.entitled(), "a".repeat(128 << 10));
    let many = format!("GET /attack HTTP/1.1\r\n{}{}\r\n", scene.entitled(), "X-Many: 1\r\n".repeat(500));
    let target = format!("GET /attack?{} HTTP/1.1\r\n{}\r\n", "a".repeat(128 << 10), scene.entitled());
    for attack in [long, many, target] {
        let heard = raw::answers(&raw::exchange(scene.world.address, attack.as_bytes()).await);
        assert!(heard.iter().all(|answer| matches!(answer.status, 414 | 431)), "{heard:?}");
    }
    let mut endless = raw::connect(scene.world.address).await;
    endless.write_all(b"GET / HTTP/1.1\r\n").await.expect("sent");
    assert_eq!(raw::flood(&mut endless, &b"X-Endless: 1\r\n".repeat(64), MUCH).await, Flood::Closed);
    scene.is_served("endless headers").await;
    scene.has_seen_nothing_else();
}

/// Agrees to another protocol, and says everything back.
async fn parrot(mut request: Request<Incoming>) -> Response<Full<Bytes>> {
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let stream = TokioIo::new(upgrade.await.expect("another protocol"));
        let (mut reader, mut writer) = tokio::io::split(stream);
        // It ends when its client does.
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
    });
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    answer.headers_mut().insert(UPGRADE, HeaderValue::from_static("parrot"));
    answer
}

async fn talk(world: &World, port: u16) -> TcpStream {
    let mut stream = raw::connect(world.address).await;
    let request = format!(
        "GET / HTTP/1.1\r\nHost: r\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: {port}\r\nAuthorization: Bearer {}\r\nConnection: upgrade\r\nUpgrade: parrot\r\n\r\n",
        token("box")
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    stream
}

/// The status line of an answer.
async fn status(stream: &mut TcpStream) -> String {
    let mut line = [0; 12];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut line)).await.expect("in time").expect("an answer");
    String::from_utf8_lossy(&line).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_does_not_listen_is_not_listened_to() {
    let (world, backend) = (World::start().await, Backend::serve(parrot).await);
    world.sandbox("box", &["127.0.0.1"]).await;
    let mut stream = talk(&world, backend.port).await;
    assert_eq!(status(&mut stream).await, "HTTP/1.1 101");
    assert_eq!(raw::flood(&mut stream, &vec![7; 64 << 10], MUCH).await, Flood::Stalled);
    let mut other = talk(&world, backend.port).await;
    assert_eq!(status(&mut other).await, "HTTP/1.1 101", "another is served meanwhile");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_other_protocols_count_against_their_client() {
    let world = World::with(Settings { requests_per_client: 2, ..Settings::default() }).await;
    let backend = Backend::serve(parrot).await;
    world.sandbox("box", &["127.0.0.1"]).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut stream = talk(&world, backend.port).await;
        assert_eq!(status(&mut stream).await, "HTTP/1.1 101");
        kept.push(stream);
    }
    world.measures("sandbox_router_inflight_requests 2").await;
    let mut third = talk(&world, backend.port).await;
    assert_eq!(status(&mut third).await, "HTTP/1.1 429");
    drop(kept);
    world.measures("sandbox_router_inflight_requests 0").await;
    let mut fourth = talk(&world, backend.port).await;
    assert_eq!(status(&mut fourth).await, "HTTP/1.1 101", "their places are given back");
}

/// A client that asks for much and reads nothing keeps the Sandbox waiting, and nothing in the router.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nobody_reads_is_not_gathered() {
    let world = World::start().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let sending = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("the router");
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await.expect("a request");
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", MUCH * 2);
        stream.write_all(head.as_bytes()).await.expect("sent");
        raw::flood(&mut stream, &vec![7; 64 << 10], MUCH).await
    });
    world.sandbox("box", &["127.0.0.1"]).await;
    let mut client = raw::connect(world.address).await;
    let request = format!(
        "GET / HTTP/1.1\r\nHost: r\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: {port}\r\nAuthorization: Bearer {}\r\n\r\n",
        token("box")
    );
    client.write_all(request.as_bytes()).await.expect("sent");
    assert_eq!(sending.await.expect("it ends"), Flood::Stalled);
}

/// What is packed small and unpacks large is unpacked by whoever it is for.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_unpacked_on_the_way() {
    const PACKED: &[u8] = b"\x1f\x8b\x08\x00no gzip at all, \xff\x00 and none of the router's business";
    let world = World::start().await;
    let backend = Backend::serve(|request: Request<Incoming>| async move {
        assert_eq!(request.headers()[CONTENT_ENCODING], "gzip");
        let body = request.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!(&body[..], PACKED, "as it was sent");
        let mut answer = Response::new(Full::from(PACKED));
        answer.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        answer
    })
    .await;
    world.sandbox("box", &["127.0.0.1"]).await;
    let request = world.to("box", backend.port, "/").method("POST").header(CONTENT_ENCODING, "gzip");
    let answer =
        http().request(request.body(Full::from(PACKED)).expect("a request")).await.expect("an answer");
    assert_eq!(answer.headers()[CONTENT_ENCODING], "gzip");
    assert_eq!(&answer.into_body().collect().await.expect("a body").to_bytes()[..], PACKED);
}
