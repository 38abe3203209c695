//! Uses a cluster that somebody else runs. Nothing is started or built but kubectl, and only when none is installed.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::cluster::{Cluster, Options};
use super::kubectl::Kubectl;
use super::resources;
use crate::{parts, terminal, workspace};

/// The kubeconfig to use, if one was asked for. KUBECONFIG alone does not ask: many shells have it set, some to
/// production, and `kube env` sets it to the cluster that `up` may be about to start again.
pub(crate) fn wanted(options: &Options) -> Result<Option<PathBuf>> {
    let ours = env::var_os("ASB_KUBECONFIG").filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(missing) = ours.as_ref().filter(|path| !path.is_file()) {
        bail!("ASB_KUBECONFIG names {}, which is no file", missing.display());
    }
    if ours.is_some() || !options.use_existing {
        return Ok(ours);
    }
    let general = env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
    let path = general.context("--use-existing needs KUBECONFIG (or ASB_KUBECONFIG) to say which cluster")?;
    Ok(Some(path.into()))
}

pub(crate) fn adopt(kubeconfig: PathBuf) -> Result<Cluster> {
    let program = program()?;
    let cache = workspace::cache()?.join("kubectl");
    let kubectl = Kubectl::new(program.clone(), kubeconfig.clone(), cache.clone());
    let context = kubectl.run(&["config", "current-context"])?;
    let server =
        kubectl.run(&["config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"])?;
    terminal::note(&format!("using cluster {context} at {server} ({})", kubeconfig.display()));
    kubectl.run(&["get", "--raw=/readyz"]).context("the cluster is not ready")?;
    resources::install(&kubectl)?;
    Ok(Cluster::existing(context, kubeconfig, program, cache))
}

fn program() -> Result<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let installed =
        env::split_paths(&folders).map(|folder| folder.join("kubectl")).find(|path| path.is_file());
    installed.map_or_else(build, Ok)
}

fn build() -> Result<PathBuf> {
    let mut programs = parts::obtain(&["kubectl"])?;
    programs.remove("kubectl").context("kubectl was asked for")
}
