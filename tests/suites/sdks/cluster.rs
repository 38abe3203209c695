//! A Kubernetes with what the chart installs: where its router is, and who gets in there.

use std::time::Duration;

use anyhow::{Context, Result};
use asb_tests::installation::{Installation, NAMESPACE};
use asb_tests::objects::create;
use asb_tests::{Cluster, wait};
use asb_types::v1beta1::Sandbox;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout};
use tokio::sync::OnceCell;

use crate::stage::{BUSYBOX, PATIENCE, Stage};

static INSTALLED: OnceCell<()> = OnceCell::const_new();

/// Once for all tests of a run, and of those after it. It goes with the cluster.
pub(crate) async fn install(cluster: &Cluster) -> Result<()> {
    let done = INSTALLED.get_or_try_init(|| async {
        if pods(cluster).await?.is_empty() {
            let installation = Installation::make(cluster, "router.enabled=true").await?;
            installation.available(1).await?;
            installation.is_open().await?;
        }
        Ok(())
    });
    done.await.copied()
}

/// The Pod that the router is.
pub(crate) struct Router {
    name: String,
    pub(crate) address: String,
}

pub(crate) async fn router(stage: &Stage) -> Result<Router> {
    let pod = pods(&stage.cluster).await?.into_iter().next().context("there is no router")?;
    let address = pod.status.as_ref().and_then(|status| status.pod_ip.clone());
    Ok(Router { name: pod.name_any(), address: address.context("the router has no address")? })
}

async fn pods(cluster: &Cluster) -> Result<Vec<Pod>> {
    let pods: Api<Pod> = Api::namespaced(cluster.client(), NAMESPACE);
    Ok(pods.list(&ListParams::default().labels("app=sandbox-router")).await?.items)
}

/// Ports of the router's Pod that kubectl forwards, for as long as this lives.
struct Forwarding {
    _kubectl: Child,
    /// It says more with each connection, and would end if nobody could hear it.
    _said: Lines<BufReader<ChildStdout>>,
    address: String,
}

impl Forwarding {
    async fn to(router: &Router, stage: &Stage) -> Result<Self> {
        let pod = format!("pod/{}", router.name);
        let forward = ["port-forward", "--namespace", NAMESPACE, "--address", "127.0.0.1", &pod, ":8080"];
        let mut kubectl = stage.cluster.start_kubectl(&forward)?;
        let mut said = BufReader::new(kubectl.stdout.take().context("it says where")?).lines();
        let line = said.next_line().await?.context("kubectl forwards nothing")?;
        let address = line.split_whitespace().nth(2).context("it says where")?.to_owned();
        Ok(Self { _kubectl: kubectl, _said: said, address })
    }
}

/// The status that a request for the Sandbox gets there, without a token.
async fn asked(address: &str, stage: &Stage) -> Result<u16> {
    let request = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nX-Sandbox-ID: box\r\nX-Sandbox-Namespace: {}\r\nConnection: close\r\n\r\n",
        stage.namespace.name()
    );
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        anyhow::Ok(answer)
    };
    let answer = tokio::time::timeout(Duration::from_secs(30), exchange).await.context("no answer")??;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.with_context(|| format!("no status in {answer:?}"))
}

/// What a Sandbox with the runtime gets for the same.
async fn asked_from_inside(router: &Router, stage: &Stage) -> Result<String> {
    let (namespace, url) = (stage.namespace.name(), format!("http://{}:8080/", router.address));
    let headers = ["--header", "X-Sandbox-ID: box", "--header", &format!("X-Sandbox-Namespace: {namespace}")];
    let wget = [&["exec", "-n", namespace, "box", "--", "wget", "-O", "-"][..], &headers, &[&url]].concat();
    let refused = stage.cluster.kubectl(&wget, None).await?.success().err();
    Ok(refused.context("a sandbox got in")?.to_string())
}

#[tokio::test]
async fn only_ports_that_are_forwarded_to_a_router_alone_in_its_pod_need_no_token() -> Result<()> {
    let stage = Stage::empty().await?;
    let container = json!({"name": "main", "image": BUSYBOX});
    let spec =
        json!({"podTemplate": {"spec": {"containers": [container]}}, "runtime": {"directory": "/tmp"}});
    create::<Sandbox>(&stage.namespace, "box", spec).await?;
    let is_ready = |sandbox: &Sandbox| {
        let conditions = sandbox.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    wait::for_object_within(PATIENCE, &stage.namespace.api(), "box", "Ready", is_ready).await?;
    let router = router(&stage).await?;

    let forwarding = Forwarding::to(&router, &stage).await?;
    assert_eq!(asked(&forwarding.address, &stage).await?, 200, "what is forwarded");
    assert_eq!(
        asked(&format!("{}:8080", router.address), &stage).await?,
        401,
        "what comes to the Pod's address"
    );
    let inside = asked_from_inside(&router, &stage).await?;
    assert!(inside.contains("401"), "{inside}");

    let visit =
        ["debug", "-n", NAMESPACE, &router.name, "--image", BUSYBOX, "--profile=general", "--", "true"];
    stage.cluster.kubectl(&visit, None).await?.success()?;
    let forwarding = Forwarding::to(&router, &stage).await?;
    assert_eq!(asked(&forwarding.address, &stage).await?, 401, "what a visitor could have sent");

    // Whoever comes next finds a router alone.
    stage.cluster.kubectl(&["delete", "pod", "-n", NAMESPACE, &router.name], None).await?.success()?;
    stage.namespace.finish().await;
    Ok(())
}
