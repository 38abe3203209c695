//! `asb up`: serves the Kubernetes API on this machine, and looks after our kinds, until it is told to stop.

mod background;
mod entrance;
mod greeting;
mod runner;
mod signs;
mod summary;

use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use asb_apiserver::server::{Config, Error, Server, prepare};
use asb_operator::{Operator, Settings};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::control::{Control, Entry, Hello};
use crate::daemon::Lock;
use crate::logging::Encoder;
use crate::place::Place;
use crate::streams::LocalPods;
use crate::{memory, node, output, terminal};
use entrance::Entrance;
pub(crate) use entrance::key_path;
use greeting::Mode;
use runner::Runner;

/// Serve the Kubernetes API on this machine.
///
/// No cluster, no etcd, no download: one program, one file. kubectl and the client libraries work against it with the
/// kubeconfig that it writes. Objects are kept in the data directory and are there again at the next start. Sandboxes,
/// claims, templates and pools are looked after in the same process.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb up
  asb up --detach
  asb up --data-dir ./state --listen 127.0.0.1:0

SIGTERM or Ctrl-C stops it, and leaves what runs in sandboxes running; `asb down` ends that too. In another shell:
  export KUBECONFIG=\"$(asb kubeconfig --path)\"
  kubectl api-resources")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,

    /// Where to listen; port 0 takes one that is free [default: 127.0.0.1:6443, or a free port where that is taken]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,

    /// Go on in the background once it is ready
    #[arg(short, long)]
    detach: bool,

    /// This is what goes on in the background
    #[arg(long, hide = true, conflicts_with = "detach")]
    background: bool,

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

    /// Let no requests into Sandboxes: there is no router, and no `sandbox-router-svc`
    #[arg(long)]
    no_router: bool,

    /// Where the router lets requests into Sandboxes; port 0 takes one that is free [default: 127.0.0.1:8880, or a free port where
    /// that is taken]
    #[arg(long, value_name = "ADDR:PORT")]
    router_listen: Option<SocketAddr>,

    /// The domain below which host names are Sandboxes: PORT-SANDBOX-NAMESPACE.DOMAIN
    #[arg(long, value_name = "DOMAIN")]
    preview_domain: Option<String>,

    #[command(flatten)]
    node: node::Flags,
}

/// Kubernetes' own.
const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 6443);

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.detach {
        return background::start(&arguments.place.directory()?);
    }
    if arguments.background {
        asb_node::sys::session::leave().context("cannot leave the terminal")?;
    }
    let start = Instant::now();
    output::log(arguments.log, Encoder::Text, None);
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
    prepare(&data_dir).with_context(|| format!("cannot use the data directory {}", data_dir.display()))?;
    let _lock = Lock::claim(&data_dir)?;
    // Before anybody can take the daemon for ready: what is asked of it early waits.
    let entry = Entry::open(&data_dir)?;
    let config =
        Config { data_dir: data_dir.clone(), listen: arguments.listen.unwrap_or(USUAL), admin_token };
    let (flags, place) = (arguments.node.clone(), data_dir.clone());
    let pretended = arguments.fake_kubelet.then(|| "Pods are pretended".to_owned());
    let obstacle = tokio::task::spawn_blocking(move || pretended.or_else(|| node::obstacle(&flags, &place)));
    let pods = LocalPods::default();
    let server = open(config, &pods, arguments.listen.is_none()).await?;
    let address = server.address();
    let client = server.client();
    let obstacle = obstacle.await.context("the trial of this machine ended badly")?;
    let node = tokio::task::block_in_place(|| node::prepare(&arguments.node, &data_dir, address, obstacle))?;
    if arguments.background {
        // Paths that were given have been read by now; no file system is kept from being unmounted.
        std::env::set_current_dir("/").context("cannot leave the current directory")?;
    }
    let serving = tokio::spawn(server.run(stop.clone()));
    // The node first: to an operator, Pods of a node that does not exist are lost.
    let runner = Runner::start(arguments, &node, client.clone()).await?;
    if let Runner::Node(node) = &runner {
        pods.connect(node.streams().clone());
    }
    let watched = client.clone();
    let key = entrance::key(&data_dir)?;
    let settings =
        Settings { runtime: Some(Arc::new(entrance::runtime_source(&key))), ..Settings::default() };
    let operator = (!arguments.no_operator).then(|| Operator::new(client.clone(), settings, None));
    let closing = CancellationToken::new();
    let domain = arguments.preview_domain.clone();
    let entrance = if arguments.no_router {
        None
    } else {
        let listen = arguments.router_listen;
        let signed = pods.signed();
        let entrance = Entrance::open(client, key, listen, domain, signed, closing.clone()).await?;
        pods.hand_over_to(entrance.handle.clone());
        Some(entrance)
    };
    let done = CancellationToken::new();
    let working = operator.map(|operator| tokio::spawn(operator.run(done.clone())));
    let hello = Hello {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        address,
        node: runner.state(&node),
        router: entrance.as_ref().map(|entrance| entrance.address),
    };
    let words = if arguments.background {
        greeting::line(&hello, start.elapsed())
    } else {
        greeting::of(&hello, &data_dir, start.elapsed(), Mode::Foreground)
    };
    output::print(&words)?;
    let (halts, mut halted) = mpsc::channel(1);
    let control = Control { hello, images: node.images(), halts };
    let control = tokio::spawn(control.serve(entry, stop.clone()));
    let is_watched = !arguments.background && terminal::has_reader();
    let halt = tokio::select! {
        // Whoever asks for it tells the process to end as well.
        biased;
        grace = halted.recv() => grace,
        _ = interrupt.recv() => None,
        _ = terminate.recv() => None,
        () = memory::keep_small() => None,
        () = summary::show(&watched), if is_watched => None,
    };
    // What the operator has begun it finishes while the server still answers, and so does what is carried into Sandboxes.
    closing.cancel();
    done.cancel();
    if let Some(working) = working {
        working.await.context("the operator ended badly")?;
    }
    if let Some(entrance) = entrance {
        entrance.ended().await?;
    }
    runner.stop(halt).await;
    stop.cancel();
    control.await.context("the listener for commands ended badly")?;
    serving.await.context("the server ended badly")
}

/// An address that nobody asked for need not be had.
async fn open(config: Config, pods: &LocalPods, may_move: bool) -> Result<Server> {
    match Server::open(&config, pods.clone()).await {
        Err(Error::Listen(_, cause)) if may_move && cause.kind() == ErrorKind::AddrInUse => {
            let listen = SocketAddr::new(config.listen.ip(), 0);
            Ok(Server::open(&Config { listen, ..config }, pods.clone()).await?)
        }
        other => Ok(other?),
    }
}

fn token(path: &Path) -> Result<String> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read the token in {}", path.display()))?;
    Ok(text.trim().to_owned())
}
