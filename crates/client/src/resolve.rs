//! Finds the Sandbox that somebody named. What a name means is decided in `address`.

use asb_types::v1beta1::{Sandbox, SandboxClaim};
use kube::ResourceExt;

use crate::address::{Address, KindHint, Match, choose};
use crate::client::Client;
use crate::error::Error;

/// What somebody named, as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub namespace: String,
    /// The claim, if its name was meant too.
    pub claim: Option<SandboxClaim>,
    /// Nothing only where a claim was named that has none yet.
    pub sandbox: Option<Sandbox>,
}

impl Client {
    /// The namespace of an address.
    pub fn namespace_of<'a>(&'a self, address: &'a Address) -> &'a str {
        address.namespace.as_deref().unwrap_or(self.namespace())
    }

    /// The Sandbox, or the claim, that an address names.
    ///
    /// ```no_run
    /// # async fn example(client: asb_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let found = client.find(&"team-a/box".parse()?).await?;
    /// assert!(found.sandbox.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn find(&self, address: &Address) -> Result<Found, Error> {
        let namespace = self.namespace_of(address).to_owned();
        let sandbox = self.sandbox_of_name(&namespace, address).await?;
        let claim = self.claim_of_name(&namespace, address).await?;
        let claimed = claim.as_ref().map(meaning);
        let chosen = choose(address, sandbox.is_some(), claimed)
            .map_err(|candidates| Error::Ambiguous { name: address.to_string(), candidates })?;
        match chosen {
            // A claim that is here at all has this very Sandbox, which was started for it.
            Some(Match::Sandbox(_)) => Ok(Found { namespace, claim, sandbox }),
            Some(Match::Claim { sandbox: None, .. }) => Ok(Found { namespace, claim, sandbox: None }),
            Some(Match::Claim { sandbox: Some(name), .. }) => {
                let sandbox = self.sandbox(&namespace, &name).await?;
                Ok(Found { namespace, claim, sandbox: Some(sandbox) })
            }
            None => Err(missing(address, namespace)),
        }
    }

    /// The Sandbox that an address names, by itself or through a claim.
    pub async fn find_sandbox(&self, address: &Address) -> Result<Sandbox, Error> {
        let found = self.find(address).await?;
        found.sandbox.ok_or_else(|| Error::Unclaimed { claim: address.name.clone() })
    }

    async fn sandbox_of_name(&self, namespace: &str, address: &Address) -> Result<Option<Sandbox>, Error> {
        if address.kind == Some(KindHint::Claim) {
            return Ok(None);
        }
        let found = self.api::<Sandbox>(namespace).get_opt(&address.name).await;
        found.map_err(|source| Error::api(format!("look for Sandbox {:?}", address.name), source))
    }

    /// A cluster may have no claims at all: the extensions are optional.
    async fn claim_of_name(&self, namespace: &str, address: &Address) -> Result<Option<SandboxClaim>, Error> {
        if address.kind == Some(KindHint::Sandbox) {
            return Ok(None);
        }
        let found = self.api::<SandboxClaim>(namespace).get_opt(&address.name).await;
        match found {
            Err(kube::Error::Api(status)) if status.code == 403 && address.kind.is_none() => Ok(None),
            found => found.map_err(|source| Error::api(format!("look for claim {:?}", address.name), source)),
        }
    }
}

fn meaning(claim: &SandboxClaim) -> Match {
    let sandbox = claim.status.as_ref().map(|status| status.sandbox.name.clone());
    Match::Claim { claim: claim.name_any(), sandbox: sandbox.filter(|name| !name.is_empty()) }
}

fn missing(address: &Address, namespace: String) -> Error {
    let what = match address.kind {
        None => "Sandbox or claim",
        Some(KindHint::Sandbox) => "Sandbox",
        Some(KindHint::Claim) => "claim",
    };
    Error::NotFound { what, name: address.name.clone(), namespace }
}

impl Found {
    /// Its name: the Sandbox's, or the claim's where there is none.
    pub fn name(&self) -> String {
        let sandbox = self.sandbox.as_ref().map(ResourceExt::name_any);
        sandbox.or_else(|| self.claim.as_ref().map(ResourceExt::name_any)).unwrap_or_default()
    }
}
