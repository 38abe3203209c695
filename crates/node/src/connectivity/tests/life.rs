//! Pods that are admitted, found and dismissed, and daemons that are started again.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use super::world::{Admitted, World, eventually, on_a_host};
use crate::network::Census;
use crate::network::tests::names::resolve_at;
use crate::network::tests::rig::{Line, ask, is_closed, is_open, listen, open};

async fn web(world: &World) -> Ipv4Addr {
    let ports = json!([{"name": "web", "port": 80, "targetPort": "web"}]);
    let spec = json!({"selector": {"app": "b"}, "ports": ports});
    let service: Service = world.create(json!({"metadata": {"name": "web"}, "spec": spec})).await;
    service.spec.unwrap().cluster_ip.unwrap().parse().unwrap()
}

async fn generation(world: &World) -> i64 {
    let api = Api::<EndpointSlice>::namespaced(world.client.clone(), "default");
    let own = ListParams::default().labels("kubernetes.io/service-name=web");
    api.list(&own).await.unwrap().items[0].metadata.generation.unwrap()
}

#[test]
fn pods_find_each_other_by_service_and_name_and_leave_nothing_behind() {
    on_a_host(async |world| {
        let (a, b) = (world.admitted("a").await, world.admitted("b").await);
        let _b = listen(&b.namespace, 8080, "b");
        let address = web(&world).await;
        world.report(&b, true).await;
        let name = "web.default.svc.cluster.local.";
        let node = world.connectivity.node();
        eventually("the name", || resolve_at(&a.namespace, node, name) == [address.to_string()]).await;
        eventually("the Service", || is_open(&a.namespace, address, 80)).await;
        assert_eq!(ask(&a.namespace, address, 80), Ok(format!("b {}", a.address)));
        assert_eq!(resolve_at(&a.namespace, node, "b.default.svc.cluster.local."), [b.address.to_string()]);

        let before = generation(&world).await;
        world.report(&b, false).await;
        eventually("nobody is ready", || is_closed(&a.namespace, address, 80)).await;
        assert_eq!(generation(&world).await, before + 1, "one change is one write");

        world.connectivity.dismiss(&a.uid).await.unwrap();
        world.connectivity.dismiss(&b.uid).await.unwrap();
        world.connectivity.dismiss(&b.uid).await.unwrap();
        let census = world.connectivity.census().await.unwrap();
        assert!(census.links.is_empty(), "{census:?}");
        for pod in [&a, &b] {
            assert!(census.elements.iter().all(|element| element.remark != *pod.uid.as_str()), "{census:?}");
        }
        world.connectivity.clear().await.unwrap();
        assert_eq!(world.connectivity.census().await.unwrap(), Census::default());
    });
}

#[test]
fn a_daemon_that_is_started_again_cuts_nobody_off() {
    on_a_host(async |world| {
        let (a, b, gone) =
            (world.admitted("a").await, world.admitted("b").await, world.admitted("gone").await);
        let _b = listen(&b.namespace, 8080, "b");
        let range = world.connectivity.range();
        let mut line = Line::open(&a.namespace, b.address, 8080);
        let world = world.restarted(vec![a.known(), b.known()]).await;
        assert!(line.is_alive() && is_open(&a.namespace, b.address, 8080));
        assert_eq!(world.connectivity.range(), range);
        assert_eq!(world.connectivity.reserve(&a.uid, Some(a.address)).unwrap(), a.address);
        world.connectivity.readmit(&b.pod, b.address).await.unwrap();

        assert!(is_closed(&gone.namespace, b.address, 8080), "nobody knows it any more");
        let new = world.connectivity.reserve(&"new".into(), None).unwrap();
        assert!(![a.address, b.address, gone.address].contains(&new), "{new} has rested");
        world.connectivity.sweep(BTreeSet::from([a.uid.clone(), b.uid.clone()])).await.unwrap();
        assert_eq!(world.connectivity.census().await.unwrap().links.len(), 2);
        assert!(line.is_alive());
    });
}

/// The first byte that the API server says to what is no TLS: a record that is an alert.
fn greets(pod: &Admitted, to: Ipv4Addr, port: u16) -> std::io::Result<bool> {
    pod.namespace.run(|| {
        let mut stream = open(to, port, Duration::from_secs(5))?;
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n")?;
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        Ok(byte == [21])
    })
}

#[test]
fn the_api_server_is_reached_by_pods_that_have_a_token_for_it() {
    on_a_host(async |world| {
        let with = world.admit(world.pod_with("with", true).await).await.unwrap();
        let without = world.admitted("without").await;
        let (first, node) = (Ipv4Addr::new(10, 96, 0, 1), world.connectivity.node());
        let name = "kubernetes.default.svc.cluster.local.";
        eventually("the name", || resolve_at(&with.namespace, node, name) == [first.to_string()]).await;
        eventually("the way", || greets(&with, first, 443).is_ok_and(|is_tls| is_tls)).await;
        let refused = greets(&without, first, 443).unwrap_err().kind();
        assert_eq!(refused, std::io::ErrorKind::HostUnreachable);
        assert_eq!(world.elements("callers", &with.uid).await, 1);
    });
}

#[test]
fn many_are_admitted_together() {
    on_a_host(async |world| {
        let mut pods = Vec::new();
        for number in 0..40 {
            pods.push(world.pod(&format!("p{number}")).await);
        }
        let admitted = futures::future::try_join_all(pods.into_iter().map(|pod| world.admit(pod)));
        let admitted = admitted.await.unwrap();
        let last = &admitted[39];
        let _last = listen(&last.namespace, 8080, "last");
        assert_eq!(
            ask(&admitted[0].namespace, last.address, 8080),
            Ok(format!("last {}", admitted[0].address))
        );
        assert_eq!(world.connectivity.census().await.unwrap().links.len(), 40);
    });
}
