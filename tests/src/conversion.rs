//! Our conversion behind the cluster's CRDs: the operator's webhook on the loopback for as long as the test program runs.
//! For API servers on the same loopback; one inside namespaces of its own cannot reach it.

use std::thread;

use anyhow::{Context, Result};
use asb_types::{crd, v1alpha1, v1beta1};
use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};
use tokio::runtime;
use tokio::sync::{OnceCell, oneshot};

use crate::cluster::{Cluster, Namespace};
use crate::objects::{create, pod_template};
use crate::wait;
use crate::webhook::Webhook;

static SERVED: OnceCell<()> = OnceCell::const_new();

/// The same where it is needed: our own API server converts by itself.
pub async fn ensure_conversion(cluster: &Cluster) -> Result<()> {
    if cluster.is_original().await { serve_conversion(cluster).await } else { Ok(()) }
}

/// Has the API server convert our kinds with this build's conversion, and waits until it does.
pub async fn serve_conversion(cluster: &Cluster) -> Result<()> {
    SERVED.get_or_try_init(|| serve(cluster)).await.copied()
}

async fn serve(cluster: &Cluster) -> Result<()> {
    let (url, authority) = start(cluster.client()).await?;
    let conversion = json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {
        "clientConfig": {"url": url, "caBundle": ByteString(authority.into_bytes()), "service": null},
        "conversionReviewVersions": ["v1"],
    }}}});
    let definitions = Api::<CustomResourceDefinition>::all(cluster.client());
    for (name, _) in crd::DOCUMENTS {
        definitions.patch(name, &PatchParams::default(), &Patch::Merge(&conversion)).await?;
    }
    in_effect(cluster).await
}

/// Each test has a runtime of its own; the webhook outlives them all on one of its own.
async fn start(client: Client) -> Result<(String, String)> {
    let (tell, told) = oneshot::channel();
    thread::spawn(move || {
        let runtime =
            runtime::Builder::new_current_thread().enable_all().build().expect("a runtime for the webhook");
        runtime.block_on(async {
            let webhook = Webhook::serve(&client).await;
            let place = webhook.as_ref().map(|it| (it.url(), it.ca_bundle_pem().to_owned()));
            // A test that gave up waiting needs no answer.
            let _ = tell.send(place.map_err(ToString::to_string));
            std::future::pending::<()>().await;
        });
    });
    told.await
        .context("the webhook's thread ended")?
        .map_err(anyhow::Error::msg)
        .context("serving the webhook")
}

/// API servers take a changed definition up at their own pace, each definition by itself.
async fn in_effect(cluster: &Cluster) -> Result<()> {
    let namespace = cluster.namespace().await?;
    let pod = json!({"podTemplate": pod_template()});
    readable::<v1beta1::Sandbox, v1alpha1::Sandbox>(&namespace, &pod).await?;
    readable::<v1beta1::SandboxTemplate, v1alpha1::SandboxTemplate>(&namespace, &pod).await?;
    let pool = json!({"sandboxTemplateRef": {"name": "probe"}});
    readable::<v1beta1::SandboxWarmPool, v1alpha1::SandboxWarmPool>(&namespace, &pool).await?;
    let claim = json!({"warmPoolRef": {"name": "probe"}});
    readable::<v1beta1::SandboxClaim, v1alpha1::SandboxClaim>(&namespace, &claim).await?;
    namespace.finish().await;
    Ok(())
}

/// An object written in one version can be read in the other.
async fn readable<Written, Read>(namespace: &Namespace, spec: &Value) -> Result<()>
where
    Written: wait::Object + Resource<Scope = k8s_openapi::NamespaceResourceScope>,
    Read: wait::Object + Resource<Scope = k8s_openapi::NamespaceResourceScope>,
{
    let written: Written = create(namespace, "probe", spec.clone()).await?;
    let api = namespace.api::<Read>();
    let name = written.name_any();
    let what = format!("{} to be converted", Read::kind(&()));
    wait::until(wait::DEADLINE, &what, || async { api.get(&name).await.ok() }).await?;
    Ok(())
}
