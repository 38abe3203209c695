//! What is forwarded to the router's Pod: it needs no token, unless somebody else could have made the connection.

use http::StatusCode;
use serde_json::{Value, json};

use crate::backend::Backend;
use crate::world::{World, ask, refusal, token};

/// Without a token.
fn forwarded(world: &World, port: u16) -> http::request::Builder {
    http::Request::builder()
        .uri(format!("http://{}/", world.tunnel))
        .header("X-Sandbox-ID", "box")
        .header("X-Sandbox-Port", port)
}

async fn begin(containers: Option<Value>) -> (World, Backend) {
    let (world, backend) = (World::start().await, Backend::echo().await);
    world.sandbox("box", &["127.0.0.1"]).await;
    if let Some(containers) = containers {
        world.router_pod(containers).await;
    }
    (world, backend)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_forwarded_to_a_router_alone_in_its_pod_needs_no_token() {
    let (world, backend) = begin(Some(json!([{"name": "router", "image": "i"}]))).await;
    assert_eq!(ask(forwarded(&world, backend.port), "").await.0, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_another_container_could_be_behind_it_a_token_is_needed() {
    let containers = json!([{"name": "router", "image": "i"}, {"name": "mesh", "image": "i"}]);
    let (world, backend) = begin(Some(containers)).await;
    let refused = (401, "unauthenticated".to_owned());
    assert_eq!(refusal(forwarded(&world, backend.port)).await, refused);
    let with = forwarded(&world, backend.port).header("Authorization", format!("Bearer {}", token("box")));
    assert_eq!(ask(with, "").await.0, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_router_that_cannot_read_its_pod_trusts_nobody() {
    let (world, backend) = begin(None).await;
    assert_eq!(refusal(forwarded(&world, backend.port)).await, (401, "unauthenticated".to_owned()));
}
