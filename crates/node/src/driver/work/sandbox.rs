//! The Pod's sandbox: its own files, its shim with the namespaces, and its connection.

use std::net::Ipv4Addr;

use tokio::sync::mpsc::UnboundedSender;

use super::{Work, blocking, full};
use crate::blueprint::{self, Names};
use crate::driver::lookups;
use crate::driver::outcome::Outcome;
use crate::shim::cleanup;
use crate::shim::client::Client;
use crate::shim::protocol::Request;
use crate::volumes::pod_files::{self, Texts};

/// Makes a new one. Of one that could not be made nothing is left.
pub(in crate::driver) async fn create(work: &Work) -> Result<Option<Ipv4Addr>, String> {
    let mut work = work.clone();
    let made = attempt(&mut work).await;
    if made.is_err()
        && let Err(error) = remove(&work).await
    {
        tracing::warn!(pod = work.uid, error, "what is left of a sandbox stays until the next one is made");
    }
    made
}

async fn attempt(work: &mut Work) -> Result<Option<Ipv4Addr>, String> {
    end(work).await?;
    if !work.is_on_host() {
        let address = work.tools.connectivity.reserve(&work.uid.as_str().into(), None);
        work.address = Some(address.map_err(|error| full(&error))?);
    }
    let found = lookups::find(work).await?;
    let plan = blueprint::sandbox(&found.resolved(work)?).map_err(|error| full(&error))?;
    write_files(work, &found.addresses).await?;
    let mut shim = Client::spawn(&work.tools.shim, &work.directory()).await.map_err(|error| full(&error))?;
    let namespace = shim.create_sandbox(plan).await.map_err(|error| full(&error))?;
    if let Some((address, namespace)) = work.address.zip(namespace) {
        let admitted = work.tools.connectivity.admit(&work.pod, address, namespace).await;
        admitted.map_err(|error| format!("failed to setup network: {}", full(&error)))?;
    }
    Ok(work.address)
}

async fn write_files(work: &Work, addresses: &[String]) -> Result<(), String> {
    let Some(spec) = work.pod.spec.as_ref() else { return Ok(()) };
    let names = Names::of(&work.pod, &work.tools.node.domain).map_err(|error| full(&error))?;
    let own = if work.is_on_host() { std::fs::read_to_string("/etc/hosts").ok() } else { None };
    let aliases = spec.host_aliases.as_deref().unwrap_or_default();
    let hosts = blueprint::hosts_file(&names, addresses, aliases, own.as_deref());
    let resolver = blueprint::resolver_file(spec, work.namespace(), &work.tools.node);
    let hostname = format!("{}\n", names.hostname);
    let folder = work.tools.layout().files(&work.uid).map_err(|error| full(&error))?;
    blocking(move || {
        pod_files::write(&folder, &Texts { hosts: &hosts, hostname: &hostname, resolver: &resolver })
    })
    .await
    .map(drop)
}

/// Takes away what there is of it; the files of containers and volumes stay.
pub(in crate::driver) async fn remove(work: &Work) -> Result<(), String> {
    if let Ok(mut shim) = Client::connect(&work.directory()).await {
        // It ends sooner when it is asked; what it leaves is ended from outside.
        let _ = shim.done(Request::Shutdown).await;
    }
    end(work).await?;
    if work.is_on_host() {
        return Ok(());
    }
    work.tools.connectivity.dismiss(&work.uid.as_str().into()).await.map_err(|error| full(&error))
}

async fn end(work: &Work) -> Result<(), String> {
    let directory = work.directory();
    blocking(move || cleanup::end(&directory)).await
}

/// Tells what becomes of the containers, until the shim is gone.
pub(in crate::driver) async fn follow(work: &Work, sandbox: u32, outcomes: &UnboundedSender<Outcome>) {
    let mut revision = None;
    let mut shim = Client::connect(&work.directory()).await;
    while let Ok(connected) = &mut shim {
        match connected.state(revision).await {
            Ok(state) => {
                revision = Some(state.revision);
                if outcomes.send(Outcome::Shim(state)).is_err() {
                    return;
                }
            }
            Err(error) => shim = Err(error),
        }
    }
    // Whoever asked is gone as well then.
    let _ = outcomes.send(Outcome::ShimLost { sandbox });
}
