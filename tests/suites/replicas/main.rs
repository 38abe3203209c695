//! Several operators at once on a real API server: they share certificates, convert, answer probes, and one leads.

mod replica;
mod trust;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use asb_tests::objects::{create, pod_template};
use asb_tests::{Cluster, Namespace, wait};
use asb_types::{crd, v1alpha1, v1beta1};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use replica::Replica;

const SECRET: &str = "agent-sandbox-webhook-certs";

/// The authorities that a definition names for the webhook in this namespace.
fn authorities(definition: &CustomResourceDefinition, namespace: &str) -> Option<Vec<u8>> {
    let webhook = definition.spec.conversion.as_ref()?.webhook.as_ref()?;
    let config = webhook.client_config.as_ref()?;
    let is_ours = config.service.as_ref().is_some_and(|service| service.namespace == namespace);
    config.ca_bundle.clone().filter(|_| is_ours).map(|bundle| bundle.0)
}

async fn bundle(namespace: &Namespace) -> Result<Vec<u8>> {
    let secret = namespace.api::<Secret>().get(SECRET).await?;
    Ok(secret.data.unwrap_or_default().remove("ca.crt").unwrap_or_default().0)
}

/// Waits until every definition names what the Secret holds.
async fn told(cluster: &Cluster, namespace: &Namespace) -> Result<()> {
    let definitions = Api::<CustomResourceDefinition>::all(cluster.client());
    let secrets = namespace.api::<Secret>();
    wait::for_object(&secrets, SECRET, "there", |_| true).await?;
    for (name, _) in crd::DOCUMENTS {
        let bundle = bundle(namespace).await?;
        let wanted = |seen: &CustomResourceDefinition| authorities(seen, namespace).as_ref() == Some(&bundle);
        wait::for_object(&definitions, name, "to name the webhook", wanted).await?;
    }
    Ok(())
}

/// Waits until an object is readable in the older version; API servers take changes up at their own pace.
async fn converts(namespace: &Namespace) -> Result<()> {
    let older = namespace.api::<v1alpha1::Sandbox>();
    let read = || async { older.get("demo").await.ok() };
    wait::until(wait::DEADLINE, "the API server to convert", read).await?;
    Ok(())
}

/// Everything is in one story: definitions are the cluster's, and there is one set of them.
#[tokio::test]
async fn replicas_share_certificates_and_survive_what_is_done_to_them() -> Result<()> {
    let cluster = Cluster::connect().await?;
    let namespace = cluster.namespace().await?;
    let suspended = json!({"podTemplate": pod_template(), "operatingMode": "Suspended"});
    create::<v1beta1::Sandbox>(&namespace, "demo", suspended).await?;

    let first = Replica::start(&namespace, None, &[]).await?;
    let second = Replica::start(&namespace, Some(first.webhook), &[]).await?;
    told(&cluster, &namespace).await?;
    converts(&namespace).await?;
    for replica in [&first, &second] {
        replica.ready().await?;
        trust::accepts(replica.webhook, &namespace, &bundle(&namespace).await?).await?;
    }

    definitions_can_be_applied_again(&cluster, &namespace).await?;
    broken_certificates_are_replaced(&cluster, &namespace, [&first, &second]).await?;
    a_service_that_was_deleted_comes_back(&namespace).await?;
    the_next_leads_at_once(&namespace, first, second).await?;
    namespace.finish().await;
    Ok(())
}

/// With a URL in the definition instead of the Service, the API server would refuse both of these.
async fn definitions_can_be_applied_again(cluster: &Cluster, namespace: &Namespace) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/crds").display().to_string();
    let ways: [&[&str]; 2] = [
        &["apply", "-f", &folder],
        &["apply", "--server-side", "--force-conflicts", "--field-manager=kubectl-suite", "-f", &folder],
    ];
    for way in ways {
        cluster.kubectl(way, None).await?.success()?;
        told(cluster, namespace).await?;
        converts(namespace).await?;
    }
    Ok(())
}

async fn broken_certificates_are_replaced(
    cluster: &Cluster,
    namespace: &Namespace,
    replicas: [&Replica; 2],
) -> Result<()> {
    let (secrets, before) = (namespace.api::<Secret>(), bundle(namespace).await?);
    let broken = json!({"stringData": {"tls.crt": "rubbish"}});
    secrets.patch(SECRET, &PatchParams::default(), &Patch::Merge(broken)).await?;
    let wanted = |secret: &Secret| {
        let bundle = secret.data.as_ref().and_then(|data| data.get("ca.crt"));
        bundle.is_some_and(|bundle| bundle.0 != before && bundle.0.ends_with(&before))
    };
    wait::for_object(&secrets, SECRET, "a new certificate beside the old authority", wanted).await?;
    told(cluster, namespace).await?;
    converts(namespace).await?;
    let bundle = bundle(namespace).await?;
    let fresh = &bundle[..bundle.len() - before.len()];
    for replica in replicas {
        let served = || async { trust::accepts(replica.webhook, namespace, fresh).await.ok() };
        wait::until(wait::DEADLINE, "every replica to serve the new certificate", served).await?;
    }
    Ok(())
}

async fn a_service_that_was_deleted_comes_back(namespace: &Namespace) -> Result<()> {
    let services = namespace.api::<Service>();
    let before = services.get(crd::WEBHOOK_SERVICE).await?;
    services.delete(crd::WEBHOOK_SERVICE, &kube::api::DeleteParams::default()).await?;
    let anew = |service: &Service| service.metadata.uid != before.metadata.uid;
    wait::for_object(&services, crd::WEBHOOK_SERVICE, "made anew", anew).await?;
    Ok(())
}

async fn the_next_leads_at_once(namespace: &Namespace, first: Replica, second: Replica) -> Result<()> {
    let leader = || async { (first.leads().await || second.leads().await).then_some(()) };
    wait::until(wait::DEADLINE, "one to lead", leader).await?;
    assert!(!(first.leads().await && second.leads().await), "there is one leader");
    let (leader, other) = if first.leads().await { (first, second) } else { (second, first) };
    assert_eq!([leader.probe("/healthz").await?, other.probe("/readyz").await?], [200, 200]);
    assert_eq!(leader.metric("workqueue_depth").await?.len(), 7);
    let holder =
        namespace.api::<Lease>().get(asb_operator::LEASE).await?.spec.and_then(|spec| spec.holder_identity);
    assert!(holder.is_some_and(|holder| holder.contains('_')));
    leader.stop().await?;
    let leads = || async { other.leads().await.then_some(()) };
    // The Lease was released: nobody waits for its fifteen seconds.
    wait::until(Duration::from_secs(10), "the other to lead", leads).await?;
    other.stop().await
}
