//! Sandboxes that are slow, break off or do not listen, and a router that stops.

mod api_server;
mod replacement;
mod restart;
mod streams;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use asb_router::Settings;
use http::{Response, StatusCode};
use http_body_util::Full;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::backend::Backend;
use crate::world::{PATIENCE, World, ask, refusal};

#[tokio::test(flavor = "multi_thread")]
async fn whoever_takes_longer_than_the_request_allows_is_given_up() {
    let world = World::start().await;
    let backend = Backend::serve(|_| std::future::pending()).await;
    world.sandbox("box", &["127.0.0.1"]).await;
    let request = world.to("box", backend.port, "/").header("X-Sandbox-Timeout", "0.2");
    assert_eq!(refusal(request).await, (504, "Timed out waiting for the backend sandbox: box".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_may_have_arrived_is_not_repeated() {
    let world = World::start().await;
    let seen = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let count = Arc::clone(&seen);
    let serving = tokio::spawn(async move {
        // Reads the request, and hangs up without a word.
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 1024];
            if stream.read(&mut buffer).await.is_ok_and(|length| length > 0) {
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    world.sandbox("box", &["127.0.0.1"]).await;
    let said = refusal(world.to("box", port, "/execute").method("POST")).await;
    assert_eq!(said, (502, "Could not connect to the backend sandbox: box".to_owned()));
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_listen_yet_is_tried_again() {
    let settings = Settings { redial_after: Duration::from_millis(300), ..Settings::default() };
    let world = World::with(settings).await;
    world.sandbox("box", &["127.0.0.1"]).await;
    let reserved = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = reserved.local_addr().expect("an address").port();
    drop(reserved);
    assert_eq!(refusal(world.to("box", port, "/")).await.0, 502);
    assert!(world.handle.metrics().text().contains("sandbox_router_upstream_retries_total 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_is_refused() {
    let world = World::with(Settings { most_body: Some(4), ..Settings::default() }).await;
    let backend = Backend::echo().await;
    world.sandbox("box", &["127.0.0.1"]).await;
    assert_eq!(ask(world.to("box", backend.port, "/").method("POST"), "1234").await.0, StatusCode::OK);
    let (status, _) = ask(world.to("box", backend.port, "/").method("POST"), "12345").await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_ends_before_the_router_does() {
    let world = World::start().await;
    let (arrived, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let signals = (Arc::clone(&arrived), Arc::clone(&go_on));
    let backend = Backend::serve(move |_| {
        let (arrived, go_on) = signals.clone();
        async move {
            arrived.notify_one();
            go_on.notified().await;
            Response::new(Full::from("whole"))
        }
    })
    .await;
    world.sandbox("box", &["127.0.0.1"]).await;
    let request = world.to("box", backend.port, "/");
    let asking = tokio::spawn(ask(request, ""));
    arrived.notified().await;
    world.stop.cancel();
    go_on.notify_one();
    assert_eq!(asking.await.expect("it is answered"), (StatusCode::OK, b"whole".to_vec()));
    tokio::time::timeout(PATIENCE, world.running).await.expect("it ends").expect("well");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_does_not_take_the_place_of_all() {
    let world = World::with(Settings { requests_per_client: 1, ..Settings::default() }).await;
    let arrived = Arc::new(Notify::new());
    let signal = Arc::clone(&arrived);
    let backend = Backend::serve(move |_| {
        signal.notify_one();
        std::future::pending()
    })
    .await;
    world.sandbox("box", &["127.0.0.1"]).await;
    let holding = tokio::spawn(ask(world.to("box", backend.port, "/"), ""));
    arrived.notified().await;
    let said = refusal(world.to("box", backend.port, "/")).await;
    assert_eq!(said, (429, "Too many requests at a time: at most 1 for each client.".to_owned()));
    holding.abort();
}
