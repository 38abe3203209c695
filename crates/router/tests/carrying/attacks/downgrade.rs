//! HTTP/2 that would mean something else as HTTP/1.1, which is what Sandboxes hear: line ends and lengths in headers, headers of a
//! connection, pseudo-headers that contradict themselves.

use tokio::io::AsyncWriteExt;

use super::Scene;
use crate::frames::{self, DATA, END_HEADERS, END_STREAM, Fate, HEADERS, frame};
use crate::world::token;

/// The headers of a good request for `/attack`.
fn good(scene: &Scene) -> Vec<(String, String)> {
    let fields = [
        (":method", "POST".to_owned()),
        (":scheme", "http".to_owned()),
        (":authority", "r".to_owned()),
        (":path", "/attack".to_owned()),
        ("x-sandbox-id", "mine".to_owned()),
        ("x-sandbox-port", scene.mine.port.to_string()),
        ("authorization", format!("Bearer {}", token("mine"))),
    ];
    fields.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Sends it with this body, and says what became of it.
async fn send(scene: &Scene, fields: &[(String, String)], body: &[u8]) -> Fate {
    let mut stream = frames::connect(scene.world.address).await;
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let flags = if body.is_empty() { END_HEADERS | END_STREAM } else { END_HEADERS };
    let mut bytes = frame(HEADERS, flags, 1, &frames::block(&fields));
    if !body.is_empty() {
        bytes.extend(frame(DATA, END_STREAM, 1, body));
    }
    stream.write_all(&bytes).await.expect("sent");
    frames::fate(&mut stream, 1).await
}

/// What makes a good request bad.
enum Twist {
    /// One header more, at the end.
    More(&'static str, &'static str),
    /// Another value.
    Instead(&'static str, &'static str),
    Without(&'static str),
}

use Twist::{Instead, More, Without};

const MALFORMED: &[Twist] = &[
    More("transfer-encoding", "chunked"),
    More("connection", "x-sandbox-id"),
    More("keep-alive", "1"),
    More("proxy-connection", "keep-alive"),
    More("upgrade", "websocket"),
    More("te", "chunked"),
    More("x-note", "a\r\nX-Sandbox-ID: yours"),
    More("x-note", "a\nb"),
    More("x-note", "a\0b"),
    More("x-note\r\nx-sandbox-id", "yours"),
    More("x-note: a\r\nx", "b"),
    More("X-Note", "a"),
    More("x note", "a"),
    More("", "a"),
    More(":path", "/smuggled"),
    More(":method", "GET"),
    More(":authority", "other"),
    More(":status", "200"),
    More(":unknown", "a"),
    More(":protocol", "websocket"),
    More("content-length", "1"),
    More("content-length", "99999999999999999999"),
    Instead(":path", "/attack HTTP/1.1\r\nX: y"),
    Instead(":path", "/at tack"),
    Instead(":path", ""),
    Instead(":method", "GET /smuggled HTTP/1.1\r\nX: "),
    Instead(":authority", "r\r\nX-Sandbox-ID: yours"),
    Instead(":scheme", "http://yours/?"),
    Without(":path"),
    Without(":method"),
];

fn twisted(scene: &Scene, twist: &Twist) -> Vec<(String, String)> {
    let mut fields = good(scene);
    match *twist {
        More(name, value) => fields.push((name.to_owned(), value.to_owned())),
        Instead(name, value) => {
            fields.iter_mut().filter(|(known, _)| known == name).for_each(|(_, old)| value.clone_into(old));
        }
        Without(name) => fields.retain(|(known, _)| known != name),
    }
    fields
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_of_http2_is_none_of_http1_either() {
    let scene = Scene::set().await;
    assert_eq!(send(&scene, &good(&scene), b"ab").await, Fate::Answered("seen:/attack".to_owned()));
    let whole = scene.mine.paths().len();
    for twist in MALFORMED {
        let fields = twisted(&scene, twist);
        let fate = send(&scene, &fields, b"ab").await;
        let name = format!("{fields:?}");
        assert!(matches!(fate, Fate::Refused | Fate::Broken), "{name}: {fate:?}");
        scene.is_served(&name).await;
        let honest = scene.mine.paths()[whole..].iter().all(|path| path == "/honest");
        assert!(honest && scene.yours.connections() == 0, "{name}: {:?}", scene.mine.seen());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doubled_headers_and_connect_are_refused_as_in_http1() {
    let scene = Scene::set().await;
    for twist in [More("x-sandbox-id", "yours"), More("x-sandbox-port", "1"), Instead(":method", "CONNECT")] {
        let fate = send(&scene, &twisted(&scene, &twist), b"").await;
        assert!(matches!(fate, Fate::Refused | Fate::Broken), "{fate:?}");
    }
    scene.is_served("doubled headers").await;
    scene.has_seen_nothing_else();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_authority_counts_before_a_host() {
    let scene = Scene::set().await;
    let fate = send(&scene, &twisted(&scene, &More("host", "other")), b"").await;
    assert_eq!(fate, Fate::Answered("seen:/attack".to_owned()));
    assert_eq!(scene.mine.message("/attack").headers["x-forwarded-host"], ["r"]);
}

/// HTTP/2 sends each cookie by itself. The router's own is taken out wherever it is, and the others arrive as HTTP/1.1 has them.
#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_of_the_router_does_not_reach_the_sandbox() {
    let scene = Scene::set().await;
    let mut fields = good(&scene);
    for cookie in ["a=1", &format!("agent-sandbox-preview={}", token("mine")), "b=2"] {
        fields.push(("cookie".to_owned(), cookie.to_owned()));
    }
    assert_eq!(send(&scene, &fields, b"").await, Fate::Answered("seen:/attack".to_owned()));
    assert_eq!(scene.mine.message("/attack").headers["cookie"], ["a=1; b=2"]);
}
