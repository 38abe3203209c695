//! `asb up`: serves the Kubernetes API on this machine, and looks after our kinds, until it is told to stop.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use asb_apiserver::server::{Config, Server};
use asb_apiserver::streaming::NoPods;
use asb_fake_kubelet::FakeKubelet;
use asb_operator::{Operator, Settings};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::output;
use crate::place::Place;

/// Serve the Kubernetes API on this machine.
///
/// No cluster, no etcd, no download: one program, one file. kubectl and the client libraries work against it with the
/// kubeconfig that it writes. Objects are kept in the data directory and are there again at the next start. Sandboxes,
/// claims, templates and pools are looked after in the same process.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb up
  asb up --data-dir ./state --listen 127.0.0.1:0

SIGTERM or Ctrl-C stops it. In another shell:
  export KUBECONFIG=\"$(asb kubeconfig --path)\"
  kubectl api-resources")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,

    /// Where to listen; port 0 takes one that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,

    /// A file with a bearer token of the administrator, for clients that cannot use the certificate of the kubeconfig
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Only serve the API: nobody looks after Sandboxes, or `asb operator` does
    #[arg(long)]
    no_operator: bool,

    /// Pretend to run Pods: each becomes Ready with an address, and nothing runs. To look at the operator alone
    #[arg(long, hide = true)]
    fake_kubelet: bool,

    /// How much to say on standard error about what goes on: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "warn", env = "ASB_LOG")]
    log: tracing::level_filters::LevelFilter,
}

const PRETENDED: &str = "\nPods are pretended: they become Ready, and nothing runs in them.\n";

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let start = Instant::now();
    output::log(arguments.log);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    let served = runtime.block_on(serve(arguments, start));
    // What is still at it has been asked to end and given its time.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

async fn serve(arguments: &Arguments, start: Instant) -> Result<()> {
    let data_dir = arguments.place.directory()?;
    let stop = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    let admin_token = arguments.token_file.as_deref().map(token).transpose()?;
    let config = Config { data_dir: data_dir.clone(), listen: arguments.listen, admin_token };
    let server = Server::open(&config, NoPods).await?;
    let address = server.address();
    let client = server.client();
    let serving = tokio::spawn(server.run(stop.clone()));
    // The node first: to an operator, Pods of a node that does not exist are lost.
    let kubelet =
        if arguments.fake_kubelet { Some(FakeKubelet::builder(client.clone()).spawn().await?) } else { None };
    let operator = (!arguments.no_operator).then(|| Operator::new(client, Settings::default(), None));
    let done = CancellationToken::new();
    let working = operator.map(|operator| tokio::spawn(operator.run(done.clone())));
    output::print(&greeting(address, &data_dir, start.elapsed()))?;
    if kubelet.is_some() {
        output::print(PRETENDED)?;
    }
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    // What the operator has begun it finishes while the server still answers.
    done.cancel();
    if let Some(working) = working {
        working.await.context("the operator ended badly")?;
    }
    if let Some(kubelet) = kubelet {
        kubelet.shutdown().await;
    }
    stop.cancel();
    serving.await.context("the server ended badly")
}

fn token(path: &Path) -> Result<String> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read the token in {}", path.display()))?;
    Ok(text.trim().to_owned())
}

fn greeting(address: SocketAddr, data_dir: &Path, took: Duration) -> String {
    let kubeconfig = data_dir.join("kubeconfig");
    format!(
        "Agent Sandbox {version} serves the Kubernetes API on https://{address} (ready in {took:.2} s)\n\
         \x20 data        {data}\n\
         \x20 kubeconfig  {kubeconfig}\n\
         \n\
         Next, in another shell:\n\
         \x20 export KUBECONFIG={kubeconfig}\n\
         \x20 kubectl get sandboxes --all-namespaces\n\
         \n\
         Ctrl-C stops it; everything stored stays.\n",
        version = env!("CARGO_PKG_VERSION"),
        took = took.as_secs_f64(),
        data = data_dir.display(),
        kubeconfig = kubeconfig.display(),
    )
}
