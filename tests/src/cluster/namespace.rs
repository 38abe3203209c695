//! A namespace per test, named by the server so that tests running side by side never meet.

use std::fmt;
use std::ops::Deref;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1 as core;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::{Api, Client, Resource, ResourceExt};

use super::{Error, Kubectl};

/// A namespace that goes when the test is over: at once by [`Namespace::finish`], and by a kubectl nobody waits
/// for when a failed test drops it.
pub struct Namespace {
    name: String,
    client: Client,
    kubectl: Kubectl,
    finished: bool,
}

impl Namespace {
    pub(super) async fn create(client: Client, kubectl: Kubectl) -> Result<Self, Error> {
        let failed = |source| Error::Namespace(Box::new(source));
        let name = generate(&client).await.map_err(failed)?;
        let this = Self { name, client, kubectl, finished: false };
        this.default_account().await.map_err(failed)?;
        Ok(this)
    }

    /// Kubernetes admits no Pod before the namespace's default account is there, and makes it only after a while.
    async fn default_account(&self) -> Result<(), kube::Error> {
        let metadata = ObjectMeta { name: Some("default".to_owned()), ..ObjectMeta::default() };
        let account = core::ServiceAccount { metadata, ..core::ServiceAccount::default() };
        match self.api().create(&PostParams::default(), &account).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            made => made.map(drop),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Objects of one kind in this namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// Asks for the namespace to go, and leaves the rest to the cluster. Its Pods go at once: the kubelet that
    /// would see them off may be gone already.
    pub async fn finish(mut self) {
        let (pods, namespaces) = (self.api::<core::Pod>(), Api::<core::Namespace>::all(self.client.clone()));
        let at_once = DeleteParams::default().grace_period(0);
        let emptied = pods.delete_collection(&at_once, &ListParams::default()).await.is_ok();
        let deleted = namespaces.delete(&self.name, &DeleteParams::background()).await.is_ok();
        self.finished = emptied && deleted;
    }
}

async fn generate(client: &Client) -> Result<String, kube::Error> {
    let metadata = ObjectMeta { generate_name: Some("asb-test-".to_owned()), ..ObjectMeta::default() };
    let wanted = core::Namespace { metadata, ..core::Namespace::default() };
    let namespaces = Api::<core::Namespace>::all(client.clone());
    Ok(namespaces.create(&PostParams::default(), &wanted).await?.name_any())
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if !self.finished {
            let pods = ["delete", "pods", "--all", "--force", "--wait=false", "--namespace", &self.name];
            self.kubectl.launch(&pods);
            self.kubectl.launch(&["delete", "namespace", &self.name, "--wait=false"]);
        }
    }
}

impl Deref for Namespace {
    type Target = str;

    fn deref(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}
