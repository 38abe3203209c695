//! Who may use our own Python package: accounts with the rights that its document prints, by the kubeconfigs that people have.

use std::fs;

use anyhow::{Context, Result};
use asb_tests::installation::NAMESPACE;
use asb_tests::objects::object;
use asb_tests::wait;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::own::{images, use_package};
use crate::printed::examples;
use crate::stage::{Environment, Home, KEPT, PATIENCE, Stage, home};

const DOCUMENT: &str = include_str!("../../../docs/python.md");

/// Roles as they are printed: to have sandboxes, and to reach the router through the API server.
async fn define_roles(stage: &Stage) -> Result<()> {
    for role in examples(DOCUMENT, "yaml") {
        let namespace = if role.contains(NAMESPACE) { NAMESPACE } else { stage.namespace.name() };
        // Others may do the same at the same time.
        let apply = ["apply", "--server-side", "-n", namespace, "-f", "-"];
        stage.cluster.kubectl(&apply, Some(role)).await?.success()?;
    }
    Ok(())
}

/// An account that may have sandboxes in the namespace.
async fn account(stage: &Stage, name: &str) -> Result<()> {
    stage.kubectl(&["create", "serviceaccount", name]).await?;
    let account = format!("--serviceaccount={}:{name}", stage.namespace.name());
    stage.kubectl(&["create", "rolebinding", name, "--role=sandbox-user", &account]).await?;
    Ok(())
}

/// Lets it reach the router through the API server, for as long as the test goes on.
struct Passage<'a> {
    stage: &'a Stage,
    name: String,
}

impl<'a> Passage<'a> {
    async fn open(stage: &'a Stage, account: &str) -> Result<Self> {
        let (name, namespace) = (format!("{}-{account}", stage.namespace.name()), stage.namespace.name());
        let account = format!("--serviceaccount={namespace}:{account}");
        let role = "--role=sandbox-router-tunnel";
        let binding = ["create", "rolebinding", "-n", NAMESPACE, &name, role, &account];
        stage.cluster.kubectl(&binding, None).await?.success()?;
        Ok(Self { stage, name })
    }

    async fn close(self) -> Result<()> {
        let binding = ["delete", "rolebinding", "-n", NAMESPACE, &self.name];
        Ok(self.stage.cluster.kubectl(&binding, None).await?.success().map(drop)?)
    }
}

/// As clouds have it: a program makes the credentials. This one has them in a file.
async fn login_by_program(stage: &Stage, name: &str, file: &NamedTempFile) -> Result<NamedTempFile> {
    let token = stage.kubectl(&["create", "token", name]).await?;
    let said = json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": token.trim()},
    });
    fs::write(file.path(), said.to_string()).context("write the credential")?;
    let program = [
        "--exec-api-version=client.authentication.k8s.io/v1".to_owned(),
        "--exec-interactive-mode=Never".to_owned(),
        "--exec-command=cat".to_owned(),
        format!("--exec-arg={}", file.path().display()),
    ];
    stage.login_with(name, &program).await
}

fn by(kubeconfig: &NamedTempFile, environment: &Environment) -> Environment {
    let place = kubeconfig.path().display().to_string();
    [environment.clone(), vec![("KUBECONFIG", place)]].concat()
}

#[tokio::test]
async fn whoever_has_the_printed_rights_needs_no_others() -> Result<()> {
    let stage = Stage::set().await?;
    let environment = [stage.introduction().await?, images()].concat();
    let namespace = stage.namespace.name();
    define_roles(&stage).await?;

    account(&stage, "tenant").await?;
    let passage = Passage::open(&stage, "tenant").await?;
    let credential = NamedTempFile::new()?;
    let kubeconfig = login_by_program(&stage, "tenant", &credential).await?;
    use_package(&["tenant", KEPT, namespace], &by(&kubeconfig, &environment)).await?;
    passage.close().await?;

    account(&stage, "stranger").await?;
    let kubeconfig = stage.login("stranger").await?;
    use_package(&["stranger", KEPT, namespace], &by(&kubeconfig, &environment)).await?;

    stage.namespace.finish().await;
    Ok(())
}

/// A Pod of that account which uses the package by itself.
fn user(account: &str, namespace: &str) -> Pod {
    let env: Vec<_> = images().iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let container = json!({
        "name": "main",
        "image": "asb.test/python:1",
        "imagePullPolicy": "Never",
        "command": ["python", "-m", "own_sdk", "tenant", KEPT, namespace],
        "env": env,
    });
    let spec = json!({"serviceAccountName": account, "restartPolicy": "Never", "containers": [container]});
    object(account, spec)
}

/// On a cluster it goes to the router's Service, and needs no right to a tunnel.
#[tokio::test]
async fn a_pod_uses_it_as_its_account() -> Result<()> {
    let stage = Stage::set().await?;
    define_roles(&stage).await?;
    account(&stage, "user").await?;
    let passage = match home() {
        Home::Machine => Some(Passage::open(&stage, "user").await?),
        Home::Cluster => None,
    };

    let pods = stage.namespace.api::<Pod>();
    pods.create(&PostParams::default(), &user("user", stage.namespace.name())).await?;
    let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
    let has_ended = |pod: &Pod| phase(pod).is_some_and(|phase| phase == "Succeeded" || phase == "Failed");
    let pod = wait::for_object_within(PATIENCE, &pods, "user", "ended", has_ended).await?;
    let said = stage.kubectl(&["logs", "user"]).await?;
    assert_eq!(phase(&pod).as_deref(), Some("Succeeded"), "{said}");

    if let Some(passage) = passage {
        passage.close().await?;
    }
    stage.namespace.finish().await;
    Ok(())
}
