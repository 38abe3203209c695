//! An operator outside the cluster: the Service of the webhook is a name for where it really is.
//!
//! Definitions could name a URL instead. But then nobody could apply them again: the applied one names the Service, the
//! stored one the URL, and the API server refuses to have both.

use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::followed::{Error, Place, Seen};
use super::{External, Host};

const PAUSE: Duration = Duration::from_secs(2);

/// Where the Service is.
pub(super) fn place(host: &Host) -> Place {
    Place { path: format!("/api/v1/namespaces/{}/services", host.namespace), name: host.service.clone() }
}

/// Keeps the Service right, for ever.
pub(super) async fn keep(client: Client, host: Host, external: External, mut seen: watch::Receiver<Seen>) {
    loop {
        let service = seen.borrow_and_update().clone();
        let is_settled = match settle(&client, &host, &external, &service).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(service = host.service, %error, "cannot make the Service of the webhook, trying again");
                false
            }
        };
        tokio::select! {
            biased;
            _ = seen.changed() => {}
            () = tokio::time::sleep(PAUSE), if !is_settled => {}
        }
    }
}

async fn settle(client: &Client, host: &Host, external: &External, seen: &Seen) -> Result<(), Error> {
    let services = Request::new(place(host).path);
    let spec = json!({"type": "ExternalName", "externalName": external.host});
    let request = match seen {
        Seen::NotYet => return Ok(()),
        Seen::Absent => {
            let service = json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": host.service}, "spec": spec,
            });
            services.create(&PostParams::default(), service.to_string().into_bytes())?
        }
        Seen::There(service) if service["spec"]["type"] != "ExternalName" => {
            tracing::warn!(
                service = host.service,
                "the Service of the webhook leads into the cluster; delete it to have conversion done here"
            );
            return Ok(());
        }
        Seen::There(service) if service["spec"]["externalName"] == spec["externalName"] => return Ok(()),
        Seen::There(_) => {
            services.patch(&host.service, &PatchParams::default(), &Patch::Merge(json!({"spec": spec})))?
        }
    };
    match client.request::<Value>(request).await {
        // Somebody was faster; the watch tells.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        other => Ok(other.map(drop)?),
    }
}
