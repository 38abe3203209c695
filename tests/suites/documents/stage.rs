//! A namespace with an operator and a kubelet of its own, in which manifests are applied.

use std::fmt::Debug;

use anyhow::{Context, Result, ensure};
use asb_fake_kubelet::FakeKubelet;
use asb_operator::{Operator, Settings};
use asb_tests::conversion::ensure_conversion;
use asb_tests::ledger::Ledger;
use asb_tests::{Cluster, Namespace, documents, wait};
use k8s_openapi::NamespaceResourceScope;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/documents");

static COMPUTER: Mutex<()> = Mutex::const_new(());

pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) namespace: String,
    /// What the operator has written.
    pub(crate) ledger: Ledger,
    /// The namespace, where it is the test's own.
    own: Option<Namespace>,
    /// The right to the printed namespace, which goes with it.
    turn: Option<MutexGuard<'static, ()>>,
    kubelet: FakeKubelet,
    operator: JoinHandle<()>,
    stop: CancellationToken,
}

/// An object of any kind in a namespace.
pub(crate) trait Thing: wait::Object + Resource<Scope = NamespaceResourceScope> + 'static {}

impl<K: wait::Object + Resource<Scope = NamespaceResourceScope> + 'static> Thing for K {}

impl Stage {
    pub(crate) async fn set() -> Result<Self> {
        let cluster = Cluster::connect().await?;
        let own = cluster.namespace().await?;
        Self::at(cluster, own.name().to_owned(), Some(own)).await
    }

    /// In a namespace that is always there.
    pub(crate) async fn within(namespace: &str) -> Result<Self> {
        Self::at(Cluster::connect().await?, namespace.to_owned(), None).await
    }

    /// In the namespace that is printed for kubectl-ai, one test after the other.
    pub(crate) async fn computer() -> Result<Self> {
        let turn = COMPUTER.lock().await;
        let mut stage = Self::within("computer").await?;
        stage.kubectl(&["create", "namespace", "computer"], None).await?;
        stage.turn = Some(turn);
        Ok(stage)
    }

    async fn at(cluster: Cluster, namespace: String, own: Option<Namespace>) -> Result<Self> {
        ensure_conversion(&cluster).await?;
        documents::enter(&cluster).await?;
        let kubelet = FakeKubelet::builder(cluster.client()).namespace(&namespace).spawn().await?;
        let (ledger, stop) = (Ledger::default(), CancellationToken::new());
        let settings = Settings { namespace: Some(namespace.clone()), ..Settings::default() };
        let operator = Operator::new(ledger.over(&cluster.client()), settings, None);
        let operator = tokio::spawn(operator.run(stop.clone()));
        Ok(Self { cluster, namespace, ledger, own, turn: None, kubelet, operator, stop })
    }

    /// Applies a manifest as it is printed.
    pub(crate) async fn apply(&self, manifest: &str) -> Result<String> {
        let file = format!("{MANIFESTS}/{manifest}.yaml");
        self.kubectl(&["apply", "-f", &file], None).await
    }

    /// Runs kubectl in the namespace, unless the command names another.
    pub(crate) async fn kubectl(&self, arguments: &[&str], stdin: Option<&str>) -> Result<String> {
        let arguments = match arguments {
            ["apply", "-f", file] if is_placed(file) => arguments.to_vec(),
            _ => [&["--namespace", &self.namespace], arguments].concat(),
        };
        Ok(self.cluster.kubectl(&arguments, stdin).await?.success()?)
    }

    pub(crate) fn api<K: Thing>(&self) -> Api<K> {
        Api::namespaced(self.cluster.client(), &self.namespace)
    }

    pub(crate) async fn create<K: Thing>(&self, name: &str, spec: Value) -> Result<K> {
        let object = json!({
            "apiVersion": K::api_version(&()), "kind": K::kind(&()), "metadata": {"name": name}, "spec": spec,
        });
        Ok(self.api::<K>().create(&PostParams::default(), &serde_json::from_value(object)?).await?)
    }

    pub(crate) async fn patch<K: Thing>(&self, name: &str, patch: Value) -> Result<K> {
        Ok(self.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?)
    }

    pub(crate) async fn ready<K: Thing>(&self, name: &str) -> Result<K> {
        Ok(wait::for_object(&self.api(), name, "Ready", |it: &K| ready(it)["status"] == "True").await?)
    }

    /// Waits until the condition Ready has this reason, and returns the message.
    pub(crate) async fn refused<K: Thing>(&self, name: &str, reason: &str) -> Result<String> {
        let what = format!("not Ready because of {reason}");
        let is_refused = |it: &K| ready(it)["status"] == "False" && ready(it)["reason"] == reason;
        let object = wait::for_object(&self.api(), name, &what, is_refused).await?;
        Ok(ready(&object)["message"].as_str().unwrap_or_default().to_owned())
    }

    /// Ends the test. Neither the operator nor the kubelet may have come to grief.
    pub(crate) async fn finish(self) -> Result<()> {
        if self.turn.is_some() {
            self.kubectl(&["delete", "namespace", &self.namespace], None).await?;
        }
        self.stop.cancel();
        self.operator.await.context("the operator ended badly")?;
        let tally = self.kubelet.shutdown().await;
        if let Some(own) = self.own {
            own.finish().await;
        }
        documents::leave(&self.cluster).await?;
        ensure!(tally.errors.is_empty(), "the fake kubelet met errors: {:?}", tally.errors);
        Ok(())
    }
}

/// kubectl takes no namespace beside one that the manifest names itself.
fn is_placed(file: &str) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.contains("\n  namespace: "))
}

pub(crate) fn json<T: Serialize>(object: &T) -> Value {
    serde_json::to_value(object).expect("objects are plain data")
}

pub(crate) fn ready<T: Serialize>(object: &T) -> Value {
    let status = json(object)["status"].take();
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == "Ready").cloned().unwrap_or_default()
}

/// Whether everything in one value is in the other.
pub(crate) fn includes(whole: &Value, part: &Value) -> bool {
    match part {
        Value::Object(fields) => fields.iter().all(|(field, value)| includes(&whole[field], value)),
        other => whole == other,
    }
}

pub(crate) fn manifest<T: DeserializeOwned + Debug>(name: &str) -> Result<T> {
    let text = std::fs::read_to_string(format!("{MANIFESTS}/{name}.yaml"))?;
    Ok(serde_saphyr::from_str(&text)?)
}
