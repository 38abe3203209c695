//! Good requests with something changed in them, at random but the same each time. Whatever it is, the router answers or hangs up, nothing
//! in it panics, and nobody gets in who may not.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tokio::io::AsyncWriteExt;

use super::Scene;
use crate::frames::{self, END_HEADERS, END_STREAM, HEADERS, frame};
use crate::raw;

const CASES: usize = 400;

/// What is done to the bytes of a request.
#[derive(Clone, Debug)]
enum Change {
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..4),
        prop::sample::select(vec![
            "\r\n",
            "\n",
            "\r",
            "\0",
            ": ",
            "\r\n\r\n",
            " ",
            "\t",
            "Transfer-Encoding: chunked\r\n",
            "X-Sandbox-ID: yours\r\n"
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop_oneof![
        (any::<prop::sample::Index>(), 1..=255_u8).prop_map(|(at, with)| Change::Flip(at, with)),
        (any::<prop::sample::Index>(), piece).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (any::<prop::sample::Index>(), 1..20_usize).prop_map(|(at, length)| Change::Remove(at, length)),
        (any::<prop::sample::Index>(), 1..40_usize).prop_map(|(at, length)| Change::Repeat(at, length)),
    ]
}

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        if bytes.is_empty() {
            break;
        }
        match change {
            Change::Flip(at, with) => *at.get_mut(&mut bytes) ^= with,
            Change::Insert(at, piece) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, piece.iter().copied());
            }
            Change::Remove(at, length) => {
                let at = at.index(bytes.len());
                let end = (at + length).min(bytes.len());
                bytes.drain(at..end);
            }
            Change::Repeat(at, length) => {
                let at = at.index(bytes.len());
                let piece = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

/// The same each time: what fails is found again.
fn all_changes(seed: u8) -> Vec<Vec<Change>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = prop::collection::vec(change(), 1..4);
    (0..CASES).map(|_| strategy.new_tree(&mut runner).expect("changes").current()).collect()
}

/// Counts panics of the router's own code, wherever they are caught.
fn count_panics() -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let (counted, before) = (Arc::clone(&count), panic::take_hook());
    panic::set_hook(Box::new(move |panicked| {
        let is_routers = panicked.location().is_some_and(|place| !place.file().contains("tests/"));
        counted.fetch_add(usize::from(is_routers), Ordering::SeqCst);
        before(panicked);
    }));
    count
}

/// Sends it and ends: the router has to make do with that.
async fn send(scene: &Scene, bytes: &[u8]) {
    let mut stream = raw::connect(scene.world.address).await;
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    raw::until_closed(&mut stream).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_sent_nobody_gets_in_who_may_not() {
    let (scene, panics) = (Scene::set().await, count_panics());
    let post = format!(
        "POST /honest HTTP/1.1\r\n{}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        scene.entitled()
    );
    let stranger =
        scene.entitled().replace("Authorization: Bearer ", "Authorization: Basic ").replace("mine", "yours");
    let stranger = stranger.replace(&scene.mine.port.to_string(), &scene.yours.port.to_string());
    let refused =
        format!("GET /smuggled HTTP/1.1\r\n{stranger}Content-Length: 2\r\n\r\nab{}", scene.smuggled());
    for (seed, request) in [(1, post), (2, refused)] {
        for changes in all_changes(seed) {
            send(&scene, &changed(request.clone().into_bytes(), &changes)).await;
        }
    }
    scene.is_served("everything").await;
    assert_eq!(scene.yours.connections(), 0, "{:?}", scene.yours.seen());
    // What was changed was entitled to reach this one; it has to arrive as requests all the same.
    scene.mine.paths();
    assert_eq!(panics.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_sent_as_http2_nobody_gets_in_who_may_not() {
    let (scene, panics) = (Scene::set().await, count_panics());
    let port = scene.yours.port.to_string();
    let fields = [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "r"),
        (":path", "/smuggled"),
        ("x-sandbox-id", "yours"),
        ("x-sandbox-port", &port),
    ];
    let mut request = frames::PREFACE.to_vec();
    request.extend(frame(frames::SETTINGS, 0, 0, &[]));
    request.extend(frame(HEADERS, END_HEADERS | END_STREAM, 1, &frames::block(&fields)));
    for changes in all_changes(3) {
        send(&scene, &changed(request.clone(), &changes)).await;
    }
    scene.is_served("everything").await;
    assert_eq!(scene.yours.connections(), 0, "{:?}", scene.yours.seen());
    assert_eq!(panics.load(Ordering::SeqCst), 0);
}
