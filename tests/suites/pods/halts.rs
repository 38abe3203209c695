//! `asb down` with Pods that run: they are told to end as on a node that is shut down, and start again with the next `asb up`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use asb_tests::{Cluster, program, wait};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::spec::{With, once, sh};
use crate::stage::{is_ready, last_exit, restarts};

/// A data directory with a node of its own, beside the one that other tests use.
struct Home(TempDir);

impl Home {
    fn asb(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new(program()?);
        command.args(words).arg("--data-dir").arg(self.0.path()).stderr(Stdio::inherit());
        let output = command.output().context("run asb")?;
        ensure!(output.status.success(), "asb {words:?} failed");
        Ok(String::from_utf8(output.stdout)?)
    }

    async fn up(&self) -> Result<Client> {
        self.asb(&["up", "--detach", "--no-operator", "--listen", "127.0.0.1:0"])?;
        Ok(Cluster::at(&self.0.path().join("kubeconfig")).await?.client())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What a test has stopped by itself is not there any more.
        let _ = self.asb(&["down", "--grace", "0s"]);
    }
}

fn near<K>(client: &Client) -> Api<K>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
{
    Api::namespaced(client.clone(), "default")
}

fn claim() -> Value {
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}});
    json!({"metadata": {"name": "memory"}, "spec": spec})
}

/// Writes down that it is started, that its hook was run and that it was told to end.
fn remembering() -> Value {
    let script = "trap 'echo signal >> /v/log; exit 0' TERM; echo start >> /v/log; touch /tmp/up; while :; do sleep 0.05; done";
    let container = sh(script).with(json!({
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "echo hook >> /v/log"]}}},
        "readinessProbe": {"exec": {"command": ["test", "-e", "/tmp/up"]}, "periodSeconds": 1},
    }));
    let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "memory"}}]);
    let spec = once(container).with(json!({"restartPolicy": "Always", "volumes": volumes}));
    json!({"metadata": {"name": "box"}, "spec": spec})
}

/// What was written into the one volume that there is.
fn log(home: &Home) -> Result<String> {
    let volumes = fs::read_dir(home.0.path().join("node/volumes"))?;
    let paths: Vec<PathBuf> = volumes.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    let [volume] = paths.as_slice() else { anyhow::bail!("{paths:?}") };
    Ok(fs::read_to_string(volume.join("data/log"))?)
}

async fn start() -> Result<Home> {
    let home = Home(TempDir::new()?);
    let client = home.up().await?;
    wait::for_object(&near::<ServiceAccount>(&client), "default", "there", |_| true).await?;
    let (claims, pods) = (near::<PersistentVolumeClaim>(&client), near::<Pod>(&client));
    claims.create(&PostParams::default(), &serde_json::from_value(claim())?).await?;
    pods.create(&PostParams::default(), &serde_json::from_value(remembering())?).await?;
    wait::for_object(&pods, "box", "ready", is_ready).await?;
    Ok(home)
}

#[tokio::test]
async fn pods_are_told_to_end_and_start_again_with_the_next_daemon() -> Result<()> {
    let home = start().await?;
    let down = home.asb(&["down"])?;
    assert!(down.ends_with("1 Pod ended; the next `asb up` starts again what is wanted\n"), "{down}");
    assert_eq!(log(&home)?, "start\nhook\nsignal\n");
    let pods = near::<Pod>(&home.up().await?);
    let again = |pod: &Pod| is_ready(pod) && last_exit(pod).is_some();
    let pod = wait::for_object(&pods, "box", "ready again", again).await?;
    assert_eq!((last_exit(&pod), restarts(&pod)), (Some((0, "Completed")), 1));
    assert_eq!(log(&home)?, "start\nhook\nsignal\nstart\n");
    Ok(())
}

#[tokio::test]
async fn pods_that_are_kept_are_told_nothing() -> Result<()> {
    let home = start().await?;
    let down = home.asb(&["down", "--keep-running"])?;
    assert!(down.ends_with("1 Pod kept running; the next `asb up` takes charge again\n"), "{down}");
    assert_eq!(log(&home)?, "start\n");
    Ok(())
}
