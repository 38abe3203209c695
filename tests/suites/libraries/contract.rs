//! Requests as the clients of the contract write them, byte for byte where their libraries leave no choice: what a
//! library in use today sends must be understood tomorrow, when the library has changed.

use http::Request;
use kube::Client;
use serde_json::{Value, json};

use crate::server::Server;

const CLAIMS: &str = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/sandboxclaims";
const SANDBOXES: &str = "/apis/agents.x-k8s.io/v1alpha1/namespaces/default/sandboxes";

/// Sends a request with nothing but the headers given, and returns the status and the body.
async fn send(client: &Client, line: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(body.as_bytes().to_vec().into()).expect("it is well-formed");
    let response = client.send(request).await.expect("it is answered");
    let status = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.expect("the answer is whole");
    (status, String::from_utf8(bytes.to_vec()).expect("it is text"))
}

fn claim(name: &str) -> String {
    json!({
        "apiVersion": "extensions.agents.x-k8s.io/v1beta1",
        "kind": "SandboxClaim",
        "metadata": {
            "name": name,
            "annotations": {"agents.x-k8s.io/client-first-requested-at": "2026-01-01T00:00:00.000001+00:00"},
            "labels": {"agents.x-k8s.io/created-by": "python-client"},
        },
        "spec": {
            "warmPoolRef": {"name": "pool"},
            "lifecycle": {"shutdownTime": "2030-01-01T00:00:00Z", "shutdownPolicy": "Delete"},
            "additionalPodMetadata": {"labels": {}, "annotations": {}},
            "env": [{"name": "A", "value": "1"}],
        },
    })
    .to_string()
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))
}

#[tokio::test]
async fn a_claim_is_made_and_taken_back_without_a_content_type() {
    let server = Server::start().await;
    for client in server.clients().await {
        let (status, made) = send(&client, &format!("POST {CLAIMS}"), &[], &claim("bare")).await;
        assert_eq!(status, 201, "{made}");
        let uid = &read(&made)["metadata"]["uid"];
        let (status, _) = send(&client, &format!("POST {CLAIMS}"), &[], &claim("bare")).await;
        assert_eq!(status, 409);
        let precondition = json!({"preconditions": {"uid": uid}}).to_string();
        let (status, gone) = send(&client, &format!("DELETE {CLAIMS}/bare"), &[], &precondition).await;
        assert_eq!(status, 200, "{gone}");
        let (status, _) = send(&client, &format!("DELETE {CLAIMS}/bare"), &[], "").await;
        assert_eq!(status, 404);
    }
}

/// The asynchronous client writes its flags as Python does.
#[tokio::test]
async fn a_watch_may_be_asked_for_in_the_words_of_python() {
    let server = Server::start().await;
    for client in server.clients().await {
        let (_, made) = send(&client, &format!("POST {CLAIMS}"), &[], &claim("seen")).await;
        let version = read(&made)["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        send(&client, &format!("DELETE {CLAIMS}/seen"), &[], "").await;
        let selector = "fieldSelector=metadata.name%3Dseen";
        let line = format!("GET {CLAIMS}?{selector}&resourceVersion={version}&timeoutSeconds=1&watch=True");
        let (status, events) = send(&client, &line, &[("Accept", "application/json")], "").await;
        let types: Vec<_> = events.lines().map(|event| read(event)["type"].clone()).collect();
        assert_eq!((status, types), (200, vec![json!("DELETED")]), "{events}");
    }
}

#[tokio::test]
async fn groups_that_are_not_there_are_not_found() {
    let server = Server::start().await;
    for client in server.clients().await {
        for path in [
            "/apis/podsnapshot.gke.io/v1",
            "/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways?watch=true",
        ] {
            assert_eq!(send(&client, &format!("GET {path}"), &[], "").await.0, 404, "{path}");
        }
    }
}

/// kubectl-ai and those like it: made in the older version, told to go at once.
#[tokio::test]
async fn a_sandbox_of_the_older_version_comes_and_goes() {
    let server = Server::start().await;
    let json = [("Content-Type", "application/json")];
    let containers = json!([{"name": "main", "image": "image", "command": ["sleep", "infinity"]}]);
    let pod =
        json!({"serviceAccountName": "normal-user", "containers": containers, "restartPolicy": "Never"});
    let (version, spec) = ("agents.x-k8s.io/v1alpha1", json!({"podTemplate": {"spec": pod}, "replicas": 1}));
    let sandbox = json!({"apiVersion": version, "kind": "Sandbox", "metadata": {"name": "ai"}, "spec": spec});
    for client in server.clients().await {
        assert_eq!(send(&client, &format!("GET {SANDBOXES}/ai"), &[], "").await.0, 404);
        let (status, made) = send(&client, &format!("POST {SANDBOXES}"), &json, &sandbox.to_string()).await;
        assert_eq!((status, &read(&made)["spec"]["replicas"]), (201, &json!(1)), "{made}");
        let at_once = r#"{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}"#;
        assert_eq!(send(&client, &format!("DELETE {SANDBOXES}/ai"), &json, at_once).await.0, 200);
        assert_eq!(send(&client, &format!("GET {SANDBOXES}/ai"), &[], "").await.0, 404);
    }
}

/// OpenSandbox asks for the end of a Sandbox with an offset instead of a Z, and deletes by query.
#[tokio::test]
async fn times_may_be_written_with_an_offset() {
    let server = Server::start().await;
    let path = "/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes";
    let spec = json!({
        "operatingMode": "Running", "service": true, "shutdownPolicy": "Delete",
        "shutdownTime": "2030-01-01T00:00:00.000001+00:00", "podTemplate": {"spec": {"containers": [{"name": "main"}]}},
    });
    let sandbox = json!({"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": "open"}, "spec": spec});
    for client in server.clients().await {
        let (status, made) = send(&client, &format!("POST {path}"), &[], &sandbox.to_string()).await;
        assert_eq!(status, 201, "{made}");
        let merge = [("Content-Type", "application/merge-patch+json")];
        let later = r#"{"spec":{"shutdownTime":"2031-01-01T00:00:00+00:00"}}"#;
        assert_eq!(send(&client, &format!("PATCH {path}/open"), &merge, later).await.0, 200);
        assert_eq!(send(&client, &format!("DELETE {path}/open?gracePeriodSeconds=0"), &[], "").await.0, 200);
    }
}

/// What kubectl of Google Cloud asks first, and what it asks for when it knows no better form.
#[tokio::test]
async fn versions_and_tables_are_given_to_those_who_ask() {
    let server = Server::start().await;
    for client in server.clients().await {
        let (status, version) = send(&client, "GET /version?timeout=5s", &[], "").await;
        assert_eq!((status, &read(&version)["major"]), (200, &json!("1")));
        let table = [("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
        let (_, listed) = send(&client, &format!("GET {CLAIMS}?limit=500"), &table, "").await;
        assert_eq!(read(&listed)["kind"], "Table");
        let protobuf = [("Accept", "application/vnd.kubernetes.protobuf,application/json")];
        let (_, listed) = send(&client, "GET /api/v1/namespaces/default/pods?limit=500", &protobuf, "").await;
        assert_eq!(read(&listed)["kind"], "PodList");
    }
}
