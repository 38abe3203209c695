//! Tokens that were good once, or elsewhere, or never.

use asb_router::Settings;
use asb_router::token::{PrivateKey, Scope, Secret, for_runtime};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::hmac;
use serde_json::{Value, json};

use crate::raw;
use crate::witness::Witness;
use crate::world::{World, key, scope, secret, token};

struct Door {
    world: World,
    inside: Witness,
    uid: String,
}

impl Door {
    async fn set() -> Self {
        let settings = Settings { domain: Some("boxes.test".to_owned()), ..Settings::default() };
        let (world, inside) = (World::with(settings).await, Witness::start().await);
        let sandbox = world.sandbox("box", &["127.0.0.1"]).await;
        Self { world, inside, uid: sandbox.metadata.uid.expect("it has one") }
    }

    /// The status for whoever shows this, by these headers.
    async fn status(&self, target: &str, headers: &str) -> u16 {
        let port = self.inside.port;
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: r\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: {port}\r\n{headers}Connection: close\r\n\r\n"
        );
        raw::answers(&raw::exchange(self.world.address, request.as_bytes()).await)[0].status
    }

    async fn bearer(&self, token: &str) -> u16 {
        self.status("/", &format!("Authorization: Bearer {token}\r\n")).await
    }

    /// By a token of either sort.
    async fn with(&self, scope: &Scope) -> [u16; 2] {
        let shared = self.bearer(&scope.signed_with_secret(&secret())).await;
        [shared, self.bearer(&scope.signed_with_key(&key())).await]
    }
}

/// Signed as it should be, whatever it says.
fn signed(payload: &str) -> String {
    let payload = URL_SAFE_NO_PAD.encode(payload);
    let key = hmac::Key::new(hmac::HMAC_SHA256, &[7; 32]);
    let signature = hmac::sign(&key, format!("agent-sandbox/scoped-token/v1.{payload}").as_bytes());
    format!("v1.{payload}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_what_it_names_until_it_ends() {
    let door = Door::set().await;
    let now = Timestamp::now().as_second();
    let good = Scope { uid: Some(door.uid.clone()), port: Some(door.inside.port), ..scope("box") };
    assert_eq!(door.with(&good).await, [200, 200]);
    let seen = door.inside.paths().len();
    assert_eq!(door.with(&Scope { exp: now, ..scope("box") }).await, [401, 401], "it has ended");
    assert_eq!(door.with(&Scope { exp: i64::MIN, ..scope("box") }).await, [401, 401]);
    assert_eq!(door.with(&scope("other")).await, [403, 403]);
    assert_eq!(door.with(&Scope { namespace: "other".to_owned(), ..scope("box") }).await, [403, 403]);
    assert_eq!(door.with(&Scope { port: Some(1), ..scope("box") }).await, [403, 403]);
    assert_eq!(door.with(&Scope { uid: Some("other".to_owned()), ..scope("box") }).await, [403, 403]);
    assert_eq!(door.inside.paths().len(), seen, "nobody else got in");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_not_for_the_next_sandbox_of_the_name() {
    let door = Door::set().await;
    let exact = Scope { uid: Some(door.uid.clone()), ..scope("box") };
    assert_eq!(door.with(&exact).await, [200, 200]);
    door.world.delete("default", "box").await;
    assert_eq!(door.with(&exact).await, [403, 403], "of one that is gone no more is said than of another");
    door.world.sandbox("box", &["127.0.0.1"]).await;
    assert_eq!(door.with(&exact).await, [403, 403]);
    assert_eq!(door.with(&scope("box")).await, [200, 200], "one for the name is for whoever has it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_counts_for_the_sort_that_it_was_made_for() {
    let door = Door::set().await;
    let (shared, paired) = (scope("box").signed_with_secret(&secret()), scope("box").signed_with_key(&key()));
    let public = Secret::read(key().public().text().as_bytes()).expect("long enough");
    let by_public = scope("box").signed_with_secret(&public);
    let stranger = PrivateKey::read(&PrivateKey::generate()).expect("a key");
    let (payload, signature) = shared["v1.".len()..].split_once('.').expect("two parts");
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
    let wrong = [
        shared.replacen("v1", "v2", 1),
        paired.replacen("v2", "v1", 1),
        shared.replacen("v1", "v3", 1),
        shared.replacen("v1", "V1", 1),
        by_public,
        scope("box").signed_with_key(&stranger),
        scope("box").signed_with_secret(&Secret::read(&[8; 32]).expect("long enough")),
        format!("v1.{payload}."),
        format!("v1.{payload}"),
        format!("v1..{signature}"),
        format!("v1.{payload}.{signature}."),
        format!("v1.{payload}.{signature}=="),
        format!("v1.{payload}.{}", &signature[..signature.len() / 2]),
        format!("{none}.{payload}."),
        for_runtime(&door.uid, &key(), Timestamp::now()),
        "v1".to_owned(),
        "v1.v1.v1".to_owned(),
        format!("v1.{}", "a".repeat(4000)),
    ];
    for token in wrong {
        assert_eq!(door.bearer(&token).await, 401, "{token}");
    }
    assert_eq!(door.inside.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_outlives_its_numbers() {
    let door = Door::set().await;
    let payload = |exp: Value| json!({"ns": "default", "name": "box", "exp": exp}).to_string();
    let later = Timestamp::now().as_second() + 60;
    assert_eq!(door.bearer(&signed(&payload(json!(later)))).await, 200, "it is signed as it should be");
    let seen = door.inside.paths().len();
    let text = |exp: &str| format!(r#"{{"ns":"default","name":"box","exp":{exp}}}"#);
    let wrong = [
        text("9223372036854775808"),
        text("18446744073709551615"),
        text("1e30"),
        text("99999999999.5"),
        text("-1"),
        text(&format!("\"{later}\"")),
        text("null"),
        text(&format!("0,\"exp\":{later}")),
        r#"{"ns":"default","name":"box"}"#.to_owned(),
        format!(r#"{{"ns":"default","name":"other","name":"box","exp":{later}}}"#),
        format!(r#"{{"ns":"default","name":["box"],"exp":{later}}}"#),
        format!(r#"{{"ns":"default","name":"box","exp":{later}}}x"#),
        format!(r#"{{"ns":"default","name":"box","exp":{later},"port":65617}}"#),
    ];
    for payload in wrong {
        assert_eq!(door.bearer(&signed(&payload)).await, 401, "{payload}");
    }
    assert_eq!(door.inside.paths().len(), seen);
}

/// However its name is written.
#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_a_link_does_not_reach_the_sandbox() {
    let door = Door::set().await;
    let good = token("box");
    for name in ["agent-sandbox-preview", "agent%2Dsandbox-preview", "%61gent-sandbox-preview"] {
        let target = format!("/app?a=%20&{name}={good}&b=1");
        let port = door.inside.port;
        let common =
            format!("Host: r\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: {port}\r\nConnection: close\r\n");
        let link = format!("GET {target} HTTP/1.1\r\n{common}\r\n");
        let answers = raw::answers(&raw::exchange(door.world.address, link.as_bytes()).await);
        assert_eq!(answers[0].status, 303, "{name}");
        assert!(answers[0].head.contains("\r\nlocation: /app?a=%20&b=1\r\n"), "{}", answers[0].head);
        let before = door.inside.paths().len();
        let form = format!("POST {target} HTTP/1.1\r\n{common}\r\n");
        raw::exchange(door.world.address, form.as_bytes()).await;
        assert_eq!(door.inside.paths()[before..], ["/app?a=%20&b=1"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cookie_of_one_sandbox_opens_no_other() {
    let door = Door::set().await;
    door.world.sandbox("other", &["127.0.0.1"]).await;
    let with = |name: &str| format!("Cookie: a=1; agent-sandbox-preview={}; b=2\r\n", token(name));
    assert_eq!(door.status("/cookie", &with("box")).await, 200);
    assert_eq!(door.inside.message("/cookie").headers["cookie"], ["a=1; b=2"]);
    assert_eq!(door.status("/", &with("other")).await, 403);
    let by_host = |name: &str| {
        let port = door.inside.port;
        format!(
            "GET /host HTTP/1.1\r\nHost: {port}-{name}-default.boxes.test\r\n{}Connection: close\r\n\r\n",
            with("box")
        )
    };
    for (name, status) in [("box", 200), ("other", 403)] {
        let answers = raw::answers(&raw::exchange(door.world.address, by_host(name).as_bytes()).await);
        assert_eq!(answers[0].status, status, "{name}");
    }
}

/// A cookie made of what nobody has looked at could say more than a token.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_token_is_not_made_a_cookie() {
    let door = Door::set().await;
    door.world.router_pod(json!([{"name": "router", "image": "i"}])).await;
    let port = door.inside.port;
    let request = format!(
        "GET /?agent-sandbox-preview=x%3B%20Domain%3Dtest HTTP/1.1\r\nHost: r\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: {port}\r\nConnection: close\r\n\r\n"
    );
    let answers = raw::answers(&raw::exchange(door.world.tunnel, request.as_bytes()).await);
    assert_eq!((answers[0].status, answers[0].body.as_str()), (200, "seen:/"));
    assert!(!answers[0].head.to_lowercase().contains("set-cookie"));
}
