//! The conversion webhook server as a real API server uses it.

use anyhow::Result;
use asb_tests::cluster::Cluster;
use asb_tests::wait;
use asb_tests::webhook::Webhook;
use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::runtime::wait::Condition;
use kube::runtime::wait::conditions::is_crd_established;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// Answers a review with its objects in the wanted version, each marked as converted.
fn convert(mut review: Value) -> Value {
    let request = review["request"].take();
    let mut objects = request["objects"].clone();
    for object in objects.as_array_mut().into_iter().flatten() {
        object["apiVersion"] = request["desiredAPIVersion"].clone();
        object["spec"]["converted"] = json!(true);
    }
    let response = json!({
        "uid": request["uid"], "convertedObjects": objects, "result": { "status": "Success" },
    });
    json!({ "apiVersion": review["apiVersion"], "kind": review["kind"], "response": response })
}

/// Versions v1 (stored) and v2 of a kind with any fields.
fn definition(group: &str, webhook: &Webhook) -> Result<CustomResourceDefinition> {
    let version = |name: &str, storage: bool| {
        let spec = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
        json!({ "name": name, "served": true, "storage": storage, "schema": schema })
    };
    let client = json!({ "url": webhook.url(), "caBundle": ByteString(webhook.ca_bundle_pem().into()) });
    Ok(serde_json::from_value(json!({
        "metadata": { "name": format!("things.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [version("v1", true), version("v2", false)],
            "conversion": {
                "strategy": "Webhook",
                "webhook": { "clientConfig": client, "conversionReviewVersions": ["v1"] },
            },
        },
    }))?)
}

fn things(client: Client, namespace: &str, group: &str, version: &str) -> Api<DynamicObject> {
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, "Thing"), "things");
    Api::namespaced_with(client, namespace, &resource)
}

#[tokio::test]
async fn an_object_is_converted_by_the_handler_when_read_in_another_version() -> Result<()> {
    let cluster = Cluster::connect().await?;
    let namespace = cluster.namespace().await?;
    let group = format!("{namespace}.example.test");
    let webhook = Webhook::serve(convert).await?;
    let definitions = Api::<CustomResourceDefinition>::all(cluster.client());
    let definition = definitions.create(&PostParams::default(), &definition(&group, &webhook)?).await?;
    let established = |seen: &CustomResourceDefinition| is_crd_established().matches_object(Some(seen));
    wait::for_object(&definitions, &definition.name_any(), "established", established).await?;

    let stored = things(cluster.client(), &namespace, &group, "v1");
    let served = || async { stored.list(&ListParams::default()).await.ok() };
    wait::until(wait::DEADLINE, "the kind to be served", served).await?;
    let thing = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Thing", "metadata": { "name": "demo" },
        "spec": { "kept": 1 },
    });
    stored.create(&PostParams::default(), &serde_json::from_value(thing)?).await?;
    let read = things(cluster.client(), &namespace, &group, "v2").get("demo").await?;
    assert_eq!(read.data["spec"], json!({ "kept": 1, "converted": true }));

    definitions.delete(&definition.name_any(), &DeleteParams::default()).await?;
    namespace.finish().await;
    Ok(())
}
