//! `asb operator`: looks after Sandboxes, claims, templates and pools on a Kubernetes.

mod arguments;
mod connection;
mod duties;
mod foreign;
mod go;
mod runtime;
mod settings;
mod surroundings;
mod traces;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use asb_operator::webhook::Webhook;
use asb_operator::{Candidacy, LEASE, Operator, Settings, serve_health, serve_metrics};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub(crate) use arguments::Arguments;
pub(crate) use connection::{Connection, connect};
use duties::{Duties, Leading};
pub(crate) use go::{Bind, in_go_syntax, normalised};
use traces::Traces;

use crate::memory;
use crate::output;

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    if arguments.version {
        return output::print(&format!("asb {}\n", env!("CARGO_PKG_VERSION")));
    }
    arguments.foreign.refuse()?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    let served = runtime.block_on(operate(arguments));
    // What is still at it has been asked to end and given its time.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

async fn operate(arguments: Arguments) -> Result<()> {
    let traces = arguments.tracing.open()?;
    arguments.logging.begin(traces.as_ref().map(Traces::listener))?;
    let mut duties = Duties::try_from(arguments)?;
    duties.settings.spans = traces.as_ref().map(Traces::counts);
    for warning in &duties.warnings {
        tracing::warn!("{warning}");
    }
    let served = serve(duties).await;
    if let Some(traces) = traces {
        traces.close().await;
    }
    served
}

async fn serve(duties: Duties) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    let (client, api_server) = connect(&duties.connection).await?;
    if surroundings::own_namespace().is_none() {
        for namespace in duties.namespaces() {
            surroundings::prepare(&client, &namespace).await;
        }
    }
    let candidacy = duties.leading.as_ref().map(candidacy);
    // Everything that can be refused is, before anything is begun.
    let (health, metrics) = (duties.health.listen().await?, duties.metrics.listen().await?);
    let webhook = match duties.webhook {
        None => None,
        Some(webhook) => {
            let listener = webhook.bind.listen().await?.context("the webhook needs a port")?;
            Some(Webhook::open(&client, listener, &webhook.host, webhook.certificates)?)
        }
    };
    let mut settings = Settings { api_server, ..duties.settings };
    if let Some(source) = settings.runtime.take() {
        let source = Arc::unwrap_or_clone(source);
        let source = runtime::complete(&client, source, duties.key_secret.as_deref()).await?;
        settings.runtime = Some(Arc::new(source));
    }
    let operator = Operator::new(client, settings, candidacy);
    let (stop, last) = (CancellationToken::new(), CancellationToken::new());
    let mut around = JoinSet::new();
    if let Some(listener) = health {
        let is_serving = webhook.as_ref().map(Webhook::is_serving);
        around.spawn(serve_health(listener, operator.observer(), is_serving, last.clone()));
    }
    if let Some(listener) = metrics {
        around.spawn(serve_metrics(listener, Arc::clone(&operator.metrics()), last.clone()));
    }
    if let Some(webhook) = webhook {
        around.spawn(webhook.run(last.clone()));
    }
    let working = tokio::spawn(operator.run(stop.clone()));
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = memory::keep_small() => {}
    }
    // What the operator still writes may need to be converted.
    stop.cancel();
    working.await.context("the operator ended badly")?;
    last.cancel();
    around.join_all().await;
    Ok(())
}

fn candidacy(leading: &Leading) -> Candidacy {
    Candidacy {
        namespace: leading.namespace.clone(),
        name: LEASE.to_owned(),
        identity: surroundings::identity(),
        terms: asb_operator::Terms::default(),
    }
}
