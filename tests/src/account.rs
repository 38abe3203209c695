//! The operator's account: a client that may do on the cluster what the manifests under `deploy/` grant, and no more.

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::cluster::Cluster;

/// The manifests that grant it, as they are committed.
const GRANTS: [&str; 9] = [
    include_str!("../../deploy/operator/namespace.yaml"),
    include_str!("../../deploy/operator/service-account.yaml"),
    include_str!("../../deploy/operator/cluster-role.yaml"),
    include_str!("../../deploy/operator/role.yaml"),
    include_str!("../../deploy/operator/bindings.yaml"),
    include_str!("../../deploy/extensions/cluster-role.yaml"),
    include_str!("../../deploy/extensions/binding.yaml"),
    include_str!("../../deploy/documents/cluster-role.yaml"),
    include_str!("../../deploy/documents/binding.yaml"),
];

/// Where the account is, and its name.
pub const NAMESPACE: &str = "agent-sandbox-system";
pub const NAME: &str = "agent-sandbox-controller";

static TOKEN: OnceCell<String> = OnceCell::const_new();

/// Grants the account its rights, once, and returns a client that has them.
pub async fn operator(cluster: &Cluster) -> Result<Client> {
    let token = TOKEN.get_or_try_init(|| granted(cluster)).await?;
    Ok(cluster.client_with_token(token.clone()).await?)
}

async fn granted(cluster: &Cluster) -> Result<String> {
    let apply = ["apply", "--server-side", "--force-conflicts", "--field-manager=suite", "-f", "-"];
    cluster.kubectl(&apply, Some(&GRANTS.join("---\n"))).await?.success()?;
    let accounts = Api::<ServiceAccount>::namespaced(cluster.client(), NAMESPACE);
    let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}}))?;
    let answer = accounts.create_token_request(NAME, &PostParams::default(), &request).await?;
    answer.status.and_then(|status| status.token).context("an answer has a token")
}
