//! Leads, or waits to: holds the Lease that says which of several operators acts. What to do about the Lease is decided in
//! [`asb_core::lease`].

use std::sync::Arc;
use std::time::Duration;

use asb_core::lease::{Observed, Step, Terms, released, step};
use http::Request as HttpRequest;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{GetParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::tenure::Tenure;

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
    tenure: Arc<Tenure>,
    /// When the request was sent that the server last answered with yes. Others count from when they see what it wrote,
    /// which is later.
    renewed: Instant,
    /// Time is measured from here: a clock that somebody sets must not make or unmake a leader.
    epoch: (Timestamp, Instant),
}

impl Leadership {
    pub(crate) fn new(client: Client, candidacy: Candidacy, tenure: Arc<Tenure>, now: Timestamp) -> Self {
        let started = Instant::now();
        Self { client, candidacy, observed: None, tenure, renewed: started, epoch: (now, started) }
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
        let retry = unsigned(self.candidacy.terms.retry);
        while !self.rest().is_zero() {
            tokio::time::sleep(retry.min(self.rest())).await;
            match tokio::time::timeout(self.rest(), self.attempt()).await {
                // Somebody touched the Lease, or our last renewal was done though we did not hear of it.
                Ok(Ok(is_ours)) if is_ours || self.holds() => {}
                Ok(Ok(_)) => break,
                Ok(Err(error)) => drop(self.report(&error)),
                Err(_) => {}
            }
        }
        tracing::warn!(lease = %self.candidacy.name, "no longer leading");
    }

    /// For how long we still lead without another renewal.
    fn rest(&self) -> Duration {
        unsigned(self.candidacy.terms.renew_deadline).saturating_sub(self.renewed.elapsed())
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
        let (now, sent) = (self.now(), Instant::now());
        let outcome = match step(self.observed.as_ref(), &self.candidacy.identity, &self.candidacy.terms, now)
        {
            Step::Wait => return Ok(false),
            Step::Create(spec) => self.create(spec).await,
            Step::Replace(lease) => self.replace(&lease).await,
        };
        match outcome {
            Ok(object) => {
                self.observed = Some(Observed { object, since: now });
                self.renewed = sent;
                self.tenure.lasts_until(sent + unsigned(self.candidacy.terms.renew_deadline));
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
        let found = self.send(request).await;
        // Whoever holds it may have renewed it at any time until the answer came.
        let now = self.now();
        self.observed = match found {
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Method, Response};
    use kube::client::Body;
    use tower::service_fn;

    use super::*;

    /// The server takes its time, by a clock that goes as fast as it can.
    async fn answer_after(seconds: u64) {
        let _ = tokio::time::timeout(Duration::from_secs(seconds), std::future::pending::<()>()).await;
    }

    fn candidacy() -> Candidacy {
        let (namespace, name, identity) = ("n".to_owned(), LEASE.to_owned(), "me".to_owned());
        Candidacy { namespace, name, identity, terms: Terms::default() }
    }

    /// Leads from the beginning; every later renewal is answered as told, after so many seconds.
    async fn leader(renewals: &'static [(u16, u64)]) -> Leadership {
        let count = Arc::new(AtomicUsize::new(0));
        let service = service_fn(move |request: HttpRequest<Body>| {
            let count = Arc::clone(&count);
            async move {
                let (code, seconds) = match *request.method() {
                    Method::GET => (404, 0),
                    Method::POST => (201, 0),
                    _ => renewals.get(count.fetch_add(1, Ordering::Relaxed)).copied().unwrap_or((503, 0)),
                };
                answer_after(seconds).await;
                let body = match code {
                    200 | 201 => {
                        json!({"metadata": {"resourceVersion": "1"}, "spec": {"holderIdentity": "me"}})
                    }
                    _ => {
                        json!({"kind": "Status", "status": "Failure", "code": code, "reason": "", "message": ""})
                    }
                };
                let body = Body::from(body.to_string().into_bytes());
                Ok::<_, std::io::Error>(Response::builder().status(code).body(body).expect("a plain answer"))
            }
        });
        let tenure = Arc::new(Tenure::default());
        let mut leadership =
            Leadership::new(Client::new(service, "n"), candidacy(), tenure, Timestamp::UNIX_EPOCH);
        leadership.acquire().await;
        leadership
    }

    async fn seconds_led(renewals: &'static [(u16, u64)]) -> u64 {
        let mut leadership = leader(renewals).await;
        let started = Instant::now();
        leadership.keep().await;
        assert!(leadership.tenure.is_over());
        started.elapsed().as_secs()
    }

    /// A Lease that somebody else renews all the time, and reads of which take long.
    async fn held_by_another(request: HttpRequest<Body>) -> Result<Response<Body>, std::io::Error> {
        if request.method() == Method::GET {
            answer_after(20).await;
        }
        let version = Instant::now().elapsed().as_nanos().to_string();
        let lease = json!({"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": "another",
            "renewTime": Timestamp::now().to_string(), "leaseDurationSeconds": 15}});
        Ok(Response::new(Body::from(lease.to_string().into_bytes())))
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_was_read_slowly_is_not_taken_for_one_that_ran_out() {
        let client = Client::new(service_fn(held_by_another), "n");
        let mut leadership = Leadership::new(client, candidacy(), Arc::default(), Timestamp::UNIX_EPOCH);
        tokio::time::timeout(Duration::from_secs(30), leadership.acquire()).await.unwrap_err();
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_that_hangs_at_the_last_moment_does_not_prolong_the_lead() {
        assert_eq!(seconds_led(&[(503, 0), (503, 0), (503, 0), (503, 1), (200, 60)]).await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lead_counts_from_when_the_renewal_was_sent_and_not_from_its_answer() {
        assert_eq!(seconds_led(&[(200, 7)]).await, 12);
    }
}
