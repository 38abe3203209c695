//! `asb router`: the way into the Sandboxes of a cluster.

mod arguments;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use asb_router::token::{Keys, PrivateKey, PublicKey, Secret};
use asb_router::{Authority, Caller, Router, Settings, Tls, Tunnel, serve_probes};
use kube::Client;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub(crate) use arguments::Arguments;
use arguments::{Authorization, Mode};

use crate::operator::{Connection, connect};

/// Where clients look for the router.
pub(crate) const NAMESPACE: &str = "agent-sandbox-system";
pub(crate) const SERVICE: &str = "sandbox-router-svc";
pub(crate) const POD: &str = "sandbox-router";

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    let served = runtime.block_on(serve(arguments));
    // What is still at it has been asked to end and given its time.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

async fn serve(arguments: &Arguments) -> Result<()> {
    arguments.logging.begin(None)?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    let tls = arguments.tls()?;
    let connection = Connection { kubeconfig: arguments.kubeconfig.clone(), pace: None };
    let (client, _) = connect(&connection).await?;
    let authority = authority(&arguments.authorization, &client)?;
    let key = arguments.runtime_key_file.as_deref().map(private_key).transpose()?;
    let mut router = Router::new(client.clone(), settings(arguments), authority, key);
    listen(&mut router, arguments, tls).await?;
    listen_for_tunnels(&mut router, arguments, client).await?;
    let (handle, last) = (router.handle(), CancellationToken::new());
    let mut around = JoinSet::new();
    for bind in [&arguments.health_probe_bind_address, &arguments.metrics_bind_address] {
        if let Some(listener) = bind.listen().await? {
            around.spawn(serve_probes(listener, handle.clone(), last.clone()));
        }
    }
    let stop = CancellationToken::new();
    let running = tokio::spawn(router.run(stop.clone()));
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    stop.cancel();
    running.await.context("the router ended badly")?;
    last.cancel();
    around.join_all().await;
    Ok(())
}

async fn listen(router: &mut Router, arguments: &Arguments, tls: Option<Tls>) -> Result<()> {
    let mut has_door = false;
    if let Some(listener) = arguments.http_bind_address.listen().await? {
        router.listen(listener, Caller::Stranger, None)?;
        has_door = true;
    }
    if let Some(listener) = arguments.https_bind_address.listen().await? {
        ensure!(tls.is_some(), "--https-bind-address needs --tls-cert-file and --tls-key-file");
        router.listen(listener, Caller::Stranger, tls)?;
        has_door = true;
    }
    ensure!(has_door, "nobody could come in: set --http-bind-address or --https-bind-address");
    Ok(())
}

/// On the loopback alone: what comes in elsewhere was forwarded by nobody.
async fn listen_for_tunnels(router: &mut Router, arguments: &Arguments, client: Client) -> Result<()> {
    let Some(listener) = arguments.tunnel_bind_address.listen().await? else { return Ok(()) };
    let address = listener.local_addr().context("cannot tell where tunnels come in")?;
    ensure!(address.ip().is_loopback(), "--tunnel-bind-address must be on the loopback, not {address}");
    let pod = arguments.pod_namespace.as_deref().zip(arguments.pod_name.as_deref());
    let (namespace, name) = pod.context("--tunnel-bind-address needs --pod-name and --pod-namespace")?;
    tracing::warn!(
        "whoever may forward ports of the Pod {namespace}/{name} reaches every Sandbox: --tunnel-bind-address"
    );
    router.listen_for_tunnels(listener, Tunnel::new(client, namespace, name));
    Ok(())
}

fn settings(arguments: &Arguments) -> Settings {
    Settings {
        namespace: arguments.cache_namespace.clone().filter(|namespace| !namespace.is_empty()),
        domain: arguments.preview_domain.clone(),
        patience: arguments.proxy_timeout,
        redials: arguments.upstream_max_retries,
        redial_after: arguments.upstream_retry_initial_delay,
        most_body: Some(arguments.max_request_body_bytes).filter(|most| *most > 0),
        requests_per_client: arguments.max_requests_per_client,
        goodbye: arguments.shutdown_timeout,
        access_log: arguments.access_log,
        ..Settings::default()
    }
}

fn authority(given: &Authorization, client: &Client) -> Result<Authority> {
    let secret = given.scoped_token_secret_file.as_deref().map(secret).transpose()?;
    let public = given.public_key_file.as_deref().map(public_keys).transpose()?;
    let keys = Keys { secrets: secret.into_iter().collect(), public: public.unwrap_or_default() };
    let audiences = given.tokenreview_audiences.clone();
    let authority = match given.mode {
        Mode::AllowAll => {
            tracing::warn!("everybody who reaches the router reaches every Sandbox: --authz-mode=allow-all");
            Authority::everyone()
        }
        Mode::ScopedToken => Authority::default().with_keys(keys),
        Mode::Tokenreview => Authority::default().with_reviews(client.clone(), audiences),
        Mode::Both => Authority::default().with_keys(keys).with_reviews(client.clone(), audiences),
    };
    ensure!(
        authority.lets_somebody_in(),
        "nobody could come in: --authz-mode=scoped-token needs --authz-scoped-token-secret-file or --authz-public-key-file"
    );
    Ok(authority)
}

fn secret(path: &Path) -> Result<Secret> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Secret::read(&bytes).with_context(|| format!("{} cannot be used", path.display()))
}

/// The keys of a file, one a line; at least one.
pub(crate) fn public_keys(path: &Path) -> Result<Vec<PublicKey>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let keys: Vec<PublicKey> = lines
        .map(|line| PublicKey::read(line).with_context(|| format!("{} cannot be used", path.display())))
        .collect::<Result<_>>()?;
    ensure!(!keys.is_empty(), "there is no key in {}", path.display());
    Ok(keys)
}

fn private_key(path: &Path) -> Result<PrivateKey> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    PrivateKey::read(&text).with_context(|| format!("{} cannot be used", path.display()))
}
