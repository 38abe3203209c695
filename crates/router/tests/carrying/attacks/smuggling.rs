//! Requests inside of requests: bodies whose length two readers could take for different ones, and lines that may end in different
//! places. The router either refuses them or makes one request of them, in its own words.

use super::Scene;

/// An attack on how a body is framed, and what the router may answer to it. `{smuggled}` is a request that must not be carried,
/// `{length}` its length, and `{size}` that in hexadecimal.
struct Framing {
    name: &'static str,
    headers: &'static str,
    body: &'static str,
    answers: &'static [u16],
}

const fn framing(
    name: &'static str,
    headers: &'static str,
    body: &'static str,
    answers: &'static [u16],
) -> Framing {
    Framing { name, headers, body, answers }
}

/// A body that breaks off: the request has been let in, and nobody takes what there was of it for the whole. The router hangs up, or
/// says that it could not carry it.
const BROKEN: &[u16] = &[400, 502];
const REFUSED: &[u16] = &[400];
const CARRIED: &[u16] = &[200];

const FRAMINGS: &[Framing] = &[
    framing(
        "a length and chunks",
        "Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n",
        "0\r\n\r\n{smuggled}",
        CARRIED,
    ),
    framing(
        "chunks and a length",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "{size}\r\n{smuggled}\r\n0\r\n\r\n",
        CARRIED,
    ),
    framing("two lengths", "Content-Length: 0\r\nContent-Length: {length}\r\n", "{smuggled}", REFUSED),
    framing("one length twice", "Content-Length: 2\r\nContent-Length: 2\r\n", "ab", CARRIED),
    framing("lengths in a list", "Content-Length: 0, {length}\r\n", "{smuggled}", REFUSED),
    framing("a length with a sign", "Content-Length: +{length}\r\n", "{smuggled}", REFUSED),
    framing("a negative length", "Content-Length: -1\r\n", "{smuggled}", REFUSED),
    framing("a hexadecimal length", "Content-Length: 0x10\r\n", "{smuggled}", REFUSED),
    framing("a length beyond numbers", "Content-Length: 18446744073709551616\r\n", "{smuggled}", REFUSED),
    framing("no length", "Content-Length: \r\n", "{smuggled}", REFUSED),
    framing("an unknown coding", "Transfer-Encoding: xchunked\r\n", "0\r\n\r\n{smuggled}", REFUSED),
    framing("chunks that are not last", "Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n", REFUSED),
    framing(
        "a coding inside of chunks",
        "Transfer-Encoding: gzip, chunked\r\n",
        "2\r\nab\r\n0\r\n\r\n",
        &[501],
    ),
    framing("chunks in chunks", "Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n", &[501]),
    framing(
        "two codings",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "0\r\n\r\n{smuggled}",
        REFUSED,
    ),
    framing(
        "one coding twice",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "0\r\n\r\n",
        &[501],
    ),
    framing("a coding after a control character", "Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n", REFUSED),
    framing("a space before a colon", "Transfer-Encoding : chunked\r\n", "0\r\n\r\n{smuggled}", REFUSED),
    framing("a space before the name", " Transfer-Encoding: chunked\r\n", "0\r\n\r\n{smuggled}", REFUSED),
    framing("a folded header", "Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n{smuggled}", REFUSED),
    framing("chunk sizes beyond numbers", "Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\n", BROKEN),
    framing("chunk sizes that are none", "Transfer-Encoding: chunked\r\n", "zz\r\n\r\n", BROKEN),
    framing("negative chunk sizes", "Transfer-Encoding: chunked\r\n", "-1\r\n\r\n", BROKEN),
    framing("prefixed chunk sizes", "Transfer-Encoding: chunked\r\n", "0x2\r\nab\r\n0\r\n\r\n", BROKEN),
    framing("a chunk that does not end", "Transfer-Encoding: chunked\r\n", "2\r\nabXX0\r\n\r\n", BROKEN),
    framing("a chunk that ends by half", "Transfer-Encoding: chunked\r\n", "2\r\nab\n0\n\n", BROKEN),
    framing(
        "bytes before a chunk's size",
        "Transfer-Encoding: chunked\r\n",
        "\r\n2\r\nab\r\n0\r\n\r\n",
        BROKEN,
    ),
    framing(
        "a chunk with an extension",
        "Transfer-Encoding: chunked\r\n",
        "2;a=b\r\nab\r\n0\r\n\r\n",
        CARRIED,
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_body_hides_a_request() {
    let scene = Scene::set().await;
    let smuggled = scene.smuggled();
    let filled = |text: &str| {
        text.replace("{length}", &(smuggled.len() + 5).to_string())
            .replace("{size}", &format!("{:x}", smuggled.len()))
            .replace("{smuggled}", &smuggled)
    };
    for Framing { name, headers, body, answers } in FRAMINGS {
        let head = format!("POST /attack HTTP/1.1\r\n{}{}\r\n", scene.entitled(), filled(headers));
        let answered = scene.attack(name, [head, filled(body)].concat().as_bytes()).await;
        // A connection that breaks off within a request may end without an answer.
        let first = answered.first().map(|answer| answer.status);
        let is_broken = *answers == BROKEN && first.is_none();
        assert!(is_broken || first.is_some_and(|status| answers.contains(&status)), "{name}: {answered:?}");
    }
}

/// What stands in the place of `{x}` in a request that is otherwise good, and whether the router may still carry it.
const LINES: &[(&str, &str, &[u16])] = &[
    ("a bare CR in a value", "X-Note: a\rX-Sandbox-ID: yours\r\n", REFUSED),
    ("a bare LF at a line's end", "X-Note: a\nX-Sandbox-ID: yours\r\n", REFUSED),
    ("a bare LF at a harmless line's end", "X-Note: a\nX-Other: b\r\n", CARRIED),
    ("NUL in a value", "X-Note: a\0b\r\n", REFUSED),
    ("NUL in a name", "X-No\0te: a\r\n", REFUSED),
    ("a folded value", "X-Note: a\r\n X-Sandbox-ID: yours\r\n", REFUSED),
    ("a name and a space", "X-Sandbox-ID : yours\r\n", REFUSED),
    ("a line without a colon", "X-Sandbox-ID\r\n", REFUSED),
    ("a line without a name", ": yours\r\n", REFUSED),
    ("control characters in a value", "X-Note: a\x08b\r\n", REFUSED),
    ("a name that is no token", "X-Note(1): a\r\n", REFUSED),
    ("an end in the middle", "X-Note: a\r\n\r", REFUSED),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_line_is_read_as_two() {
    let scene = Scene::set().await;
    for (name, line, answers) in LINES {
        let attack = format!("GET /attack HTTP/1.1\r\n{}{line}\r\n", scene.entitled());
        let heard = scene.attack(name, attack.as_bytes()).await;
        assert!(heard.first().is_some_and(|answer| answers.contains(&answer.status)), "{name}: {heard:?}");
    }
}

/// First lines that are none, or not of HTTP/1.1.
const FIRST_LINES: &[&str] = &[
    "GET /attack\r\n\r\n",
    "GET /attack HTTP/2.0\r\n",
    "GET /attack HTTP/1.1 HTTP/1.1\r\n",
    "GET /attack HTTP/9.9\r\n",
    "GET  /attack HTTP/1.1\r\n",
    "GET\t/attack\tHTTP/1.1\r\n",
    "GET /attack\0 HTTP/1.1\r\n",
    "GET /att ack HTTP/1.1\r\n",
    "GET /attack\rX HTTP/1.1\r\n",
    "G(T /attack HTTP/1.1\r\n",
    " GET /attack HTTP/1.1\r\n",
    "GET attack HTTP/1.1\r\n",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_line_is_refused() {
    let scene = Scene::set().await;
    for line in FIRST_LINES {
        let heard = scene.attack(line, format!("{line}{}\r\n", scene.entitled()).as_bytes()).await;
        assert!(heard.first().is_some_and(|answer| answer.status == 400), "{line}: {heard:?}");
    }
}

/// A client that waits to be told to go on is told so by the router alone, and what it sends then is its body.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_after_being_told_to_go_on_is_a_body() {
    let scene = Scene::set().await;
    let smuggled = scene.smuggled();
    let head = format!(
        "POST /attack HTTP/1.1\r\n{}Expect: 100-continue\r\nContent-Length: {}\r\n\r\n{smuggled}",
        scene.entitled(),
        smuggled.len()
    );
    let answers = scene.attack("100-continue", head.as_bytes()).await;
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [200, 200]);
    assert_eq!(scene.mine.message("/attack").body, smuggled.as_bytes());
}
