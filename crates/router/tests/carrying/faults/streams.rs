//! Sandboxes that die in the middle of an answer, or say what nobody asked for. No client takes a part for the whole, and nothing stays
//! held.

use asb_router::Settings;
use http::header::{CONNECTION, UPGRADE};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::raw;
use crate::world::{World, http, refusal, token};

/// Reads a request, says this, and is gone.
async fn dying(words: &'static str) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            if matches!(stream.read(&mut request).await, Ok(1..)) {
                stream.write_all(words.as_bytes()).await.expect("the router listens");
            }
        }
    });
    (port, serving)
}

const CUT: [&str; 3] = [
    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n",
];

#[tokio::test(flavor = "multi_thread")]
async fn half_an_answer_is_not_taken_for_a_whole_one() {
    let world = World::with(Settings { requests_per_client: 1, ..Settings::default() }).await;
    world.sandbox("box", &["127.0.0.1"]).await;
    for words in CUT {
        let (port, serving) = dying(words).await;
        for http2 in [false, true] {
            let client: Client<_, Full<bytes::Bytes>> =
                Client::builder(TokioExecutor::new()).http2_only(http2).build_http();
            let request = world.to("box", port, "/").body(Full::default()).expect("a request");
            let answer = client.request(request).await.expect("it begins well");
            assert_eq!(answer.status().as_u16(), 200, "{words}");
            assert!(answer.into_body().collect().await.is_err(), "{words}");
            world.measures("sandbox_router_inflight_requests 0").await;
        }
        serving.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_dies_ends_what_was_said_with_it() {
    let world = World::with(Settings { requests_per_client: 1, ..Settings::default() }).await;
    world.sandbox("box", &["127.0.0.1"]).await;
    let (port, serving) =
        dying("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhalf").await;
    let request = world.to("box", port, "/").header(CONNECTION, "upgrade").header(UPGRADE, "x");
    let mut answer =
        http().request(request.body(Full::default()).expect("a request")).await.expect("an answer");
    let upgraded = hyper::upgrade::on(&mut answer).await.expect("another protocol");
    let mut heard = String::new();
    let _ = hyper_util::rt::TokioIo::new(upgraded).read_to_string(&mut heard).await;
    assert_eq!(heard, "half");
    world.measures("sandbox_router_inflight_requests 0").await;
    serving.abort();
}

/// What is no answer to the request that was sent is none to the client either.
#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_asked_for_does_not_arrive() {
    let world = World::start().await;
    world.sandbox("box", &["127.0.0.1"]).await;
    for words in [
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nX-Note: a\rSet-Cookie: b\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX-Note : a\r\nContent-Length: 0\r\n\r\n",
        "nonsense\r\n\r\n",
        "",
    ] {
        let (port, serving) = dying(words).await;
        assert_eq!(refusal(world.to("box", port, "/")).await.0, 502, "{words}");
        serving.abort();
    }
}

/// A Sandbox that answers twice answers once: what is left over is not the next client's answer.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_too_many_is_nobodys() {
    let world = World::start().await;
    world.sandbox("box", &["127.0.0.1"]).await;
    let (port, serving) = dying(
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\noneHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
    )
    .await;
    let head = format!(
        "Host: r\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: {port}\r\nAuthorization: Bearer {}\r\n",
        token("box")
    );
    let requests = format!("GET / HTTP/1.1\r\n{head}\r\nGET / HTTP/1.1\r\n{head}Connection: close\r\n\r\n");
    for _ in 0..8 {
        let answers = raw::answers(&raw::exchange(world.address, requests.as_bytes()).await);
        let bodies: Vec<&str> = answers.iter().map(|answer| answer.body.as_str()).collect();
        assert!(!bodies.contains(&"forged"), "{answers:?}");
        assert_eq!(bodies[0], "one");
    }
    serving.abort();
}
