//! Sets a fake kubelet up and starts it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use tokio::sync::oneshot;

use super::addresses::Addresses;
use super::driver::{Driver, watch};
use super::node::Registration;
use super::plan::{Place, Scheduling};
use super::pods::Pods;
use super::rules::{Match, Rules};
use super::script::Script;
use super::{Error, FakeKubelet, Tally};

/// A fake kubelet to be. As it comes it registers a Node, binds the default scheduler's Pods of all namespaces and
/// makes them Ready at once.
#[must_use]
pub struct Builder {
    client: Client,
    node: Option<String>,
    namespace: Option<String>,
    labels: BTreeMap<String, String>,
    scheduling: Scheduling,
    registered: bool,
    host: IpAddr,
    ranges: Vec<String>,
    rules: Rules,
    concurrency: usize,
}

impl Builder {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            node: None,
            namespace: None,
            labels: BTreeMap::new(),
            scheduling: Scheduling::Own("default-scheduler".to_owned()),
            registered: true,
            host: Ipv4Addr::new(192, 0, 2, 1).into(),
            ranges: vec!["10.244.0.0/16".to_owned()],
            rules: Rules::default(),
            concurrency: 32,
        }
    }

    /// The name of its node, `fake-<namespace>` or `fake-node` if not given. Nodes have no namespace: tests that
    /// run side by side need different ones.
    pub fn node(self, name: impl Into<String>) -> Self {
        Self { node: Some(name.into()), ..self }
    }

    /// Cares for the Pods of this namespace only, as a test among others should.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// One more label of its node, for node selectors.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Binds the Pods that ask for this scheduler instead of `default-scheduler`.
    pub fn scheduler(self, name: impl Into<String>) -> Self {
        Self { scheduling: Scheduling::Own(name.into()), ..self }
    }

    /// Binds no Pods, because a real scheduler runs, and cares for those bound to its node. The scheduler brings
    /// it whatever it likes, so such a test wants the cluster to itself.
    pub fn bound_only(self) -> Self {
        Self { scheduling: Scheduling::Foreign, ..self }
    }

    /// Makes no Node and no Lease. Where a controller manager runs, it removes Pods of nodes that do not exist.
    pub fn unregistered(self) -> Self {
        Self { registered: false, ..self }
    }

    /// The address of its node.
    pub fn host_address(self, address: IpAddr) -> Self {
        Self { host: address, ..self }
    }

    /// Where Pod addresses come from, in CIDR notation; two ranges make two addresses per Pod. Kubelets that
    /// share a cluster need ranges of their own if their Pods are not to share addresses.
    pub fn pod_ranges<T: Into<String>>(self, ranges: impl IntoIterator<Item = T>) -> Self {
        Self { ranges: ranges.into_iter().map(Into::into).collect(), ..self }
    }

    /// The script of Pods that no rule matches.
    pub fn script(mut self, script: Script) -> Self {
        self.rules.default = script;
        self
    }

    /// A script for some Pods; of several that match, the first counts.
    pub fn rule(mut self, pods: Match, script: Script) -> Self {
        self.rules.rules.push((pods, script));
        self
    }

    /// How many writes may be under way at a time.
    pub fn concurrency(self, writes: usize) -> Self {
        Self { concurrency: writes.max(1), ..self }
    }

    /// Registers the node and starts.
    pub async fn spawn(self) -> Result<FakeKubelet, Error> {
        let ranges = self.ranges.iter().map(|range| range.parse()).collect::<Result<_, _>>()?;
        let place = self.place();
        let registration = if self.registered { Some(self.register(&place).await?) } else { None };
        let watch = watch(self.pods(), (place.scheduling == Scheduling::Foreign).then_some(&place.node));
        let node = place.node.clone();
        let driver = Driver {
            pods: Pods::new(place, self.rules, Addresses::new(ranges)),
            client: self.client,
            concurrency: self.concurrency,
            tally: Tally::default(),
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(Box::pin(alive(registration, driver.run(watch, stopped))));
        Ok(FakeKubelet { node, stop: Some(stop), task })
    }

    fn place(&self) -> Place {
        let fallback = || format!("fake-{}", self.namespace.as_deref().unwrap_or("node"));
        let node = self.node.clone().unwrap_or_else(fallback);
        let own = [
            ("kubernetes.io/hostname", &*node),
            ("kubernetes.io/os", "linux"),
            ("kubernetes.io/arch", "amd64"),
        ];
        let mut labels: BTreeMap<_, _> = own.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        labels.extend(self.labels.clone());
        Place { node, host: self.host, labels, scheduling: self.scheduling.clone() }
    }

    async fn register(&self, place: &Place) -> Result<Registration, Error> {
        let registered = Registration::register(self.client.clone(), place).await;
        registered.map_err(|source| Error::Register { node: place.node.clone(), source: Box::new(source) })
    }

    fn pods(&self) -> Api<Pod> {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }
}

/// Keeps the node alive for as long as its kubelet works, and withdraws it then.
async fn alive(registration: Option<Registration>, work: impl Future<Output = Tally>) -> Tally {
    let Some(registration) = registration else { return work.await };
    let mut tally = tokio::select! {
        tally = work => tally,
        () = registration.keep_alive() => unreachable!("leases are renewed for ever"),
    };
    if let Err(error) = registration.withdraw().await {
        tally.errors.push(error.to_string());
    }
    tally
}
