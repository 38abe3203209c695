//! An API server with Pods that are pretended, and `asb operator` as a program on it that sends traces.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use asb_tests::embedded::{Server, up};
use asb_tests::{program, wait};
use asb_types::v1beta1::{Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool};
use k8s_openapi::NamespaceResourceScope;
use kube::api::PostParams;
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

pub(crate) struct Place {
    server: Server,
    directory: TempDir,
    process: Child,
    metrics: u16,
}

impl Place {
    /// With an operator whose environment says this.
    pub(crate) async fn with(environment: &[(&str, &str)]) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let mut command = up(directory.path(), "127.0.0.1:0")?;
        command.args(["--no-operator", "--fake-kubelet"]);
        let server = Server::run(directory.path(), command).await?;
        let metrics = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
        let process = operator(directory.path(), metrics, environment)?;
        Ok(Self { server, directory, process, metrics })
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::default_namespaced(self.server.client.clone())
    }

    /// A template and a pool of the same name.
    pub(crate) async fn pool(&self, name: &str, replicas: usize) -> Result<()> {
        let pod = json!({"spec": {"containers": [{"name": "main", "image": "demo"}]}});
        self.create::<SandboxTemplate>(name, json!({}), json!({"podTemplate": pod})).await?;
        let spec = json!({"replicas": replicas, "sandboxTemplateRef": {"name": name}});
        self.create::<SandboxWarmPool>(name, json!({}), spec).await?;
        let is_full = |pool: &SandboxWarmPool| {
            pool.status.as_ref().is_some_and(|status| usize::try_from(status.ready_replicas) == Ok(replicas))
        };
        wait::for_object(&self.api::<SandboxWarmPool>(), name, "full", is_full).await?;
        Ok(())
    }

    /// A claim with these annotations, once it is Ready, and its Sandbox.
    pub(crate) async fn claim(&self, name: &str, pool: &str, annotations: Value) -> Result<Sandbox> {
        self.create::<SandboxClaim>(name, annotations, json!({"warmPoolRef": {"name": pool}})).await?;
        let is_ready = |claim: &SandboxClaim| {
            let conditions = claim.status.iter().flat_map(|status| &status.conditions);
            conditions.into_iter().any(|it| it.type_ == "Ready" && it.status == "True")
        };
        let claim = wait::for_object(&self.api::<SandboxClaim>(), name, "Ready", is_ready).await?;
        let sandbox = claim.status.context("it is Ready")?.sandbox.name;
        Ok(self.api::<Sandbox>().get(&sandbox).await?)
    }

    pub(crate) async fn create<K>(&self, name: &str, annotations: Value, spec: Value) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Serialize
            + std::fmt::Debug,
    {
        let (version, kind) = (K::api_version(&()), K::kind(&()));
        let object = json!({"apiVersion": version, "kind": kind,
            "metadata": {"name": name, "annotations": annotations,
                "labels": {"agents.x-k8s.io/created-by": "python-client"}},
            "spec": spec});
        self.api::<K>().create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        Ok(())
    }

    /// How many spans came so far, as the operator's metrics say.
    pub(crate) async fn spans(&self, result: &str) -> Result<u64> {
        let text = get(self.metrics, "/metrics").await?;
        let series = format!("agent_sandbox_trace_spans_total{{result=\"{result}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&series)).context("it is counted")?;
        Ok(value.trim().parse()?)
    }

    /// Asks the operator to end, and says what it has logged.
    pub(crate) async fn stop(mut self) -> Result<String> {
        let id = self.process.id().context("it runs")?.to_string();
        Command::new("kill").arg(&id).status().await?;
        let status = self.process.wait().await?;
        let log = std::fs::read_to_string(log(self.directory.path()))?;
        ensure!(status.success(), "it ended badly: {status}\n{log}");
        Ok(log)
    }
}

fn operator(directory: &Path, metrics: u16, environment: &[(&str, &str)]) -> Result<Child> {
    let log = std::fs::File::create(log(directory))?;
    Command::new(program()?)
        .args([
            "operator",
            "--extensions",
            "--enable-tracing",
            "--leader-elect=false",
            "--enable-webhook=false",
        ])
        .args(["--health-probe-bind-address=0", &format!("--metrics-bind-address=127.0.0.1:{metrics}")])
        .arg("--kubeconfig")
        .arg(directory.join("kubeconfig"))
        .envs(environment.iter().copied())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .context("start asb operator; `cargo build -p asb` makes it")
}

fn log(directory: &Path) -> PathBuf {
    directory.join("operator.log")
}

async fn get(port: u16, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
