//! What the API server forwards to the router's Pod (`kubectl port-forward`): it arrives at the Pod's loopback and says nothing of
//! who sent it. Whoever got that far may forward ports of the Pod, and that is what it counts for.

use std::net::IpAddr;
use std::time::Duration;

use asb_core::route::tunnel::is_private;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};

use crate::authorization::Caller;

/// Tunnels are opened by people; an API server that forwards them can answer as well.
const PATIENCE: Duration = Duration::from_secs(5);

/// The Pod that the router is.
pub struct Tunnel {
    pods: Api<Pod>,
    name: String,
}

impl Tunnel {
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self { pods: Api::namespaced(client, namespace), name: name.to_owned() }
    }

    /// Who is behind a connection from this address. Asked anew for each, after it was made: a container that somebody adds to
    /// the Pod is known to the API server before it can connect. Whoever is in doubt is a stranger, and needs a token.
    pub(crate) async fn caller(&self, from: IpAddr) -> Caller {
        match self.vouch(from).await {
            Ok(()) => Caller::Trusted,
            Err(reason) => {
                tracing::warn!(reason, "a forwarded connection counts as a stranger's");
                Caller::Stranger
            }
        }
    }

    async fn vouch(&self, from: IpAddr) -> Result<(), String> {
        if !from.is_loopback() {
            return Err(format!("it comes from {from}"));
        }
        let asked = tokio::time::timeout(PATIENCE, self.pods.get(&self.name)).await;
        let pod = asked.map_err(|_| "the API server does not answer".to_owned())?;
        let pod = pod.map_err(|error| format!("the router's Pod cannot be read: {error}"))?;
        is_private(&pod).map_err(|doubt| doubt.to_string())
    }
}
