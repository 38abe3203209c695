//! Sandboxes that make room for others of the same name, and names that mean another Sandbox from one moment to the next.

use std::sync::Arc;

use asb_router::Settings;
use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::BoxError;

use crate::control::Control;
use crate::witness::Witness;
use crate::world::{World, ask, http, read, refusal};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_sandbox_is_found_where_it_is_and_the_old_one_is_left_alone() {
    let world = World::start().await;
    let old = Witness::at("127.0.0.2:0").await;
    let new = Witness::at(&format!("127.0.0.3:{}", old.port)).await;
    world.sandbox("box", &["127.0.0.2"]).await;
    let uid = world.handle.sandbox("default", "box").expect("it is known").uid;
    for _ in 0..3 {
        assert_eq!(ask(world.to("box", old.port, "/old"), "").await.0, StatusCode::OK);
    }
    let (calls, connections) = (old.paths().len(), old.connections());
    assert!(connections < calls, "connections to it are kept and used again");
    world.delete("default", "box").await;
    assert_eq!(refusal(world.to("box", old.port, "/gone")).await.0, 502);
    world.sandbox("box", &["127.0.0.3"]).await;
    assert_eq!(ask(world.to("box", new.port, "/new"), "").await, (StatusCode::OK, b"seen:/new".to_vec()));
    let exact = world.to("box", new.port, "/exact").header("X-Sandbox-UID", uid.as_str());
    assert_eq!(refusal(exact).await.0, 502, "it is another one");
    assert_eq!((old.paths().len(), old.connections()), (calls, connections), "nobody asked the old one");
    assert_eq!(new.paths(), ["/new"]);
}

/// Somebody who says yes to everything, when the test lets them.
fn obliging(asked: Arc<Notify>, go_on: Arc<Notify>) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let (asked, go_on) = (Arc::clone(&asked), Arc::clone(&go_on));
        async move {
            let is_token = request.uri().path().ends_with("/tokenreviews");
            let mut review: Value = serde_json::from_slice(&request.into_body().collect_bytes().await?)?;
            if is_token {
                review["status"] = json!({"authenticated": true, "user": {"username": "ann"}});
            } else {
                asked.notify_one();
                go_on.notified().await;
                let namespace = &review["spec"]["resourceAttributes"]["namespace"];
                review["status"] = json!({"allowed": namespace == "a-team"});
            }
            Ok::<_, BoxError>(Response::new(Body::from(serde_json::to_vec(&review)?)))
        }
    });
    Client::new(service, "default")
}

/// `80-box-a-team` is `box` of `a-team` or `box-a` of `team`. Who may reach the one and removes it while the API server is asked does not
/// get into the other.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_let_into_one_sandbox_does_not_end_up_in_another() {
    let (asked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let settings = Settings { domain: Some("boxes.test".to_owned()), ..Settings::default() };
    let reviews = obliging(Arc::clone(&asked), Arc::clone(&go_on));
    let world = World::reviewed_by(Control::start().await, &reviews, settings).await;
    let theirs = Witness::start().await;
    for namespace in ["team", "a-team"] {
        world.namespace(namespace).await;
    }
    world.sandbox_in("team", "box-a", &["127.0.0.1"]).await;
    world.sandbox_in("a-team", "box", &["127.0.0.2"]).await;
    let request = Request::get(format!("http://{}/", world.address))
        .header("Host", format!("{}-box-a-team.boxes.test", theirs.port))
        .header("Authorization", "Bearer ann");
    let asking =
        tokio::spawn(http().request(request.body(http_body_util::Full::default()).expect("a request")));
    asked.notified().await;
    world.delete("a-team", "box").await;
    go_on.notify_one();
    let (status, _) = read(asking.await.expect("it ends").expect("an answer")).await;
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    assert_eq!(theirs.connections(), 0);
}
