//! Policies that are written before and after Pods start.

use http::{Request, Response};
use kube::client::Body;
use serde_json::json;

use super::world::{eventually, on_a_host};
use crate::connectivity::Error;
use crate::network::tests::rig::{is_closed, is_open, listen};

#[test]
fn a_policy_that_was_written_before_a_pod_holds_from_its_first_packet() {
    on_a_host(async |world| {
        let b = world.admitted("b").await;
        let _b = listen(&b.namespace, 8080, "b");
        for number in 0..10 {
            let name = format!("p{number}");
            let pod = world.pod(&name).await;
            let spec = json!({"podSelector": {"matchLabels": {"app": name}}, "policyTypes": ["Egress"]});
            world.policy(&name, spec).await;
            let pod = world.admit(pod).await.unwrap();
            assert_eq!(world.elements("egress", &pod.uid).await, 1, "{name}");
            assert!(is_closed(&pod.namespace, b.address, 8080));
        }
        // What a cache has not seen yet is not forgotten by the next change.
        world.admitted("free").await;
        let census = world.connectivity.census().await.unwrap();
        assert_eq!(census.elements.iter().filter(|element| element.set == "egress").count(), 10);
    });
}

#[test]
fn a_policy_about_a_pod_that_runs_is_in_force_soon_and_counts_labels_of_others() {
    on_a_host(async |world| {
        let (a, b) = (world.admitted("a").await, world.admitted("b").await);
        let _b = listen(&b.namespace, 8080, "b");
        assert!(is_open(&a.namespace, b.address, 8080));
        let from = json!([{"podSelector": {"matchLabels": {"app": "c"}}}]);
        let spec = json!({"podSelector": {"matchLabels": {"app": "b"}}, "ingress": [{"from": from}]});
        world.policy("only-c", spec).await;
        eventually("the policy", || is_closed(&a.namespace, b.address, 8080)).await;
        let c = world.admitted("c").await;
        assert!(is_open(&c.namespace, b.address, 8080));
    });
}

/// An API server of tomorrow, which takes policies that this node cannot read.
fn of_tomorrow(client: kube::Client) -> kube::Client {
    let server = tower::service_fn(move |request: Request<Body>| {
        let client = client.clone();
        let is_asked = request.uri().path().ends_with("/networkpolicies");
        let is_asked = is_asked && !request.uri().query().unwrap_or_default().contains("watch");
        async move {
            if !is_asked {
                return client.send(request).await;
            }
            let spec = json!({"podSelector": {}, "policyTypes": ["Sideways"]});
            let policy = json!({"metadata": {"namespace": "default", "name": "odd"}, "spec": spec});
            let list = json!({"metadata": {}, "items": [policy]});
            Ok(Response::new(Body::from(list.to_string().into_bytes())))
        }
    });
    kube::Client::new(server, "default")
}

#[test]
fn a_pod_under_a_policy_that_cannot_be_enforced_is_not_connected_and_is_told_why() {
    on_a_host(async |world| {
        let world = world.with_client(of_tomorrow).restarted(Vec::new()).await;
        let pod = world.pod("a").await;
        let uid = pod.metadata.uid.clone().unwrap();
        let Err(Error::Refused(reason)) = world.admit(pod).await else { panic!("it was admitted") };
        assert!(reason.contains("default/odd") && reason.contains("Sideways"), "{reason}");
        let census = world.connectivity.census().await.unwrap();
        let is_left = census.elements.iter().any(|element| element.remark == uid);
        assert!(census.links.is_empty() && !is_left, "{census:?}");
    });
}
