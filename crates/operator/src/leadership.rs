//! Leads, or waits to: holds the Lease that says which of several operators acts. What to do about the Lease is decided in
//! [`asb_core::lease`].

use std::time::Duration;

use asb_core::lease::{Observed, Step, Terms, released, step};
use http::Request as HttpRequest;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{GetParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};
use tokio::time::Instant;

pub use asb_types::rights::LEASE;

/// Which Lease, and who we are.
#[derive(Clone, Debug)]
pub struct Candidacy {
    pub namespace: String,
    pub name: String,
    /// Unique to this process.
    pub identity: String,
    pub terms: Terms,
}

pub(crate) struct Leadership {
    client: Client,
    candidacy: Candidacy,
    observed: Option<Observed>,
    /// Time is measured from here: a clock that somebody sets must not make or unmake a leader.
    epoch: (Timestamp, Instant),
}

impl Leadership {
    pub(crate) fn new(client: Client, candidacy: Candidacy, now: Timestamp) -> Self {
        Self { client, candidacy, observed: None, epoch: (now, Instant::now()) }
    }

    /// Waits until we lead.
    pub(crate) async fn acquire(&mut self) {
        while !self.attempt().await.unwrap_or_else(|error| self.report(&error)) {
            tokio::time::sleep(unsigned(self.candidacy.terms.retry)).await;
        }
        tracing::info!(lease = %self.candidacy.name, identity = %self.candidacy.identity, "leading");
    }

    /// Renews for as long as that works. When this returns, we no longer lead.
    pub(crate) async fn keep(&mut self) {
        let terms = self.candidacy.terms;
        let mut renewed = Instant::now();
        while renewed.elapsed() < unsigned(terms.renew_deadline) {
            let rest = unsigned(terms.renew_deadline).saturating_sub(renewed.elapsed());
            tokio::time::sleep(unsigned(terms.retry).min(rest)).await;
            match tokio::time::timeout(unsigned(terms.renew_deadline), self.attempt()).await {
                Ok(Ok(true)) => renewed = Instant::now(),
                Ok(Ok(false)) => break,
                Ok(Err(error)) => drop(self.report(&error)),
                Err(_) => {}
            }
        }
        tracing::warn!(lease = %self.candidacy.name, "no longer leading");
    }

    /// Lets the next one lead without waiting. A failure costs it only time.
    pub(crate) async fn release(&mut self) {
        let Some(Observed { object, .. }) = &self.observed else { return };
        if object["spec"]["holderIdentity"] != json!(self.candidacy.identity) {
            return;
        }
        let lease = released(object, self.now());
        if let Err(error) = self.replace(&lease).await {
            tracing::warn!(%error, "could not release the lease; the next leader waits until it runs out");
        }
    }

    /// Whether we lead now.
    async fn attempt(&mut self) -> Result<bool, Error> {
        if !self.holds() {
            self.read().await?;
        }
        let now = self.now();
        let outcome = match step(self.observed.as_ref(), &self.candidacy.identity, &self.candidacy.terms, now)
        {
            Step::Wait => return Ok(false),
            Step::Create(spec) => self.create(spec).await,
            Step::Replace(lease) => self.replace(&lease).await,
        };
        match outcome {
            Ok(object) => {
                self.observed = Some(Observed { object, since: now });
                Ok(true)
            }
            // Somebody was faster. What they made of it is read at the next attempt.
            Err(Error::Client(kube::Error::Api(status))) if status.code == 409 => {
                self.read().await?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn holds(&self) -> bool {
        let holder = self.observed.as_ref().map(|observed| &observed.object["spec"]["holderIdentity"]);
        holder.is_some_and(|holder| *holder == json!(self.candidacy.identity))
    }

    async fn read(&mut self) -> Result<(), Error> {
        let request = self.leases().get(&self.candidacy.name, &GetParams::default())?;
        let now = self.now();
        self.observed = match self.send(request).await {
            Ok(object) => Some(match self.observed.take() {
                Some(observed) => observed.refreshed(object, now),
                None => Observed { object, since: now },
            }),
            Err(Error::Client(kube::Error::Api(status))) if status.code == 404 => None,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    async fn create(&self, spec: Value) -> Result<Value, Error> {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.candidacy.name, "namespace": self.candidacy.namespace},
            "spec": spec,
        });
        let request = self.leases().create(&PostParams::default(), lease.to_string().into_bytes())?;
        self.send(request).await
    }

    async fn replace(&self, lease: &Value) -> Result<Value, Error> {
        let body = lease.to_string().into_bytes();
        self.send(self.leases().replace(&self.candidacy.name, &PostParams::default(), body)?).await
    }

    async fn send(&self, request: HttpRequest<Vec<u8>>) -> Result<Value, Error> {
        Ok(self.client.request(request).await?)
    }

    fn leases(&self) -> Request {
        Request::new(format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.candidacy.namespace))
    }

    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.epoch.1.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.0.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    fn report(&self, error: &Error) -> bool {
        tracing::warn!(lease = %self.candidacy.name, %error, "cannot reach the lease");
        false
    }
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot build a request: {0}")]
    Request(#[from] kube::core::request::Error),
    #[error("{0}")]
    Client(#[from] kube::Error),
}

fn unsigned(duration: SignedDuration) -> Duration {
    duration.try_into().unwrap_or_default()
}
