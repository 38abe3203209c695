//! The API server goes away. What the router knew goes on, who has a token gets in, and whoever would have to be asked about hears that
//! nobody could be asked.

use asb_router::Settings;
use http::StatusCode;
use kube::Api;
use kube::api::DeleteParams;

use crate::witness::Witness;
use crate::world::{World, ask, key, refusal, scope, secret};

/// By this token.
fn with(world: &World, port: u16, token: &str) -> http::request::Builder {
    http::Request::get(format!("http://{}/", world.address))
        .header("X-Sandbox-ID", "box")
        .header("X-Sandbox-Port", port)
        .header("Authorization", format!("Bearer {token}"))
}

async fn tokens_go_on(world: &World, port: u16) {
    for token in [scope("box").signed_with_secret(&secret()), scope("box").signed_with_key(&key())] {
        assert_eq!(ask(with(world, port, &token), "").await.0, StatusCode::OK);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_api_server_the_router_goes_on_with_what_it_knew() {
    let (mut world, inside) = (World::start().await, Witness::start().await);
    world.sandbox("box", &["127.0.0.1"]).await;
    assert_eq!(refusal(with(&world, inside.port, "ann")).await, (401, "unauthenticated".to_owned()));
    world.control.go_away().await;
    tokens_go_on(&world, inside.port).await;
    let seen = inside.paths().len();
    let said = refusal(with(&world, inside.port, "bob")).await;
    assert_eq!(said, (503, "the API server could not be asked whether you may: try again".to_owned()));
    assert_eq!(inside.paths().len(), seen, "nobody is let in on suspicion");
    assert!(world.handle.is_ready(), "it still serves");
    world.control.come_back().await;
    let sandboxes: Api<asb_types::v1beta1::Sandbox> = Api::namespaced(world.client.clone(), "default");
    sandboxes.delete("box", &DeleteParams::default()).await.expect("it is deleted");
    world.until("default", "box", |entry| entry.is_none()).await;
    assert_eq!(refusal(world.to("box", inside.port, "/")).await.0, 502, "changes are seen again");
    world.sandbox("other", &["127.0.0.1"]).await;
    assert_eq!(ask(world.to("other", inside.port, "/"), "").await.0, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_says_nothing_keeps_nobody_waiting_for_long() {
    let world = World::with(Settings::default()).await;
    let inside = Witness::start().await;
    world.sandbox("box", &["127.0.0.1"]).await;
    world.control.fall_silent();
    assert_eq!(refusal(with(&world, inside.port, "ann")).await.0, 503);
    tokens_go_on(&world, inside.port).await;
}
