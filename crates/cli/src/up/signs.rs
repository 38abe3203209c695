//! The signs that lead clients to the router: a Service, a Pod behind it that is this process, and a slice that names the Pod.
//! Connections to the Pod are handed over by the API server.
//!
//! They stand in `agent-sandbox-system` and in every namespace that has a template: the Go SDK, and the Python one before 0.5,
//! look where their claim is.

use std::time::Duration;

use anyhow::{Context, Result};
use asb_types::EXTENSIONS_GROUP;
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::router::{NAMESPACE, POD, SERVICE};
use crate::streams::Signed;

/// How long after a failure they are tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// By which we know our own.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "asb");

/// Never returns.
pub(super) async fn keep(client: Client, signed: Signed) {
    while let Err(error) = begin(&client).await {
        // The server has just started, and may have other things to do.
        tracing::warn!(error = format!("{error:#}"), "the router cannot be found by its Service yet");
        tokio::time::sleep(AGAIN).await;
    }
    signed.add(NAMESPACE);
    follow_templates(&client, &signed).await;
}

async fn begin(client: &Client) -> Result<()> {
    make_namespace(client).await?;
    put_up(client, NAMESPACE).await
}

/// Whoever makes a template is about to claim Sandboxes.
async fn follow_templates(client: &Client, signed: &Signed) {
    let kind = GroupVersionKind::gvk(EXTENSIONS_GROUP, "v1beta1", "SandboxTemplate");
    let resource = ApiResource::from_gvk_with_plural(&kind, "sandboxtemplates");
    let templates = Api::<DynamicObject>::all_with(client.clone(), &resource);
    let templates = watcher(templates, watcher::Config::default()).default_backoff().applied_objects();
    pin_mut!(templates);
    while let Some(template) = templates.next().await {
        match template {
            Ok(template) => welcome(client, &template.namespace().unwrap_or_default(), signed).await,
            Err(error) => tracing::debug!(%error, "templates are followed later"),
        }
    }
}

async fn welcome(client: &Client, namespace: &str, signed: &Signed) {
    let done = async {
        if namespace != NAMESPACE && is_free(client, namespace).await? {
            put_up(client, namespace).await?;
            signed.add(namespace);
        }
        anyhow::Ok(())
    };
    if let Err(error) = done.await {
        // As when it is being deleted.
        tracing::info!(error = format!("{error:#}"), namespace, "the router cannot be found there");
    }
}

/// Whoever has a router of their own there keeps it.
async fn is_free(client: &Client, namespace: &str) -> Result<bool> {
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    let found = services.get_opt(SERVICE).await.context("cannot look for the router's Service")?;
    Ok(found.is_none_or(|service| is_ours(&service)))
}

fn is_ours(service: &Service) -> bool {
    service.labels().get(MANAGED_BY.0).is_some_and(|by| by == MANAGED_BY.1)
}

/// Where it is not there: what others have written on it is theirs.
async fn make_namespace(client: &Client) -> Result<()> {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(NAMESPACE.to_owned());
    match Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => made.map(drop).context("cannot make the router's namespace"),
    }
}

async fn put_up(client: &Client, namespace: &str) -> Result<()> {
    apply(client, service(namespace), None).await?;
    apply(client, pod(namespace), None).await?;
    apply(client, status(namespace), Some("status")).await?;
    apply(client, slice(namespace), None).await
}

fn metadata(name: &str, namespace: &str) -> Value {
    let labels = json!({"app": "sandbox-router", MANAGED_BY.0: MANAGED_BY.1});
    json!({"name": name, "namespace": namespace, "labels": labels})
}

fn pod(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata(POD, namespace), "spec": {
        // Nobody's: this process is it.
        "schedulerName": "agent-sandbox-router",
        "automountServiceAccountToken": false,
        "containers": [{
            "name": "router", "image": "asb.local/router",
            "ports": [{"name": "http", "containerPort": 8080}],
        }],
    }})
}

fn status(namespace: &str) -> Value {
    let condition = |name: &str| json!({"type": name, "status": "True"});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD, "namespace": namespace}, "status": {
        "phase": "Running",
        "conditions": [condition("Ready"), condition("ContainersReady"), condition("Initialized")],
    }})
}

fn service(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata(SERVICE, namespace), "spec": {
        "selector": {"app": "sandbox-router"},
        "ports": [{"name": "http", "port": 8080, "targetPort": 8080}],
    }})
}

/// The Pod has no address, so that the Service's own slice leaves it out. This one has none either, and no port: it leads no
/// packets anywhere.
fn slice(namespace: &str) -> Value {
    let mut metadata = metadata(POD, namespace);
    metadata["labels"]["kubernetes.io/service-name"] = json!(SERVICE);
    metadata["labels"]["endpointslice.kubernetes.io/managed-by"] = json!(MANAGED_BY.1);
    let endpoint = json!({
        "addresses": ["sandbox-router.invalid"],
        "conditions": {"ready": true},
        "targetRef": {"kind": "Pod", "namespace": namespace, "name": POD},
    });
    json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata,
        "addressType": "FQDN", "endpoints": [endpoint], "ports": []})
}

async fn apply(client: &Client, object: Value, part: Option<&str>) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(object).context("these are objects")?;
    let kind = object.types.as_ref().context("it has a kind")?;
    let kind = GroupVersionKind::try_from(kind).context("it has a kind")?;
    let namespace = object.namespace().context("it is in a namespace")?;
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), &namespace, &ApiResource::from_gvk(&kind));
    let (name, parameters) = (object.name_any(), PatchParams::apply("asb").force());
    let applied = match part {
        None => api.patch(&name, &parameters, &Patch::Apply(&object)).await,
        Some(_) => api.patch_status(&name, &parameters, &Patch::Apply(&object)).await,
    };
    applied.map(drop).with_context(|| format!("cannot publish the router's {}", kind.kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(object: Value) -> Service {
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_router_of_somebody_else_is_left_alone() {
        let mut theirs = service("team");
        assert!(is_ours(&read(theirs.clone())));
        theirs["metadata"]["labels"] = json!({"app": "sandbox-router"});
        assert!(!is_ours(&read(theirs)));
    }

    #[test]
    fn the_go_sdk_finds_a_pod_to_forward_to() {
        let slice: k8s_openapi::api::discovery::v1::EndpointSlice =
            serde_json::from_value(slice("team")).unwrap();
        assert_eq!(slice.labels()["kubernetes.io/service-name"], "sandbox-router-svc");
        let endpoint = slice.endpoints.unwrap().remove(0);
        assert_eq!(endpoint.conditions.unwrap().ready, Some(true));
        assert_eq!(endpoint.target_ref.unwrap().name.as_deref(), pod("team")["metadata"]["name"].as_str());
    }
}
