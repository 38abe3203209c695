//! The Agent Sandbox of this machine, as commands find it.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, bail};
use asb_client::{Client, Destination};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::ListParams;

use crate::daemon::{self, Start};
use crate::node::State;
use crate::target::Target;
use crate::{control, output, status};

/// A client of whom a command is for. If that is this machine, one is started where none runs.
pub(crate) async fn connect(target: &Target) -> Result<Client> {
    if let Destination::Local(kubeconfig) = target.destination()? {
        ensure_local(&kubeconfig).await?;
    }
    target.connect().await
}

/// Makes sure that one answers before anything is asked of it: where none runs, one is started, and stays.
async fn ensure_local(kubeconfig: &Path) -> Result<()> {
    if status::ask(kubeconfig).await.is_ok() {
        return Ok(());
    }
    let data_dir = kubeconfig.parent().context("a kubeconfig is in a directory")?;
    let words = ["up", "--background", "--data-dir"].map(OsString::from);
    let words = words.into_iter().chain([data_dir.into()]).collect();
    let started = daemon::ensure(data_dir, words).await.context(
        "no Agent Sandbox runs on this machine, and none could be started; name a cluster with --context or KUBECONFIG, or \
         see what `asb up` says",
    )?;
    if started == Start::Begun {
        output::note("Agent Sandbox was not running, and was started in the background; `asb down` stops it");
    }
    Ok(())
}

/// Fails where nothing would ever run on this machine, instead of waiting for it.
pub(crate) async fn ensure_node(client: &Client, target: &Target) -> Result<()> {
    let Destination::Local(kubeconfig) = target.destination()? else { return Ok(()) };
    let nodes: Api<Node> = Api::all(client.kube().clone());
    let known = nodes.list(&ListParams::default().limit(1)).await.context("cannot ask for Nodes")?;
    if !known.items.is_empty() {
        return Ok(());
    }
    let data_dir = kubeconfig.parent().context("a kubeconfig is in a directory")?;
    match control::hello(data_dir).await {
        Ok(Some(hello)) if matches!(hello.node, State::Off { .. }) => bail!("{}", hello.node),
        _ => bail!("no Pods run here: there is no Node; `asb doctor` says what this machine can do"),
    }
}
