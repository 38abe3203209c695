//! HTTP/2 that costs its sender little and a careless server much. The router hangs up or takes no more, and serves others meanwhile.

use asb_router::Settings;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::Scene;
use crate::frames::{
    self, CONTINUATION, DATA, END_HEADERS, END_STREAM, Fate, HEADERS, PING, RESET, SETTINGS, block, frame,
};
use crate::raw::{self, Flood};
use crate::world::token;

const MUCH: usize = 64 << 20;

/// A request into `mine` that is let in.
fn request(scene: &Scene, path: &str) -> Vec<u8> {
    let (port, bearer) = (scene.mine.port.to_string(), format!("Bearer {}", token("mine")));
    block(&[
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "r"),
        (":path", path),
        ("x-sandbox-id", "mine"),
        ("x-sandbox-port", &port),
        ("authorization", &bearer),
    ])
}

/// Floods, and is served on another connection while the flood goes on.
async fn flooded(scene: &Scene, stream: &mut TcpStream, bytes: &[u8]) -> Flood {
    let (flood, ()) = tokio::join!(raw::flood(stream, bytes, MUCH), scene.is_served("a flood"));
    scene.is_served("a flood").await;
    flood
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_go_on_and_on_end() {
    let scene = Scene::set().await;
    for fragment in [&b""[..], &block(&[("x-more", &"a".repeat(8000))])] {
        let mut stream = frames::connect(scene.world.address).await;
        stream.write_all(&frame(HEADERS, 0, 1, &request(&scene, "/attack"))).await.expect("sent");
        let more = frame(CONTINUATION, 0, 1, fragment).repeat(16);
        assert_eq!(flooded(&scene, &mut stream, &more).await, Flood::Closed);
    }
    scene.has_seen_nothing_else();
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_are_too_large_are_refused() {
    let scene = Scene::set().await;
    let mut stream = frames::connect(scene.world.address).await;
    let mut fields = request(&scene, "/attack");
    fields.extend(block(&[("x-long", &"a".repeat(15 << 10))]));
    stream.write_all(&frame(HEADERS, END_STREAM, 1, &fields)).await.expect("sent");
    let more = block(&[("x-longer", &"a".repeat(8 << 10))]);
    stream.write_all(&frame(CONTINUATION, END_HEADERS, 1, &more)).await.expect("sent");
    assert_ne!(frames::fate(&mut stream, 1).await, Fate::Answered("seen:/attack".to_owned()));
    scene.is_served("large headers").await;
    scene.has_seen_nothing_else();
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_are_too_large_end_the_connection() {
    let scene = Scene::set().await;
    let mut stream = frames::connect(scene.world.address).await;
    // Its length is said; it is not sent.
    let huge = [0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1];
    stream.write_all(&huge).await.expect("sent");
    raw::until_closed(&mut stream).await;
    scene.is_served("large frames").await;
}

/// Each costs a request to a Sandbox, and its client nothing: it is taken back at once.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_taken_back_at_once_end_the_connection() {
    let scene = Scene::with(Settings { requests_per_client: 16, ..Settings::default() }).await;
    let mut stream = frames::connect(scene.world.address).await;
    let head = request(&scene, "/honest");
    let mut bytes = Vec::new();
    for number in (1..40_000_u32).step_by(2) {
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, number, &head));
        bytes.extend(frame(RESET, 0, number, &8_u32.to_be_bytes()));
    }
    let sent = stream.write_all(&bytes).await;
    let said = raw::until_closed(&mut stream).await;
    assert!(sent.is_err() || !said.is_empty(), "it is told, or cut off");
    scene.world.measures("sandbox_router_inflight_requests 0").await;
    scene.is_served("rapid resets").await;
    assert_eq!(scene.yours.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_ask_for_an_answer_that_nobody_reads_are_not_taken() {
    let scene = Scene::set().await;
    let settings = frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100]).repeat(64);
    let pings = frame(PING, 0, 0, &[0; 8]).repeat(64);
    for bytes in [settings, pings] {
        let mut stream = frames::connect(scene.world.address).await;
        let flood = flooded(&scene, &mut stream, &bytes).await;
        assert_ne!(flood, Flood::Swallowed, "its answers would be kept somewhere");
    }
}

/// Frames that say nothing are read, and the connection does not stay for them alone.
#[tokio::test(flavor = "multi_thread")]
async fn frames_that_mean_nothing_keep_no_connection() {
    let hello = std::time::Duration::from_millis(300);
    let scene = Scene::with(Settings { hello, idle: hello, ..Settings::default() }).await;
    let mut stream = frames::connect(scene.world.address).await;
    let unknown = frame(0x7f, 0, 0, &[0; 512]).repeat(64);
    let left = async { while raw::flood(&mut stream, &unknown, MUCH).await != Flood::Closed {} };
    tokio::time::timeout(crate::world::PATIENCE, left).await.expect("it is left");
    scene.is_served("frames without a meaning").await;
}

/// A client that lets nothing through its window gets what fits, and keeps no more of the router than that.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_window_holds_up_nobody_else() {
    let scene = Scene::set().await;
    let mut stream = raw::connect(scene.world.address).await;
    stream.write_all(frames::PREFACE).await.expect("sent");
    stream.write_all(&frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])).await.expect("sent");
    for number in (1..200_u32).step_by(2) {
        let head = frame(HEADERS, END_HEADERS | END_STREAM, number, &request(&scene, "/honest"));
        stream.write_all(&head).await.expect("sent");
    }
    scene.is_served("closed windows").await;
    drop(stream);
    scene.world.measures("sandbox_router_inflight_requests 0").await;
}
