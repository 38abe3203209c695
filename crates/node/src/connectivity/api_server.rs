//! Keeps the Service `default/kubernetes`, by which programs in Pods find the API server. A kube-apiserver does so itself.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::followed::Followed;
use super::objects::Caches;
use crate::settings::SERVICES;

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";
/// After a failure, and between two looks.
const RETRY: Duration = Duration::from_secs(5);
const PACE: Duration = Duration::from_millis(100);

/// Never returns.
pub(super) async fn keep(client: kube::Client, caches: Caches, at: SocketAddrV4) {
    caches.services.ready().await;
    caches.slices.ready().await;
    let (mut services, mut slices) = (Followed::new(caches.services), Followed::new(caches.slices));
    loop {
        services.look();
        slices.look();
        let service = services.cache.get(NAMESPACE, NAME);
        let slice = slices.cache.get(NAMESPACE, NAME);
        if let Err(error) = settle(&client, service.as_deref(), slice.as_deref(), at).await {
            tracing::warn!(%error, "Pods may not find the API server");
            sleep(RETRY).await;
            continue;
        }
        sleep(PACE).await;
        tokio::select! {
            () = services.changed() => {}
            () = slices.changed() => {}
        }
    }
}

async fn settle(
    client: &kube::Client,
    service: Option<&Service>,
    slice: Option<&EndpointSlice>,
    at: SocketAddrV4,
) -> Result<(), kube::Error> {
    if service.is_none() {
        create_service(&Api::namespaced(client.clone(), NAMESPACE), at.port()).await?;
    }
    let api = Api::<EndpointSlice>::namespaced(client.clone(), NAMESPACE);
    let mut wanted = endpoints(at);
    match slice {
        None => unless_there(api.create(&PostParams::default(), &wanted).await),
        Some(found) if is_same(found, &wanted) => Ok(()),
        Some(found) => {
            wanted.metadata.resource_version.clone_from(&found.metadata.resource_version);
            unless_there(api.replace(NAME, &PostParams::default(), &wanted).await)
        }
    }
}

/// The first address is the one in the server's certificate. If somebody has it, another is better than none.
async fn create_service(api: &Api<Service>, port: u16) -> Result<(), kube::Error> {
    let first = Ipv4Addr::from_bits(SERVICES.first().to_bits() + 1);
    match api.create(&PostParams::default(), &service(Some(first), port)).await {
        Err(kube::Error::Api(status)) if status.code == 422 => {
            tracing::warn!(%first, "the address is taken that programs in Pods expect the API server at");
            unless_there(api.create(&PostParams::default(), &service(None, port)).await)
        }
        created => unless_there(created),
    }
}

/// Somebody was faster, and there is news of it.
fn unless_there<T>(written: Result<T, kube::Error>) -> Result<(), kube::Error> {
    match written {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        other => other.map(drop),
    }
}

fn service(address: Option<Ipv4Addr>, port: u16) -> Service {
    let labels = json!({"component": "apiserver", "provider": "kubernetes"});
    let port = json!({"name": "https", "port": 443, "protocol": "TCP", "targetPort": port});
    read(json!({
        "metadata": {"name": NAME, "labels": labels},
        "spec": {"clusterIP": address, "ports": [port]},
    }))
}

fn endpoints(at: SocketAddrV4) -> EndpointSlice {
    read(json!({
        "metadata": {"name": NAME, "labels": {"kubernetes.io/service-name": NAME}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [at.ip()], "conditions": {"ready": true}}],
        "ports": [{"name": "https", "port": at.port(), "protocol": "TCP"}],
    }))
}

fn read<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).expect("it is written above")
}

/// Whether two slices lead the same Service's clients to the same place.
fn is_same(one: &EndpointSlice, other: &EndpointSlice) -> bool {
    let addresses = |slice: &EndpointSlice| -> Vec<_> {
        slice.endpoints.iter().flatten().flat_map(|endpoint| endpoint.addresses.clone()).collect()
    };
    let ports = |slice: &EndpointSlice| -> Vec<_> {
        slice.ports.iter().flatten().map(|port| (port.name.clone(), port.port)).collect()
    };
    let service = |slice: &EndpointSlice| slice.metadata.labels.clone()?.remove("kubernetes.io/service-name");
    addresses(one) == addresses(other) && ports(one) == ports(other) && service(one) == service(other)
}
