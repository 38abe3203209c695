//! The Kubernetes the suites run on: a client, kubectl against the same cluster, and a namespace per test.
//! Brings no cluster up; `cargo xtask test` and `cargo xtask kube` do.

mod kubectl;
mod namespace;

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use http::Request;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use serde_json::Value;
use tokio::process::Child;

pub use self::kubectl::{Kubectl, Output};
pub use self::namespace::Namespace;

const KUBECONFIG: &str = "ASB_TEST_KUBECONFIG";
const KUBECTL: &str = "ASB_TEST_KUBECTL";

/// A running Kubernetes, reached as its administrator.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    kubectl: Kubectl,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "no Kubernetes to test against: run `cargo xtask test`, or `eval \"$(cargo xtask kube env)\"` \
         and then the tests"
    )]
    NoCluster,
    #[error("cannot read the kubeconfig {}", path.display())]
    Kubeconfig { path: OsString, source: Box<KubeconfigError> },
    #[error("cannot make a client")]
    Client(#[source] Box<kube::Error>),
    #[error("cannot make a namespace for the test")]
    Namespace(#[source] Box<kube::Error>),
    #[error("cannot run kubectl {arguments}")]
    Kubectl { arguments: String, source: std::io::Error },
    #[error("kubectl {arguments} did not end within {seconds} s")]
    KubectlTimedOut { arguments: String, seconds: u64 },
    #[error("kubectl {arguments} failed: {stderr}")]
    KubectlFailed { arguments: String, stderr: String },
}

impl Cluster {
    /// The cluster named by `ASB_TEST_KUBECONFIG`, and no other: what `KUBECONFIG` or the home folder names is likelier
    /// to be somebody's production than a place for tests.
    pub async fn connect() -> Result<Self, Error> {
        Self::connect_with(true).await
    }

    /// The same, with a client that hands over a refusal for being busy instead of asking again.
    pub async fn connect_without_retries() -> Result<Self, Error> {
        Self::connect_with(false).await
    }

    /// One that the test has made itself.
    pub async fn at(kubeconfig: &Path) -> Result<Self, Error> {
        Self::reach(kubeconfig.into(), true).await
    }

    async fn connect_with(retries: bool) -> Result<Self, Error> {
        Self::reach(set(KUBECONFIG).ok_or(Error::NoCluster)?, retries).await
    }

    async fn reach(kubeconfig: OsString, retries: bool) -> Result<Self, Error> {
        let client = client(&kubeconfig, retries).await?;
        let program = set(KUBECTL).unwrap_or_else(|| "kubectl".into());
        Ok(Self { client, kubectl: Kubectl::new(program, kubeconfig) })
    }

    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A client of the same cluster for whoever this token belongs to.
    pub async fn client_with_token(&self, token: String) -> Result<Client, Error> {
        let mut config = config(&set(KUBECONFIG).ok_or(Error::NoCluster)?).await?;
        config.auth_info = AuthInfo { token: Some(token.into()), ..AuthInfo::default() };
        Client::try_from(config).map_err(|source| Error::Client(Box::new(source)))
    }

    /// Whether this is the original API server, which was built with Go.
    pub async fn is_original(&self) -> bool {
        let request = Request::get("/version").body(Vec::new()).expect("a path and nothing else");
        let version: Result<Value, _> = self.client.request(request).await;
        version.is_ok_and(|version| version["goVersion"].as_str().is_some_and(|go| go.starts_with("go1.")))
    }

    /// A namespace of the test's own.
    pub async fn namespace(&self) -> Result<Namespace, Error> {
        Namespace::create(self.client(), self.kubectl.clone()).await
    }

    /// Runs kubectl against this cluster and waits for its end, whatever its verdict.
    pub async fn kubectl(&self, arguments: &[&str], stdin: Option<&str>) -> Result<Output, Error> {
        self.kubectl.run(arguments, stdin).await
    }

    /// Starts a kubectl that goes on by itself, such as `port-forward`. Its standard output is piped, and it ends with
    /// the returned value.
    pub fn start_kubectl(&self, arguments: &[&str]) -> Result<Child, Error> {
        self.kubectl.start(arguments)
    }
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

async fn client(kubeconfig: &OsStr, retries: bool) -> Result<Client, Error> {
    let mut config = config(kubeconfig).await?;
    config.default_retry = retries;
    Client::try_from(config).map_err(|source| Error::Client(Box::new(source)))
}

async fn config(kubeconfig: &OsStr) -> Result<Config, Error> {
    let unreadable = |source| Error::Kubeconfig { path: kubeconfig.into(), source: Box::new(source) };
    let merged = merged(kubeconfig).map_err(unreadable)?;
    Config::from_custom_kubeconfig(merged, &KubeConfigOptions::default()).await.map_err(unreadable)
}

/// KUBECONFIG may name several files, the first having the last word.
fn merged(kubeconfig: &OsStr) -> Result<Kubeconfig, KubeconfigError> {
    env::split_paths(kubeconfig)
        .map(Kubeconfig::read_from)
        .try_fold(Kubeconfig::default(), |merged, next| merged.merge(next?))
}
