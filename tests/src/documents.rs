//! The definitions of the short spellings. On Kubernetes they are installed by those who want them, and taken away by the last
//! test that used them: other suites type plurals, which would mean the short ones.

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use tokio::sync::Mutex;

use crate::{Cluster, asb, wait};

/// How many tests use them.
static USERS: Mutex<usize> = Mutex::const_new(0);

/// Sees to it that they are served.
pub async fn enter(cluster: &Cluster) -> Result<()> {
    let mut users = USERS.lock().await;
    if *users == 0 && cluster.is_original().await {
        install(cluster).await?;
    }
    *users += 1;
    Ok(())
}

/// Takes them away if nobody else uses them.
pub async fn leave(cluster: &Cluster) -> Result<()> {
    let mut users = USERS.lock().await;
    *users -= 1;
    if *users == 0 && cluster.is_original().await {
        let printed = asb(&["crds", "--documents"]).await?;
        cluster.kubectl(&["delete", "-f", "-"], Some(&printed)).await?.success()?;
        known(cluster, false).await?;
    }
    Ok(())
}

async fn install(cluster: &Cluster) -> Result<()> {
    let printed = asb(&["crds", "--documents"]).await?;
    cluster.kubectl(&["apply", "-f", "-"], Some(&printed)).await?.success()?;
    let definitions = Api::<CustomResourceDefinition>::all(cluster.client());
    for (name, _) in asb_types::crd::SHORTHAND {
        wait::for_object(&definitions, name, "established", is_established).await?;
    }
    known(cluster, true).await
}

/// Waits until discovery lists them, or no longer does. kubectl remembers the answer, for all suites.
async fn known(cluster: &Cluster, wanted: bool) -> Result<()> {
    let what = if wanted { "short spellings in discovery" } else { "no short spellings in discovery" };
    let ask = ["api-resources", "--api-group", asb_types::GROUP, "--output", "name"];
    let is_so = || async {
        let listed = cluster.kubectl(&ask, None).await.ok()?.success().ok()?;
        (listed.contains(asb_types::crd::SHORTHAND[0].0) == wanted).then_some(())
    };
    Ok(wait::until(Duration::from_mins(1), what, is_so).await?)
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.filter(|it| it.status == "True").any(|it| it.type_ == "Established")
}
