//! What the API server says about the network: policies, namespaces, Services and their endpoints.
//!
//! Caches lag behind. That does not matter to Services; but a policy that was written before a Pod must hold for it, and
//! must not be forgotten again by whoever looks at the cache next. So policies and namespaces are always asked for; their
//! caches tell when to ask.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use asb_core::network::policy::Policy;
use asb_core::network::selector::Labels;
use asb_core::network::services::{Frontend, all_frontends};
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::{ListParams, Resource};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::Error;
use super::followed::Followed;
use crate::cache::Cache;

/// How long the API server may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What several tasks look at.
#[derive(Clone)]
pub(super) struct Caches {
    pub(super) pods: Cache<Pod>,
    pub(super) services: Cache<Service>,
    pub(super) slices: Cache<EndpointSlice>,
}

impl Caches {
    pub(super) fn of(client: &kube::Client, pods: Cache<Pod>) -> Self {
        Self { pods, services: Cache::all_of(client), slices: Cache::all_of(client) }
    }
}

pub(super) struct Objects {
    client: kube::Client,
    pub(super) pods: Followed<Pod>,
    policies: Followed<NetworkPolicy>,
    namespaces: Followed<Namespace>,
    services: Followed<Service>,
    slices: Followed<EndpointSlice>,
    pub(super) seen: Seen,
}

/// What was there at the last look.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) policies: Vec<Policy>,
    pub(super) namespaces: BTreeMap<String, Labels>,
    pub(super) services: Vec<Arc<Service>>,
    pub(super) slices: Vec<Arc<EndpointSlice>>,
    pub(super) frontends: Vec<Frontend>,
}

/// What a look showed to be different.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Differences {
    pub(super) rules: bool,
    pub(super) names: bool,
}

/// Whether policies must be those of this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policies {
    OfThisMoment,
    AsTold,
}

impl Objects {
    /// Returns when everything that there is has been read.
    pub(super) async fn follow(client: &kube::Client, caches: Caches) -> Result<Self, Error> {
        let objects = Self {
            pods: Followed::new(caches.pods),
            services: Followed::new(caches.services),
            slices: Followed::new(caches.slices),
            policies: Followed::new(Cache::all_of(client)),
            namespaces: Followed::new(Cache::all_of(client)),
            client: client.clone(),
            seen: Seen::default(),
        };
        let ready = async {
            objects.pods.cache.ready().await;
            objects.services.cache.ready().await;
            objects.slices.cache.ready().await;
        };
        timeout(PATIENCE, ready).await.map_err(|_| Error::Silence("Services"))?;
        Ok(objects)
    }

    /// Returns when there is something new.
    pub(super) async fn changed(&mut self) {
        tokio::select! {
            () = self.pods.changed() => {}
            () = self.policies.changed() => {}
            () = self.namespaces.changed() => {}
            () = self.services.changed() => {}
            () = self.slices.changed() => {}
        }
    }

    /// Looks at what is new. After an error, it still is.
    pub(super) async fn look(&mut self, policies: Policies) -> Result<Differences, Error> {
        let services = self.look_at_services();
        let policies = self.look_at_policies(policies).await?;
        Ok(Differences { rules: policies || services.rules, names: services.names })
    }

    fn look_at_services(&mut self) -> Differences {
        let (services, slices) = (self.services.look(), self.slices.look());
        if !services && !slices {
            return Differences::default();
        }
        self.seen.services = self.services.cache.all();
        self.seen.slices = self.slices.cache.all();
        let mut frontends = all_frontends(&self.seen.services, &self.seen.slices);
        frontends.sort_by_key(|frontend| (frontend.address, frontend.protocol, frontend.port));
        let is_other = frontends != self.seen.frontends;
        self.seen.frontends = frontends;
        Differences { rules: is_other, names: true }
    }

    async fn look_at_policies(&mut self, wanted: Policies) -> Result<bool, Error> {
        // Both have to be looked at.
        let is_told = self.policies.look() | self.namespaces.look();
        if !is_told && wanted == Policies::AsTold {
            return Ok(false);
        }
        let read = self.read_policies().await;
        let (policies, namespaces) = read.inspect_err(|_| {
            self.policies.look_again();
            self.namespaces.look_again();
        })?;
        let is_other = policies != self.seen.policies || namespaces != self.seen.namespaces;
        (self.seen.policies, self.seen.namespaces) = (policies, namespaces);
        Ok(is_other)
    }

    async fn read_policies(&self) -> Result<(Vec<Policy>, BTreeMap<String, Labels>), Error> {
        let policies = list::<NetworkPolicy>(&self.client, "policies");
        let namespaces = list::<Namespace>(&self.client, "namespaces");
        let (policies, namespaces) = tokio::try_join!(policies, namespaces)?;
        let labels = namespaces.into_iter().filter_map(|namespace| {
            Some((namespace.metadata.name?, namespace.metadata.labels.unwrap_or_default()))
        });
        Ok((policies.iter().map(Policy::read).collect(), labels.collect()))
    }
}

async fn list<K>(client: &kube::Client, what: &'static str) -> Result<Vec<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api = Api::<K>::all(client.clone());
    let listed = timeout(PATIENCE, api.list(&ListParams::default())).await;
    let listed = listed.map_err(|_| Error::Silence(what))?;
    Ok(listed.map_err(|error| Error::Read(what, Arc::new(error)))?.items)
}
