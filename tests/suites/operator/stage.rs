//! A namespace with an operator of its own and somebody who runs its Pods, and the things that tests make in it.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use asb_fake_kubelet::FakeKubelet;
use asb_operator::{Dice, Metrics, Operator, Settings};
use asb_tests::ledger::Ledger;
use asb_tests::{Cluster, Namespace, account, wait};
use asb_types::hash::fnv1a_hex;
use asb_types::labels::WARM_POOL;
use asb_types::v1beta1::{Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::clock::TestClock;
use crate::roles::{Role, Roles, Runner, cue};

pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) namespace: Namespace,
    pub(crate) sandboxes: Api<Sandbox>,
    pub(crate) claims: Api<SandboxClaim>,
    pub(crate) pools: Api<SandboxWarmPool>,
    pub(crate) templates: Api<SandboxTemplate>,
    pub(crate) pods: Api<Pod>,
    /// What the operator has written.
    pub(crate) ledger: Ledger,
    /// The operator's.
    pub(crate) clock: TestClock,
    settings: Settings,
    /// What the operator measures.
    pub(crate) metrics: Arc<Metrics>,
    /// The operator's, with its rights and no others.
    account: Client,
    roles: Roles,
    /// None where the server has a node.
    kubelet: Option<FakeKubelet>,
    operator: JoinHandle<()>,
    stop: CancellationToken,
}

impl Stage {
    pub(crate) async fn set() -> Result<Self> {
        Self::with(Roles::all(Role::Run)).await
    }

    pub(crate) async fn with(roles: Roles) -> Result<Self> {
        Self::with_settings(roles, Settings::default()).await
    }

    /// With an operator that is told to be so, apart from the namespace.
    pub(crate) async fn with_settings(roles: Roles, settings: Settings) -> Result<Self> {
        let cluster = Cluster::connect().await?;
        let namespace = cluster.namespace().await?;
        let kubelet = kubelet(&cluster, &namespace, &roles).await?;
        let (stop, ledger, clock) = (CancellationToken::new(), Ledger::default(), TestClock::default());
        let settings = Settings { namespace: Some(namespace.name().to_owned()), ..settings };
        let account = account::operator(&cluster).await?;
        let operator = operator(&ledger.over(&account), &settings, &clock);
        Ok(Self {
            sandboxes: namespace.api(),
            claims: namespace.api(),
            pools: namespace.api(),
            templates: namespace.api(),
            pods: namespace.api(),
            metrics: operator.metrics(),
            operator: tokio::spawn(operator.run(stop.clone())),
            ledger,
            clock,
            cluster,
            namespace,
            settings,
            account,
            roles,
            kubelet,
            stop,
        })
    }

    /// Ends the operator and starts another, which knows nothing yet and notes its writes in a ledger of its own.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.stop.cancel();
        (self.stop, self.ledger) = (CancellationToken::new(), Ledger::default());
        let next = operator(&self.ledger.over(&self.account), &self.settings, &self.clock);
        self.metrics = next.metrics();
        let last = std::mem::replace(&mut self.operator, tokio::spawn(next.run(self.stop.clone())));
        last.await.context("the operator ended badly")
    }

    /// Ends the operator. [`Self::restart`] starts the next.
    pub(crate) async fn leave(&mut self) -> Result<()> {
        self.stop.cancel();
        let last = std::mem::replace(&mut self.operator, tokio::spawn(std::future::ready(())));
        last.await.context("the operator ended badly")
    }

    /// A Sandbox with one container, and whatever else its spec is to have.
    pub(crate) async fn sandbox(&self, name: &str, spec: Value) -> Result<Sandbox> {
        create(&self.sandboxes, name, with(self.pod_template(name), spec)).await
    }

    pub(crate) async fn template(&self, name: &str, spec: Value) -> Result<SandboxTemplate> {
        create(&self.templates, name, with(self.pod_template(name), spec)).await
    }

    fn pod_template(&self, name: &str) -> Value {
        json!({"podTemplate": self.roles.template(name, Runner::here())})
    }

    pub(crate) async fn pool(&self, name: &str, template: &str, replicas: usize) -> Result<SandboxWarmPool> {
        create(&self.pools, name, json!({"replicas": replicas, "sandboxTemplateRef": {"name": template}}))
            .await
    }

    pub(crate) async fn claim(&self, name: &str, pool: &str, spec: Value) -> Result<SandboxClaim> {
        create(&self.claims, name, with(json!({"warmPoolRef": {"name": pool}}), spec)).await
    }

    /// A template and a pool of it with all its members Ready. The pool's status may take a moment longer.
    pub(crate) async fn full_pool(&self, name: &str, replicas: usize) -> Result<()> {
        self.template(name, json!({})).await?;
        self.pool(name, name, replicas).await?;
        let members = format!("{WARM_POOL}={}", fnv1a_hex(name));
        let all_ready = |sandboxes: &[&Sandbox]| {
            let is_ready = |sandbox: &&&Sandbox| {
                ready(sandbox_conditions(sandbox)).is_some_and(|ready| ready.status == "True")
            };
            sandboxes.len() == replicas && sandboxes.iter().filter(is_ready).count() == replicas
        };
        wait::for_objects(&self.sandboxes, &members, "all Ready", all_ready).await?;
        Ok(())
    }

    /// Waits until a pool says that so many of its members are Ready.
    pub(crate) async fn pool_with(&self, name: &str, ready: usize) -> Result<SandboxWarmPool> {
        let ready = i32::try_from(ready)?;
        let is_full = |pool: &SandboxWarmPool| {
            pool.status.as_ref().is_some_and(|status| status.ready_replicas == ready)
        };
        Ok(wait::for_object(&self.pools, name, &format!("{ready} members Ready"), is_full).await?)
    }

    pub(crate) async fn ready_sandbox(&self, name: &str) -> Result<Sandbox> {
        let is_ready = |sandbox: &Sandbox| {
            ready(sandbox_conditions(sandbox)).is_some_and(|ready| ready.status == "True")
        };
        Ok(wait::for_object(&self.sandboxes, name, "Ready", is_ready).await?)
    }

    pub(crate) async fn sandbox_with(&self, name: &str, type_: &str, reason: &str) -> Result<Sandbox> {
        let is_there = |sandbox: &Sandbox| {
            condition(sandbox_conditions(sandbox), type_).is_some_and(|condition| condition.reason == reason)
        };
        Ok(wait::for_object(&self.sandboxes, name, &format!("{type_} because of {reason}"), is_there).await?)
    }

    pub(crate) async fn ready_claim(&self, name: &str) -> Result<SandboxClaim> {
        let is_ready =
            |claim: &SandboxClaim| ready(claim_conditions(claim)).is_some_and(|ready| ready.status == "True");
        Ok(wait::for_object(&self.claims, name, "Ready", is_ready).await?)
    }

    pub(crate) async fn claim_with(&self, name: &str, reason: &str) -> Result<SandboxClaim> {
        let is_there =
            |claim: &SandboxClaim| ready(claim_conditions(claim)).is_some_and(|ready| ready.reason == reason);
        Ok(wait::for_object(&self.claims, name, &format!("not Ready because of {reason}"), is_there).await?)
    }

    /// Waits until there are so many Sandboxes, and none that is going.
    pub(crate) async fn sandboxes_in_number(&self, count: usize) -> Result<Vec<Sandbox>> {
        let are_so_many = |sandboxes: &[&Sandbox]| {
            sandboxes.len() == count && sandboxes.iter().all(|it| it.metadata.deletion_timestamp.is_none())
        };
        Ok(wait::for_objects(&self.sandboxes, "", &format!("{count} Sandboxes"), are_so_many).await?)
    }

    /// A Sandbox of the test's own, made and seen Ready: the operator has had time for everything before it.
    pub(crate) async fn canary(&self, name: &str) -> Result<()> {
        self.sandbox(name, json!({})).await?;
        self.ready_sandbox(name).await?;
        Ok(())
    }

    /// Changes a Sandbox, claim or the like in a way that matters to nobody, so that it is looked at again. One that is gone
    /// was looked at already, for a reason of its own.
    pub(crate) async fn nudge<K>(&self, api: &Api<K>, name: &str) -> Result<()>
    where
        K: Clone + DeserializeOwned + std::fmt::Debug,
    {
        let moment = jiff::Timestamp::now().as_nanosecond().to_string();
        let nudge = Patch::Merge(json!({"metadata": {"annotations": {"nudged": moment}}}));
        match api.patch(name, &PatchParams::default(), &nudge).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            answer => Ok(answer.map(drop)?),
        }
    }

    /// Lets a Pod start that plays [`Role::Wait`].
    pub(crate) async fn start(&self, pod: &str) -> Result<()> {
        wait::for_object(&self.pods, pod, "made", |_: &Pod| true).await?;
        patch(&self.pods, pod, cue(Runner::here())).await.map(drop)
    }

    /// Ends the test. Neither the operator nor the kubelet may have come to grief.
    pub(crate) async fn finish(self) -> Result<()> {
        self.stop.cancel();
        self.operator.await.context("the operator ended badly")?;
        if let Some(kubelet) = self.kubelet {
            let tally = kubelet.shutdown().await;
            ensure!(tally.errors.is_empty(), "the fake kubelet met errors: {:?}", tally.errors);
        }
        self.namespace.finish().await;
        Ok(())
    }
}

async fn kubelet(cluster: &Cluster, namespace: &Namespace, roles: &Roles) -> Result<Option<FakeKubelet>> {
    if Runner::here() == Runner::Node {
        return Ok(None);
    }
    let builder = FakeKubelet::builder(cluster.client()).namespace(namespace.name());
    Ok(Some(roles.tell(builder.scheduler(Runner::FakeKubelet.scheduler())).spawn().await?))
}

fn operator(client: &Client, settings: &Settings, clock: &TestClock) -> Operator {
    let clock = Arc::new(clock.clone());
    Operator::with(client.clone(), settings.clone(), None, clock, Dice::loaded_by_chance())
}

pub(crate) async fn patch<K>(api: &Api<K>, name: &str, patch: Value) -> Result<K>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    Ok(api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?)
}

/// Created from JSON, as users write it: what the Rust types would add is not there.
pub(crate) async fn create<K>(api: &Api<K>, name: &str, spec: Value) -> Result<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + serde::Serialize
        + std::fmt::Debug,
{
    let object = json!({
        "apiVersion": K::api_version(&()), "kind": K::kind(&()), "metadata": {"name": name}, "spec": spec,
    });
    Ok(api.create(&PostParams::default(), &serde_json::from_value(object)?).await?)
}

/// One value laid over another.
fn with(mut base: Value, over: Value) -> Value {
    match (&mut base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                let merged = with(base.remove(&key).unwrap_or(Value::Null), value);
                base.insert(key, merged);
            }
        }
        (base, over) => *base = over,
    }
    base
}

pub(crate) fn sandbox_conditions(sandbox: &Sandbox) -> &[Condition] {
    sandbox.status.as_ref().map_or(&[], |status| &status.conditions)
}

pub(crate) fn claim_conditions(claim: &SandboxClaim) -> &[Condition] {
    claim.status.as_ref().map_or(&[], |status| &status.conditions)
}

pub(crate) fn ready(conditions: &[Condition]) -> Option<&Condition> {
    condition(conditions, "Ready")
}

pub(crate) fn condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// What conditions say, in the order of their types.
pub(crate) fn said(conditions: &[Condition]) -> Vec<String> {
    let mut said: Vec<_> = conditions
        .iter()
        .map(|it| format!("{}={} {}: {}", it.type_, it.status, it.reason, it.message))
        .collect();
    said.sort();
    said
}
