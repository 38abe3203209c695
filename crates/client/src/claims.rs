//! Claims: ask a pool for a Sandbox, and give it back.

use std::time::Duration;

use asb_types::deadline::Deadline;
use asb_types::env::ClaimEnvVar;
use asb_types::lifecycle::{ClaimLifecycle, ClaimShutdownPolicy};
use asb_types::v1beta1::{Sandbox, SandboxClaim, SandboxClaimSpec, WarmPoolRef};
use futures::StreamExt;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::PostParams;

use crate::client::Client;
use crate::error::Error;
use crate::objects;
use crate::progress::Outlook;
use crate::request::named;
use crate::sandboxes::Deletion;

/// What generated names begin with.
const PREFIX: &str = "claim-";

/// A claim to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewClaim {
    /// Without one, the server makes one up.
    pub name: Option<String>,
    /// The pool to take from.
    pub pool: String,
    pub env: Vec<(String, String)>,
    /// After how long it ends, and its Sandbox with it.
    pub lifetime: Option<Duration>,
}

impl NewClaim {
    /// A claim on a template itself: a Sandbox is made of it, and no pool is needed.
    pub fn of_template(template: &str) -> Self {
        Self { pool: asb_types::names::shadow_pool(template), ..Self::default() }
    }

    /// The object to create.
    pub fn claim(&self, now: Timestamp) -> SandboxClaim {
        let env = self.env.iter().map(|(name, value)| ClaimEnvVar {
            name: name.clone(),
            value: value.clone(),
            ..ClaimEnvVar::default()
        });
        let spec = SandboxClaimSpec {
            warm_pool_ref: WarmPoolRef { name: self.pool.clone() },
            lifecycle: self.lifetime.map(|lifetime| ending(now, lifetime)),
            env: env.collect(),
            ..SandboxClaimSpec::default()
        };
        SandboxClaim { metadata: named(self.name.clone(), PREFIX), spec, status: None }
    }
}

fn ending(now: Timestamp, lifetime: Duration) -> ClaimLifecycle {
    let at = now.saturating_add(lifetime).unwrap_or(Timestamp::MAX);
    ClaimLifecycle {
        shutdown_time: Some(Deadline::from(at)),
        shutdown_policy: ClaimShutdownPolicy::Delete,
        ..ClaimLifecycle::default()
    }
}

impl Client {
    /// The claims of one namespace, or of all.
    pub async fn claims(&self, namespace: Option<&str>) -> Result<Vec<SandboxClaim>, Error> {
        self.list(namespace, "list claims").await
    }

    /// The claim of that name.
    pub async fn claim(&self, namespace: &str, name: &str) -> Result<SandboxClaim, Error> {
        self.get(namespace, name, "claim").await
    }

    /// Asks for a Sandbox, in the client's namespace.
    ///
    /// ```no_run
    /// # async fn example(client: asb_client::Client) -> Result<(), asb_client::Error> {
    /// use asb_client::NewClaim;
    ///
    /// let claim = client.create_claim(&NewClaim { pool: "python".to_owned(), ..NewClaim::default() }).await?;
    /// let sandbox = client.wait_until_claimed(&claim, |_| {}).await?;
    /// client.release(&claim, Default::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create_claim(&self, wanted: &NewClaim) -> Result<SandboxClaim, Error> {
        let claims = self.api::<SandboxClaim>(self.namespace());
        let created = claims.create(&PostParams::default(), &wanted.claim(Timestamp::now())).await;
        created.map_err(|source| Error::api("create the claim", source))
    }

    /// Waits until a claim has a Sandbox that is Ready.
    pub async fn wait_until_claimed(
        &self,
        claim: &SandboxClaim,
        mut tell: impl FnMut(&Outlook),
    ) -> Result<Sandbox, Error> {
        let mut steps = self.claim_steps(claim);
        while let Some(step) = steps.next().await {
            let (claim, outlook) = step?;
            tell(&outlook);
            match outlook {
                Outlook::Ready => {
                    let sandbox = claim.status.map(|status| status.sandbox.name).unwrap_or_default();
                    let namespace = claim.metadata.namespace.unwrap_or_default();
                    return self.sandbox(&namespace, &sandbox).await;
                }
                Outlook::Stuck(obstacle) => return Err(Error::Stuck { obstacle }),
                Outlook::Ended => return Err(Error::Ended { name: claim.name_any() }),
                Outlook::Underway { .. } | Outlook::Suspended => {}
            }
        }
        Err(Error::Gone { what: "claim", name: claim.name_any() })
    }

    /// Gives a Sandbox back: the claim is deleted, and its Sandbox after it.
    pub async fn release(&self, claim: &SandboxClaim, how: Deletion) -> Result<(), Error> {
        let namespace = claim.namespace().unwrap_or_default();
        let sandbox = claim.status.as_ref().map(|status| status.sandbox.name.clone()).unwrap_or_default();
        let claims = self.api::<SandboxClaim>(&namespace);
        let sandbox = if sandbox.is_empty() { None } else { self.sandbox(&namespace, &sandbox).await.ok() };
        objects::delete(&claims, claim, "delete the claim").await?;
        if let Some(sandbox) = &sandbox {
            // It goes with its claim; this only hastens it, and knows how to.
            self.delete_sandbox(sandbox, how).await?;
        }
        if how.without_waiting { Ok(()) } else { objects::wait_until_gone(&claims, claim).await }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_names_its_pool_and_its_end() {
        let wanted = NewClaim {
            name: Some("mine".to_owned()),
            pool: "python".to_owned(),
            env: vec![("A".to_owned(), "b".to_owned())],
            lifetime: Some(Duration::from_hours(1)),
        };
        insta::assert_yaml_snapshot!(wanted.claim(Timestamp::UNIX_EPOCH));
    }

    #[test]
    fn a_claim_on_a_template_needs_no_pool() {
        assert_eq!(NewClaim::of_template("python").pool, "shadow-pool-python");
    }
}
