//! Keeps the Secret with the webhook's certificates: makes it, renews what is in it, and hands on what is to be served.
//! Several operators do this at once; whoever writes first is followed by the others.

use std::sync::Arc;
use std::time::Duration;

use asb_core::rotation::Step;
use asb_types::rights::WEBHOOK_SECRET as SECRET;
use jiff::Timestamp;
use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Host;
use super::contents::Contents;
use super::followed::{Place, Seen};
use super::identity::{Broken, Identity};
use super::issue::issue;

/// How often to see whether something is due.
const ROUND: Duration = Duration::from_hours(1);
const PAUSE: Duration = Duration::from_secs(2);

pub(super) struct Keeper {
    pub(super) client: Client,
    pub(super) host: Host,
    pub(super) served: watch::Sender<Option<Arc<Identity>>>,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot build a request")]
    Request(#[from] kube::core::request::Error),
    #[error("cannot make a certificate")]
    Issue(#[from] rcgen::Error),
    #[error("the Secret holds what cannot be served")]
    Broken(#[from] Broken),
    #[error("{0}")]
    Client(#[from] kube::Error),
}

/// Where the Secret is.
pub(super) fn place(host: &Host) -> Place {
    Place { path: format!("/api/v1/namespaces/{}/secrets", host.namespace), name: SECRET.to_owned() }
}

impl Keeper {
    pub(super) async fn keep(self, mut seen: watch::Receiver<Seen>) {
        loop {
            let secret = seen.borrow_and_update().clone();
            let wait = match self.settle(&secret).await {
                Ok(()) => ROUND,
                Err(Error::Client(kube::Error::Api(status))) if status.code == 409 => PAUSE,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        secret = SECRET,
                        "cannot keep the webhook's certificates, trying again"
                    );
                    PAUSE
                }
            };
            // The follower lives as long as we do, so that waiting for a change cannot fail.
            let _ = tokio::time::timeout(wait, seen.changed()).await;
        }
    }

    /// Takes the steps that are due, and serves what comes of them.
    async fn settle(&self, secret: &Seen) -> Result<(), Error> {
        let (mut contents, version) = match secret {
            Seen::NotYet => return Ok(()),
            Seen::Absent => (Contents::default(), None),
            Seen::There(secret) => {
                (Contents::read(secret), Some(secret["metadata"]["resourceVersion"].clone()))
            }
        };
        let now = Timestamp::now();
        let step = contents.step(&self.host.server_name(), now);
        if step != Step::Keep {
            contents = contents.after(step, now, || issue(&self.host.names(), now))?;
            self.write(&contents, version).await?;
            tracing::info!(?step, secret = SECRET, "the webhook's certificates changed");
        }
        self.serve(contents.identity()?);
        Ok(())
    }

    async fn write(&self, contents: &Contents, version: Option<Value>) -> Result<(), Error> {
        let secrets = Request::new(place(&self.host).path);
        let request = match version {
            None => secrets.create(&PostParams::default(), secret(contents).to_string().into_bytes())?,
            Some(version) => {
                let change = json!({"metadata": {"resourceVersion": version}, "data": contents.data()});
                secrets.patch(SECRET, &PatchParams::default(), &Patch::Merge(change))?
            }
        };
        self.client.request::<Value>(request).await?;
        Ok(())
    }

    fn serve(&self, identity: Identity) {
        self.served.send_if_modified(|served| {
            let is_same = served.as_ref().is_some_and(|served| {
                served.key.cert == identity.key.cert && served.bundle == identity.bundle
            });
            if !is_same {
                *served = Some(Arc::new(identity));
            }
            !is_same
        });
    }
}

fn secret(contents: &Contents) -> Value {
    let mut data = contents.data();
    if let Some(data) = data.as_object_mut() {
        data.retain(|_, value| !value.is_null());
    }
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "type": "Opaque", "data": data})
}
