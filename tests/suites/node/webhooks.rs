//! The API server reaches webhooks behind Services: our conversion, at the Service that the definitions name.

use std::net::{IpAddr, UdpSocket};

use anyhow::{Context, Result};
use asb_tests::webhook::Webhook;
use asb_tests::{Cluster, wait};
use asb_types::{v1alpha1, v1beta1};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

const DEFINITION: &str = "sandboxwarmpools.extensions.agents.x-k8s.io";
const NAME: &str = "agent-sandbox-webhook-service.agent-sandbox-system.svc";

/// This machine's address on the link to the node, where the cluster can reach this test.
async fn own_address(cluster: &Cluster) -> Result<IpAddr> {
    let nodes = Api::<Node>::all(cluster.client()).list(&ListParams::default()).await?;
    let addresses = nodes.items.into_iter().filter_map(|node| node.status?.addresses).flatten();
    let node =
        addresses.into_iter().find(|it| it.type_ == "InternalIP").context("a node with an address")?.address;
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect((node.as_str(), 1))?;
    Ok(socket.local_addr()?.ip())
}

/// A Service without a selector: its one endpoint is this test.
async fn install(cluster: &Cluster, webhook: &Webhook, address: IpAddr) -> Result<()> {
    let (service, namespace) = ("agent-sandbox-webhook-service", "agent-sandbox-system");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": service, "namespace": namespace},
         "spec": {"ports": [{"port": 443, "targetPort": 9443}]}},
        {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
         "metadata": {"name": service, "namespace": namespace, "labels": {"kubernetes.io/service-name": service}},
         "ports": [{"port": webhook.port(), "protocol": "TCP", "name": ""}],
         "endpoints": [{"addresses": [address.to_string()], "conditions": {"ready": true}}]},
    ]});
    cluster.kubectl(&["apply", "-f", "-"], Some(&list.to_string())).await?.success()?;
    let bundle = ByteString(webhook.ca_bundle_pem().as_bytes().to_vec());
    let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}});
    let definitions = Api::<CustomResourceDefinition>::all(cluster.client());
    definitions.patch(DEFINITION, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

#[tokio::test]
async fn conversion_works_through_the_service_that_the_definitions_name() -> Result<()> {
    let (cluster, namespace) = crate::place().await?;
    let address = own_address(&cluster).await?;
    let webhook = Webhook::serve_on(&cluster.client(), address, NAME).await?;
    install(&cluster, &webhook, address).await?;

    let pool = json!({
        "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxWarmPool", "metadata": {"name": "demo"},
        "spec": {"replicas": 3, "sandboxTemplateRef": {"name": "python"}},
    });
    let pool: v1beta1::SandboxWarmPool = serde_json::from_value(pool)?;
    namespace.api::<v1beta1::SandboxWarmPool>().create(&PostParams::default(), &pool).await?;
    let old = namespace.api::<v1alpha1::SandboxWarmPool>();
    // The API server takes up the new authority, and kube-proxy the new endpoint, each at its own pace.
    let read =
        wait::until(wait::DEADLINE, "the pool in v1alpha1", || async { old.get("demo").await.ok() }).await?;
    assert_eq!(read.spec.replicas, 3);
    namespace.finish().await;
    Ok(())
}
