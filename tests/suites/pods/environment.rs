//! Variables: written out, expanded, and taken from objects, from the Pod and from its resources.

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use serde_json::{Value, json};

use crate::spec::{With, once, sh};
use crate::stage::{Stage, waiting};

async fn objects(stage: &Stage) -> Result<()> {
    stage.put::<ConfigMap>("settings", json!({"data": {"colour": "green", "shape": "round"}})).await?;
    stage.put::<Secret>("keys", json!({"stringData": {"password": "mellon"}})).await?;
    Ok(())
}

fn from(source: Value) -> Value {
    json!({"name": "TAKEN", "valueFrom": source})
}

#[tokio::test]
async fn values_are_expanded_and_taken_from_objects() -> Result<()> {
    let stage = Stage::set().await?;
    objects(&stage).await?;
    let env = json!([
        {"name": "WHO", "value": "ann"},
        {"name": "GREETING", "value": "hello $(WHO), $$(WHO), $(NOBODY)"},
        {"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "colour"}}},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}},
        {"name": "NONE", "valueFrom": {"configMapKeyRef": {"name": "missing", "key": "x", "optional": true}}},
        {"name": "NEITHER", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "x", "optional": true}}},
    ]);
    let script = "echo \"$GREETING/$COLOUR/$PASSWORD/${NONE-unset}/${NEITHER-unset}\"";
    let said = stage.run("values", once(sh(script).with(json!({"env": env})))).await?;
    assert_eq!(said, "hello ann, $(WHO), $(NOBODY)/green/mellon/unset/unset");
    stage.finish().await
}

#[tokio::test]
async fn whole_objects_become_variables_with_a_prefix() -> Result<()> {
    let stage = Stage::set().await?;
    objects(&stage).await?;
    let sources = json!([
        {"prefix": "S_", "configMapRef": {"name": "settings"}},
        {"secretRef": {"name": "keys"}},
        {"configMapRef": {"name": "missing", "optional": true}},
        {"secretRef": {"name": "missing", "optional": true}},
    ]);
    let said =
        stage.run("whole", once(sh("echo $S_colour $S_shape $password").with(json!({"envFrom": sources}))));
    assert_eq!(said.await?, "green round mellon");
    stage.finish().await
}

/// Unless it is optional, which may also be said with `false`.
#[tokio::test]
async fn what_is_missing_is_waited_for() -> Result<()> {
    let stage = Stage::set().await?;
    let map = json!({"configMapKeyRef": {"name": "settings", "key": "colour"}});
    let secret = json!({"secretKeyRef": {"name": "keys", "key": "password", "optional": false}});
    let pods = [
        ("map", json!({"env": [from(map)]}), "green"),
        ("secret", json!({"env": [from(secret)]}), "mellon"),
        ("maps", json!({"envFrom": [{"configMapRef": {"name": "settings", "optional": false}}]}), "green"),
        ("secrets", json!({"envFrom": [{"secretRef": {"name": "keys"}}]}), "mellon"),
    ];
    for (name, env, _) in &pods {
        stage.create(name, once(sh("echo $TAKEN$colour$password").with(env.clone()))).await?;
    }
    for (name, ..) in &pods {
        stage.until(name, "waiting", |pod| waiting(pod) == "CreateContainerConfigError").await?;
    }
    objects(&stage).await?;
    for (name, _, word) in pods {
        stage.until(name, "ended", crate::stage::has_ended).await?;
        assert_eq!(stage.logs(name, "main").await?, word, "{name}");
    }
    stage.finish().await
}

#[tokio::test]
async fn a_container_knows_its_pod() -> Result<()> {
    let stage = Stage::set().await?;
    let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}});
    let env = json!([
        field("A", "metadata.name"),
        field("B", "metadata.namespace"),
        field("C", "metadata.uid"),
        field("D", "metadata.labels['app']"),
        field("E", "metadata.annotations['note']"),
        field("F", "spec.nodeName"),
        field("G", "spec.serviceAccountName"),
        field("H", "status.podIP"),
        field("I", "status.hostIP"),
    ]);
    let container = sh("echo $A $B $C $D $E $F $G $H $I").with(json!({"env": env}));
    let metadata = json!({"name": "known", "labels": {"app": "demo"}, "annotations": {"note": "well"}});
    let pod: k8s_openapi::api::core::v1::Pod =
        stage.put("known", json!({"metadata": metadata, "spec": once(container)})).await?;
    let uid = pod.metadata.uid.unwrap_or_default();
    let pod = stage.until("known", "ended", crate::stage::has_ended).await?;
    let status = pod.status.unwrap_or_default();
    let addresses = [status.pod_ip, status.host_ip].map(Option::unwrap_or_default).join(" ");
    let namespace = stage.namespace.name();
    let expected = format!("known {namespace} {uid} demo well localhost default {addresses}");
    assert_eq!(stage.logs("known", "main").await?, expected);
    stage.finish().await
}

#[tokio::test]
async fn a_container_knows_its_resources() -> Result<()> {
    let stage = Stage::set().await?;
    let resource =
        |name: &str, resource: Value| json!({"name": name, "valueFrom": {"resourceFieldRef": resource}});
    let env = json!([
        resource("A", json!({"resource": "limits.memory", "divisor": "1Mi"})),
        resource("B", json!({"resource": "requests.cpu", "divisor": "1m", "containerName": "main"})),
        resource("C", json!({"resource": "limits.cpu"})),
        resource("D", json!({"resource": "limits.ephemeral-storage"})),
    ]);
    let resources = json!({"limits": {"memory": "64Mi", "cpu": "500m", "ephemeral-storage": "1Gi"}, "requests": {"cpu": "10m"}});
    let container = sh("echo $A $B $C $D").with(json!({"env": env, "resources": resources}));
    assert_eq!(stage.run("resourceful", once(container)).await?, "64 10 1 1073741824");
    stage.finish().await
}

#[tokio::test]
async fn services_are_variables_unless_they_are_not_wanted() -> Result<()> {
    let stage = Stage::set().await?;
    let ports = json!([{"port": 80, "name": "web"}]);
    let service: Service = stage.put("my-shop", json!({"spec": {"ports": ports}})).await?;
    let address = service.spec.and_then(|spec| spec.cluster_ip).unwrap_or_default();
    let script = "echo ${MY_SHOP_SERVICE_HOST-none} ${MY_SHOP_SERVICE_PORT_WEB-none}";
    let with = stage.run("with", once(sh(script))).await?;
    assert_eq!(with, format!("{address} 80"));
    let without = stage.run("without", once(sh(script)).with(json!({"enableServiceLinks": false}))).await?;
    assert_eq!(without, "none none");
    stage.finish().await
}
