//! What stands in front of the router on a cluster: an object by which SDKs find an address, and a proxy there that says who it
//! is to the router, since those who come by it show no token.

use std::net::Ipv4Addr;
use std::process::Stdio;
use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::{Context, Result};
use asb_tests::wait;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::stage::{Environment, Stage, given};

const DEFINITION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/suites/sdks/gateway.yaml");
pub(crate) const NAME: &str = "entrance";

/// Closed when it is dropped.
pub(crate) struct Gateway {
    _proxy: Child,
}

impl Gateway {
    pub(crate) async fn open(stage: &Stage, introduction: &Environment) -> Result<Self> {
        let address = address();
        let proxy = proxy(address, introduction).await?;
        define(stage).await?;
        let kind = GroupVersionKind::gvk("gateway.networking.k8s.io", "v1", "Gateway");
        let resource = ApiResource::from_gvk(&kind);
        let gateways: Api<DynamicObject> =
            Api::namespaced_with(stage.cluster.client(), stage.namespace.name(), &resource);
        let listener = json!({"name": "http", "port": 80, "protocol": "HTTP"});
        let spec = json!({"spec": {"gatewayClassName": "tests", "listeners": [listener]}});
        let gateway = DynamicObject::new(NAME, &resource).data(spec);
        gateways.create(&PostParams::default(), &gateway).await.context("create the Gateway")?;
        let status = json!({"status": {"addresses": [{"type": "IPAddress", "value": address.to_string()}]}});
        gateways.patch_status(NAME, &PatchParams::default(), &Patch::Merge(&status)).await?;
        Ok(Self { _proxy: proxy })
    }
}

/// Others may do the same at the same time.
async fn define(stage: &Stage) -> Result<()> {
    stage.kubectl(&["apply", "--server-side", "--filename", DEFINITION]).await?;
    let definitions: Api<CustomResourceDefinition> = Api::all(stage.cluster.client());
    let is_established = |definition: &CustomResourceDefinition| {
        let status = definition.status.clone().unwrap_or_default();
        let mut conditions = status.conditions.into_iter().flatten();
        conditions.any(|condition| condition.type_ == "Established" && condition.status == "True")
    };
    let name = "gateways.gateway.networking.k8s.io";
    wait::for_object(&definitions, name, "established", is_established).await?;
    Ok(())
}

/// SDKs go to port 80, so that each Gateway has an address of its own.
fn address() -> Ipv4Addr {
    static COUNT: AtomicU8 = AtomicU8::new(1);
    let [.., middle, last] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 64 + COUNT.fetch_add(1, Ordering::Relaxed), middle, last.max(1))
}

async fn proxy(address: Ipv4Addr, introduction: &Environment) -> Result<Child> {
    let mut command = Command::new(given("ASB_TEST_GO_SDK")?);
    command.args(["gateway-itself", &format!("{address}:80")]).envs(introduction.iter().cloned());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut proxy = command.spawn().context("start the proxy of a Gateway")?;
    let said = BufReader::new(proxy.stdout.take().context("it says when it is open")?);
    said.lines().next_line().await?.context("the proxy of a Gateway does not open")?;
    Ok(proxy)
}
