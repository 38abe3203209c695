//! The client: a connection to one API server, the namespace that is meant where none is named, and what kind of home
//! it is. What can be done through it is in the modules of the subjects.

use std::path::{Path, PathBuf};

use k8s_openapi::NamespaceResourceScope;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Api, Config, Resource};

use crate::destination::Destination;
use crate::error::Error;

/// Where sandboxes live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// This machine: what is mounted from the host is mounted from here.
    Local,
    /// A machine with an Agent Sandbox of its own, reached by a kubeconfig: this one, perhaps.
    Machine,
    /// Some cluster.
    Cluster,
}

/// What the version of a server that is one machine's has in it.
const EMBEDDED: &str = "+asb-";

/// A connection to whoever serves the Kubernetes API.
#[derive(Clone)]
pub struct Client {
    kube: kube::Client,
    server: String,
    namespace: String,
    home: Home,
}

impl Client {
    /// Reads how to reach the destination. Nothing is sent yet.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), asb_client::Error> {
    /// use asb_client::{Client, Destination};
    ///
    /// let cluster = Destination::Cluster { files: vec!["kubeconfig".into()], context: None };
    /// let client = Client::connect(&cluster).await?.in_namespace("team-a");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(destination: &Destination) -> Result<Self, Error> {
        let (files, context, home) = match destination {
            Destination::Local(file) => (std::slice::from_ref(file), None, Home::Local),
            Destination::Cluster { files, context } => (files.as_slice(), context.clone(), Home::Cluster),
        };
        let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
        let merged = merged(files)?;
        let config = Config::from_custom_kubeconfig(merged, &options)
            .await
            .map_err(|source| unusable(files.first(), source))?;
        let (namespace, server) = (config.default_namespace.clone(), config.cluster_url.to_string());
        let kube =
            kube::Client::try_from(config).map_err(|source| Error::api("use the kubeconfig", source))?;
        Ok(Self { kube, server: server.trim_end_matches('/').to_owned(), namespace, home })
    }

    /// Around a client that is there already.
    pub fn new(kube: kube::Client, home: Home) -> Self {
        let namespace = kube.default_namespace().to_owned();
        Self { kube, server: String::new(), namespace, home }
    }

    /// The same, with another namespace where none is named.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), ..self }
    }

    /// The namespace where none is named.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub fn home(&self) -> Home {
        self.home
    }

    /// The same, once the server has said whether it is one machine's. A kubeconfig does not tell.
    pub async fn ask_home(&self) -> Result<Home, Error> {
        if self.home == Home::Local {
            return Ok(Home::Local);
        }
        let version = self.kube.apiserver_version().await;
        let version = version.map_err(|source| Error::api("ask the server what it is", source))?;
        Ok(if version.git_version.contains(EMBEDDED) { Home::Machine } else { Home::Cluster })
    }

    /// The address of the API server, as the kubeconfig has it.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The client underneath, for what this crate has no function for.
    pub fn kube(&self) -> &kube::Client {
        &self.kube
    }

    /// Objects of one kind in one namespace.
    pub fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.kube.clone(), namespace)
    }

    /// Objects of one kind in one namespace, or in all where none is given.
    pub(crate) fn api_across<K>(&self, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        namespace.map_or_else(|| Api::all(self.kube.clone()), |name| self.api(name))
    }
}

/// Files that are not there are passed over, as long as one is.
fn merged(files: &[PathBuf]) -> Result<Kubeconfig, Error> {
    let there: Vec<&PathBuf> = files.iter().filter(|file| file.exists()).collect();
    let Some(first) = there.first() else {
        return Err(Error::NoKubeconfig { path: files.first().cloned().unwrap_or_default() });
    };
    let read = |path: &PathBuf| Kubeconfig::read_from(path).map_err(|source| unusable(Some(path), source));
    there.iter().try_fold(Kubeconfig::default(), |merged, path| {
        merged.merge(read(path)?).map_err(|source| unusable(Some(first), source))
    })
}

fn unusable(path: Option<impl AsRef<Path>>, source: KubeconfigError) -> Error {
    let path = path.map(|path| path.as_ref().to_owned()).unwrap_or_default();
    Error::Kubeconfig { path, source: Box::new(source) }
}
