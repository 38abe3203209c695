//! Requests that are refused, or that must leave nothing behind.

use super::*;
use crate::store::{Key, Precondition, Scope};

#[tokio::test]
async fn a_pod_that_is_only_tried_leaves_no_account() {
    let api = with_namespace().await;
    let pods = Arc::clone(api.registry().find("", "v1", "pods").unwrap());
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
                     "spec": {"containers": [{"name": "a", "image": "b"}]}});
    let (pod, _) = crate::rules::read(&pods, pod, crate::decode::FieldValidation::Strict).unwrap();
    let options = WriteOptions { is_dry_run: true, ..WriteOptions::default() };
    let _ = api.create(&target(&pods), pod, &options).await;
    assert!(api.store().list(&Scope::resource("serviceaccounts")).entries.is_empty());
}

#[tokio::test]
async fn nobody_reads_what_has_not_happened_yet() {
    let api = with_namespace().await;
    let resource = config_maps(&api);
    // {"revision":99999999,"namespace":"default","name":"a"}
    let place = "eyJyZXZpc2lvbiI6OTk5OTk5OTksIm5hbWVzcGFjZSI6ImRlZmF1bHQiLCJuYW1lIjoiYSJ9";
    let page = api.list(&target(&resource), &options(&format!("limit=1&continue={place}")));
    assert_eq!(page.err().map(|status| status.code), Some(504));
    let query = "watch=true&allowWatchBookmarks=true&sendInitialEvents=true\
                 &resourceVersionMatch=NotOlderThan&resourceVersion=99999999";
    let feed = api.watch(&resource, &target(&resource), &options(query));
    assert_eq!(feed.err().map(|status| status.code), Some(504));
}

#[tokio::test]
async fn pages_show_the_list_of_the_first_one() {
    let api = with_namespace().await;
    let resource = config_maps(&api);
    for name in ["a", "b", "c", "d"] {
        api.create(&target(&resource), config_map(name, "yes"), &WriteOptions::default()).await.unwrap();
    }
    let first = api.list(&target(&resource), &options("limit=2")).unwrap();
    for name in ["a", "d"] {
        api.store()
            .delete(Key::new("configmaps", Some("default"), name), Precondition::Present)
            .await
            .unwrap();
    }
    let query = format!("limit=2&continue={}", first.continuation.unwrap());
    let second = api.list(&target(&resource), &options(&query)).unwrap();
    let names: Vec<&str> = second.entries.iter().map(|entry| entry.key.name()).collect();
    assert_eq!((names, second.continuation), (vec!["c", "d"], None));
}

#[tokio::test]
async fn what_cannot_be_shown_is_not_deleted_by_a_request_that_fails() {
    let api = with_namespace().await;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "nuts.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "nuts", "kind": "Nut"},
            "versions": [version("v1", false), version("v2", true)],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/convert"},
            }},
        },
    });
    api.ensure("customresourcedefinitions", "apiextensions.k8s.io", definition).await.unwrap();
    crate::controllers::serve_definitions(&api).await.unwrap();
    let key = Key::new("nuts.example.com", Some("default"), "a");
    let nut = json!({"apiVersion": "example.com/v2", "kind": "Nut", "metadata": {"name": "a", "namespace": "default"}});
    api.store().put(key.clone(), Precondition::Absent, nut).await.unwrap();
    let registry = api.registry();
    let delete = async |version| {
        let nuts = registry.find("example.com", version, "nuts").unwrap();
        api.delete(&target(nuts), "a", &DeleteOptions::default()).await.map(|deleted| deleted.is_gone)
    };
    assert_eq!(delete("v1").await.unwrap_err().code, 500);
    assert!(api.store().get(&key).is_some());
    assert!(delete("v2").await.unwrap());
}

fn version(name: &str, is_stored: bool) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    json!({"name": name, "served": true, "storage": is_stored, "schema": schema})
}
