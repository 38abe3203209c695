//! A namespace with two pools whose sandboxes have the runtime, as people who use an SDK would make them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use asb_tests::objects::object;
use asb_tests::{Cluster, Namespace, program, wait};
use asb_types::v1beta1::{SandboxTemplate, SandboxWarmPool};
use kube::api::PostParams;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::process::Command;

use crate::{cluster, gateway};

pub(crate) const BUSYBOX: &str = "asb.test/busybox:1";
/// Its sandboxes serve whoever shows a token, as the router does.
pub(crate) const KEPT: &str = "kept";

/// Its sandboxes serve whoever reaches them, which the SDK's connections within a cluster expect.
pub(crate) const OPEN: &str = "open";

/// Containers of a busy machine take their time.
pub(crate) const PATIENCE: Duration = Duration::from_mins(4);

/// What programs are told beside their arguments.
pub(crate) type Environment = Vec<(&'static str, String)>;

pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) namespace: Namespace,
}

/// What the suite runs on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// `asb up`, whose data directory is known.
    Machine,
    /// A Kubernetes, with what the chart installs.
    Cluster,
}

pub(crate) fn home() -> Home {
    if std::env::var_os("ASB_TEST_DATA_DIR").is_some() { Home::Machine } else { Home::Cluster }
}

pub(crate) fn given(variable: &str) -> Result<OsString> {
    std::env::var_os(variable).with_context(|| format!("{variable} is not set; `cargo xtask test` does it"))
}

impl Stage {
    pub(crate) async fn set() -> Result<Self> {
        let stage = Self::empty().await?;
        pool(&stage.namespace, KEPT, json!({"directory": "/tmp"})).await?;
        pool(&stage.namespace, OPEN, json!({"access": "Open", "directory": "/tmp"})).await?;
        Ok(stage)
    }

    /// Without pools.
    pub(crate) async fn empty() -> Result<Self> {
        let cluster = Cluster::connect().await?;
        if home() == Home::Cluster {
            cluster::install(&cluster).await?;
        }
        let namespace = cluster.namespace().await?;
        Ok(Self { cluster, namespace })
    }

    /// Who goes to the router by its own address: somebody whom the API server knows and lets reach these sandboxes.
    pub(crate) async fn introduction(&self) -> Result<Environment> {
        self.kubectl(&["create", "serviceaccount", "caller"]).await?;
        let account = format!("{}:caller", self.namespace.name());
        let rules =
            ["create", "role", "reach", "--verb=create", "--resource=sandboxes.agents.x-k8s.io/connect"];
        self.kubectl(&rules).await?;
        let binding = ["create", "rolebinding", "reach", "--role=reach", "--serviceaccount", &account];
        self.kubectl(&binding).await?;
        let token = self.kubectl(&["create", "token", "caller"]).await?.trim().to_owned();
        let router = match home() {
            Home::Cluster => format!("http://{}:8080", cluster::router(self).await?.address),
            Home::Machine => self.router().await?,
        };
        Ok(vec![("ROUTER", router), ("TOKEN", token), ("GATEWAY", gateway::NAME.to_owned())])
    }

    /// Where the router of `asb up` listens.
    async fn router(&self) -> Result<String> {
        let mut command = Command::new(program()?);
        command.args(["status", "-o", "json", "--data-dir"]).arg(given("ASB_TEST_DATA_DIR")?);
        let status: Value = serde_json::from_str(&run(command).await?)?;
        Ok(status["router"].as_str().context("there is a router")?.to_owned())
    }

    /// A kubeconfig for an account that is there already.
    pub(crate) async fn login(&self, account: &str) -> Result<NamedTempFile> {
        let token = self.kubectl(&["create", "token", account]).await?;
        let credentials = [format!("--token={}", token.trim())];
        self.login_with(account, &credentials).await
    }

    /// One with other credentials, as kubectl takes them.
    pub(crate) async fn login_with(&self, account: &str, credentials: &[String]) -> Result<NamedTempFile> {
        let file = NamedTempFile::new()?;
        std::fs::copy(given("KUBECONFIG")?, file.path())?;
        let place = file.path().to_str().context("a plain path")?;
        let mut set = vec!["config", "set-credentials", account, "--kubeconfig", place];
        set.extend(credentials.iter().map(String::as_str));
        self.kubectl(&set).await?;
        self.kubectl(&["config", "set-context", "--current", "--user", account, "--kubeconfig", place])
            .await?;
        Ok(file)
    }

    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(given("ASB_TEST_KUBECTL")?);
        command.args(["--namespace", self.namespace.name()]).args(arguments);
        run(command).await
    }
}

/// A pool of two of a plain image, once it is full.
async fn pool(namespace: &Namespace, name: &str, runtime: Value) -> Result<()> {
    let container = json!({"name": "main", "image": BUSYBOX});
    let template = json!({"podTemplate": {"spec": {"containers": [container]}}, "runtime": runtime});
    let templates = namespace.api::<SandboxTemplate>();
    templates.create(&PostParams::default(), &object(name, template)).await?;
    let pools = namespace.api::<SandboxWarmPool>();
    let pool = json!({"replicas": 2, "sandboxTemplateRef": {"name": name}});
    pools.create(&PostParams::default(), &object(name, pool)).await?;
    let is_full = |pool: &SandboxWarmPool| {
        let status: Value = serde_json::to_value(&pool.status).unwrap_or_default();
        status["readyReplicas"] == 2
    };
    wait::for_object_within(PATIENCE, &pools, name, "full", is_full).await?;
    Ok(())
}

/// PATH with our kubectl, which SDKs call by its name.
pub(crate) fn path() -> Result<OsString> {
    let kubectl = PathBuf::from(given("ASB_TEST_KUBECTL")?);
    let folder = kubectl.parent().context("kubectl is in a folder")?;
    let rest = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths([folder.to_owned()].into_iter().chain(std::env::split_paths(&rest)))?)
}

pub(crate) fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(str::to_owned).collect()
}

pub(crate) async fn run(mut command: Command) -> Result<String> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.context("it goes on")??;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ensure!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    Ok(text(&output.stdout))
}
