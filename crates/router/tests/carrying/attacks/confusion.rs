//! Requests that say two things: two Hosts, two Sandboxes, headers that are the router's to say, and protocols inside of this one. What
//! the router lets in and what it carries is one and the same, and Sandboxes hear from it what only it can know.

use super::Scene;
use crate::raw;
use crate::world::token;

fn get(scene: &Scene, target: &str, more: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\n{}{more}\r\n", scene.entitled()).into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_is_there_twice_is_refused() {
    let scene = Scene::set().await;
    let port = scene.yours.port;
    let doubled = [
        "Host: other".to_owned(),
        "X-Sandbox-ID: yours".to_owned(),
        "x-sandbox-id: mine".to_owned(),
        format!("X-Sandbox-Port: 1\r\nX-Sandbox-Port: {port}"),
        "X-Sandbox-Namespace: default\r\nX-Sandbox-Namespace: other".to_owned(),
        "X-Sandbox-UID: a\r\nX-Sandbox-UID: b".to_owned(),
        "X-Sandbox-Pod-IP: 192.0.2.1\r\nX-Sandbox-Pod-IP: 192.0.2.2".to_owned(),
        "X-Sandbox-Timeout: 1\r\nX-Sandbox-Timeout: 2".to_owned(),
    ];
    for header in doubled {
        let heard = scene.attack(&header, &get(&scene, "/attack", &format!("{header}\r\n"))).await;
        assert_eq!(heard[0].status, 400, "{header}");
    }
    let heard = scene.attack("a list", &get(&scene, "/attack", "X-Sandbox-ID: mine, yours\r\n")).await;
    assert_eq!(heard[0].status, 400);
}

/// Two tokens are none: neither is chosen for the client.
#[tokio::test(flavor = "multi_thread")]
async fn two_tokens_let_nobody_in() {
    let scene = Scene::set().await;
    let more = format!("Authorization: Bearer {}\r\n", token("yours"));
    let heard = scene.attack("two tokens", &get(&scene, "/attack", &more)).await;
    assert_eq!(heard[0].status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_with_a_host_counts_before_the_header() {
    let scene = Scene::set().await;
    let heard = scene.attack("absolute form", &get(&scene, "http://u:p@elsewhere.test:81/attack", "")).await;
    assert_eq!(heard[0].body, "seen:/attack");
    let seen = scene.mine.message("/attack");
    assert_eq!(seen.headers["x-forwarded-host"], ["elsewhere.test:81"]);
    let target = format!("127.0.0.2:{}", scene.mine.port);
    assert_eq!(seen.headers["host"], [target], "where it really went");
}

/// What a connection's header names is dropped on the way, and would have been read before: it takes nothing away that lets somebody in
/// or that the router itself says.
#[tokio::test(flavor = "multi_thread")]
async fn naming_headers_of_the_connection_takes_no_right_away_and_gives_none() {
    let scene = Scene::set().await;
    let named = "Connection: X-Sandbox-ID, X-Sandbox-Port, Authorization, X-Forwarded-For, X-Forwarded-Host, X-Sandboxd-Token, \
                 Content-Length, Host\r\n";
    let attack = format!("POST /attack HTTP/1.1\r\n{}{named}Content-Length: 2\r\n\r\nab", scene.entitled());
    let heard = scene.attack("named headers", attack.as_bytes()).await;
    assert_eq!(heard[0].body, "seen:/attack");
    let seen = scene.mine.message("/attack");
    assert_eq!(
        (&seen.headers["x-forwarded-for"][..], &seen.body[..]),
        (&["127.0.0.1".to_owned()][..], &b"ab"[..])
    );
    assert_eq!(seen.headers["x-forwarded-host"], ["r"]);
    assert!(!seen.headers.contains_key("authorization") && !seen.headers.contains_key("x-sandbox-id"));
    let bare = format!("GET /attack HTTP/1.1\r\nHost: r\r\nX-Sandbox-ID: mine\r\n{named}\r\n");
    assert_eq!(scene.attack("without a token", bare.as_bytes()).await[0].status, 401);
}

/// Also under names that applications take for the same, and behind the body.
#[tokio::test(flavor = "multi_thread")]
async fn what_only_the_router_says_cannot_be_forged() {
    let scene = Scene::set().await;
    let forged = "X-Sandboxd-Token: forged\r\nX-Forwarded-For: forged\r\nX-Forwarded-Host: forged\r\nX-Forwarded-Proto: forged\r\n\
                  Forwarded: for=forged\r\nX_Forwarded_For: forged\r\nx_sandboxd_token: forged\r\nX-Sandbox-User: forged\r\n\
                  Proxy-Authorization: forged\r\n";
    let trailers = "Trailer: X-Sandboxd-Token, X-Forwarded-For, X-Fine\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n";
    let attack = format!(
        "POST /attack HTTP/1.1\r\n{}{forged}{trailers}\r\n2\r\nab\r\n0\r\nX-Sandboxd-Token: forged\r\nX-Forwarded-For: forged\r\nX-Fine: fine\r\n\r\n",
        scene.entitled()
    );
    assert_eq!(scene.attack("forged headers", attack.as_bytes()).await[0].body, "seen:/attack");
    let seen = scene.mine.message("/attack");
    assert!(!format!("{:?}", seen.headers).contains("forged"), "{:?}", seen.headers);
    assert_eq!(seen.trailers, ["x-fine"]);
    assert_eq!(seen.headers["x-forwarded-for"], ["127.0.0.1"]);
    assert_eq!(seen.headers["x-forwarded-proto"], ["http"]);
}

/// HTTP/1.0 knows no Host, and a forged one does not take its place.
#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_no_host_none_is_made_up() {
    let scene = Scene::set().await;
    let entitled = scene.entitled().replace("Host: r\r\n", "");
    let request = format!("GET /attack HTTP/1.0\r\n{entitled}X-Forwarded-Host: forged\r\n\r\n");
    let answers = raw::answers(&raw::exchange(scene.world.address, request.as_bytes()).await);
    assert_eq!(answers[0].body, "seen:/attack");
    assert!(!scene.mine.message("/attack").headers.contains_key("x-forwarded-host"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_tunnelled_by_connect() {
    let scene = Scene::set().await;
    let target = format!("127.0.0.2:{}", scene.yours.port);
    let attack = format!("CONNECT {target} HTTP/1.1\r\n{}\r\n", scene.entitled());
    let heard = raw::answers(&raw::exchange(scene.world.address, attack.as_bytes()).await);
    assert_eq!(heard[0].status, 400);
    scene.is_served("CONNECT").await;
    scene.has_seen_nothing_else();
}

/// Whoever got HTTP/2 inside of HTTP/1.1 could send requests past the router.
#[tokio::test(flavor = "multi_thread")]
async fn http_inside_of_http_is_not_begun() {
    let scene = Scene::set().await;
    let more = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n";
    let heard = scene.attack("h2c", &get(&scene, "/attack", more)).await;
    assert_eq!(heard[0].body, "seen:/attack");
    let seen = scene.mine.message("/attack");
    assert!(
        !seen.headers.contains_key("upgrade") && !seen.headers.contains_key("http2-settings"),
        "{seen:?}"
    );
}
