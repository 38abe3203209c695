//! One router ends while clients are at it, and another takes its place. Every answer that begins is whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use asb_router::{Caller, Settings};
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::backend::Backend;
use crate::raw;
use crate::world::{PATIENCE, World, http, router, token};

const SIZE: usize = 300_000;

/// Whole answers, so far. Requests that got none may be sent again: this client does.
async fn keep_asking(
    request: impl Fn() -> http::Request<Full<Bytes>>,
    whole: Arc<AtomicUsize>,
    enough: CancellationToken,
) {
    let client = http();
    while !enough.is_cancelled() {
        let Ok(answer) = client.request(request()).await else {
            tokio::task::yield_now().await;
            continue;
        };
        assert_eq!(answer.status(), StatusCode::OK);
        let body = answer.into_body().collect().await.expect("an answer that begins is whole").to_bytes();
        assert_eq!(body.len(), SIZE);
        whole.fetch_add(1, Ordering::SeqCst);
    }
}

async fn until_more(whole: &AtomicUsize, than: usize) {
    let more = async {
        while whole.load(Ordering::SeqCst) <= than {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, more).await.expect("there are more answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_router_that_is_replaced_tears_no_answer() {
    let world = World::start().await;
    let backend = Backend::serve(|_| std::future::ready(Response::new(Full::from(vec![7; SIZE])))).await;
    world.sandbox("box", &["127.0.0.1"]).await;
    let (whole, enough, mut clients) =
        (Arc::<AtomicUsize>::default(), CancellationToken::new(), JoinSet::new());
    for _ in 0..8 {
        let (address, port, bearer) = (world.address, backend.port, format!("Bearer {}", token("box")));
        let request = move || {
            let request = http::Request::get(format!("http://{address}/")).header("X-Sandbox-ID", "box");
            let request = request.header("X-Sandbox-Port", port).header("Authorization", &bearer);
            request.body(Full::default()).expect("a request")
        };
        clients.spawn(keep_asking(request, Arc::clone(&whole), enough.clone()));
    }
    until_more(&whole, 20).await;
    world.stop.cancel();
    tokio::time::timeout(PATIENCE, world.running).await.expect("it ends").expect("well");
    let listener = TcpListener::bind(world.address).await.expect("the address is free");
    let mut next = router(&world.client, &world.client, Settings::default());
    next.listen(listener, Caller::Stranger, None).expect("no certificate");
    let (handle, stop) = (next.handle(), CancellationToken::new());
    let running = tokio::spawn(next.run(stop.clone()));
    tokio::time::timeout(PATIENCE, handle.wait_until_ready()).await.expect("it knows all Sandboxes");
    until_more(&whole, whole.load(Ordering::SeqCst) + 20).await;
    enough.cancel();
    while let Some(ended) = clients.join_next().await {
        ended.expect("nobody got half an answer");
    }
    stop.cancel();
    tokio::time::timeout(PATIENCE, running).await.expect("it ends").expect("well");
}

/// Also one that came by a tunnel, which nobody but the router can end.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_does_not_end_in_time_is_cut_off() {
    let world = World::with(Settings { goodbye: Duration::from_millis(200), ..Settings::default() }).await;
    let arrived = Arc::new(Notify::new());
    let signal = Arc::clone(&arrived);
    let backend = Backend::serve(move |_| {
        signal.notify_one();
        std::future::pending()
    })
    .await;
    world.sandbox("box", &["127.0.0.1"]).await;
    let request = format!(
        "GET / HTTP/1.1\r\nHost: r\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        backend.port,
        token("box")
    );
    let mut stream = raw::connect(world.address).await;
    stream.write_all(request.as_bytes()).await.expect("sent");
    arrived.notified().await;
    let (mut near, far) = tokio::io::duplex(4096);
    world.handle.accept(far, Caller::Trusted);
    near.write_all(request.as_bytes()).await.expect("sent");
    arrived.notified().await;
    world.stop.cancel();
    tokio::time::timeout(PATIENCE, world.running).await.expect("it ends").expect("well");
    assert_eq!(raw::until_closed(&mut stream).await, b"");
}
