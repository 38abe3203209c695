//! What happens to an operator that leads and converts, in a namespace of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use asb_fake_kubelet::FakeKubelet;
use asb_operator::webhook::{Certificates, Host, Webhook};
use asb_operator::{Candidacy, LEASE, Operator, Settings, Terms};
use asb_tests::objects::{create, object};
use asb_tests::{Cluster, Namespace, account, documents, wait};
use asb_types::labels::{ADOPTABLE, ADOPTABLE_TRUE};
use asb_types::rights::{ROUTER_KEY_SECRET, WEBHOOK_SECRET as SECRET};
use asb_types::v1beta1::{Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool};
use asb_types::{crd, shorthand};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Secret, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::{ByteString, NamespaceResourceScope};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::usage::{Notes, Usage};

const SCHEDULER: &str = "fake-scheduler";

/// An object of any kind in a namespace.
trait Thing: wait::Object + Resource<Scope = NamespaceResourceScope> + 'static {}

impl<K: wait::Object + Resource<Scope = NamespaceResourceScope> + 'static> Thing for K {}

pub(crate) struct Story {
    /// The operator's.
    client: Client,
    cluster: Cluster,
    namespace: Namespace,
    usage: Usage,
    kubelet: FakeKubelet,
    operator: JoinHandle<()>,
    webhook: JoinHandle<()>,
    stop: CancellationToken,
}

impl Story {
    pub(crate) async fn begin() -> Result<Self> {
        let cluster = Cluster::connect().await?;
        let namespace = cluster.namespace().await?;
        let kubelet = FakeKubelet::builder(cluster.client()).namespace(namespace.name()).scheduler(SCHEDULER);
        let kubelet = kubelet.spawn().await?;
        documents::enter(&cluster).await?;
        let (usage, stop) = (Usage::default(), CancellationToken::new());
        let client = usage.over(&account::operator(&cluster).await?);
        as_in_its_own(&cluster, &namespace).await?;
        Ok(Self {
            client: client.clone(),
            webhook: tokio::spawn(webhook(&client, &namespace).await?.run(stop.clone())),
            operator: tokio::spawn(operator(client, &namespace).run(stop.clone())),
            cluster,
            namespace,
            usage,
            kubelet,
            stop,
        })
    }

    pub(crate) async fn sandboxes_with_services_and_volumes(&self) -> Result<()> {
        let service = json!({"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"port": 80}]});
        self.unowned::<Service>("web", service).await?;
        self.unowned::<PersistentVolumeClaim>("work-web", volume()).await?;
        let volumes = json!([
            {"metadata": {"name": "work"}, "spec": volume()}, {"metadata": {"name": "more"}, "spec": volume()},
        ]);
        let spec = json!({"podTemplate": pod_template(), "service": true, "volumeClaimTemplates": volumes});
        create::<Sandbox>(&self.namespace, "web", spec).await?;
        self.ready_sandbox("web").await?;
        let adopted = |volume: &PersistentVolumeClaim| !volume.owner_references().is_empty();
        wait::for_object(&self.namespace.api(), "work-web", "adopted", adopted).await?;
        let service = self.namespace.api::<Service>().get("web").await?;
        self.patch::<Sandbox>("web", json!({"spec": {"service": false}})).await?;
        wait::for_gone(&self.namespace.api(), &service).await?;
        create::<Sandbox>(&self.namespace, "own", json!({"podTemplate": pod_template(), "service": true}))
            .await?;
        self.ready_sandbox("own").await?;
        Ok(())
    }

    pub(crate) async fn a_pod_that_does_not_end(&self) -> Result<()> {
        let hold = json!({"metadata": {"finalizers": ["example.test/hold"]}});
        self.patch::<Pod>("own", hold).await?;
        self.patch::<Sandbox>("own", json!({"spec": {"operatingMode": "Suspended"}})).await?;
        self.until("a question about the node", || self.usage.has("get", "nodes")).await?;
        self.patch::<Pod>("own", json!({"metadata": {"finalizers": null}})).await?;
        Ok(())
    }

    pub(crate) async fn claims_templates_and_pools(&self) -> Result<()> {
        let policies = self.namespace.api::<NetworkPolicy>();
        create::<SandboxTemplate>(&self.namespace, "python", json!({"podTemplate": pod_template()})).await?;
        let spec = json!({"replicas": 2, "sandboxTemplateRef": {"name": "python"}});
        create::<SandboxWarmPool>(&self.namespace, "pool", spec).await?;
        self.full_pool(2).await?;
        create::<SandboxClaim>(&self.namespace, "mine", json!({"warmPoolRef": {"name": "pool"}})).await?;
        let is_ready =
            |claim: &SandboxClaim| claim.status.as_ref().is_some_and(|status| is_ready(&status.conditions));
        let claim = wait::for_object(&self.namespace.api(), "mine", "Ready", is_ready).await?;
        self.until("a Pod that was handed over", || self.usage.has("patch", "pods")).await?;
        self.until("an event", || self.usage.has("create", "events")).await?;
        self.patch::<SandboxWarmPool>("pool", json!({"spec": {"replicas": 1}})).await?;
        self.full_pool(1).await?;

        let rules = json!({"ingress": [{"ports": [{"port": 80}]}]});
        self.patch::<SandboxTemplate>("python", json!({"spec": {"networkPolicy": rules}})).await?;
        let is_narrow =
            |policy: &NetworkPolicy| json!(policy)["spec"]["ingress"][0]["ports"][0]["port"] == 80;
        let policy = wait::for_object(&policies, "python-network-policy", "narrow", is_narrow).await?;
        let unmanaged = json!({"spec": {"networkPolicyManagement": "Unmanaged"}});
        self.patch::<SandboxTemplate>("python", unmanaged).await?;
        wait::for_gone(&policies, &policy).await?;

        let over = json!({"shutdownTime": "2026-01-01T00:00:00Z", "shutdownPolicy": "Delete"});
        self.patch::<SandboxClaim>("mine", json!({"spec": {"lifecycle": over}})).await?;
        Ok(wait::for_gone(&self.namespace.api(), &claim).await?)
    }

    /// Each is made from its short spelling, changed by it, and deleted behind its back.
    pub(crate) async fn short_spellings(&self) -> Result<()> {
        let inline = json!({"spec": {"podTemplate": pod_template()}});
        create::<shorthand::SandboxTemplate>(&self.namespace, "short", json!({"template": inline})).await?;
        create::<shorthand::SandboxWarmPool>(&self.namespace, "brings", json!({"template": inline})).await?;
        create::<shorthand::SandboxClaim>(&self.namespace, "shortly", json!({"template": "short"})).await?;
        let brought = self.there::<SandboxTemplate>("brings").await?;
        self.there::<SandboxWarmPool>("brings").await?;
        let named = json!({"spec": {"template": "short"}});
        self.patch::<shorthand::SandboxWarmPool>("brings", named).await?;
        wait::for_gone(&self.namespace.api(), &brought).await?;
        self.goes_with::<shorthand::SandboxClaim, SandboxClaim>("shortly").await?;
        self.goes_with::<shorthand::SandboxWarmPool, SandboxWarmPool>("brings").await?;
        self.goes_with::<shorthand::SandboxTemplate, SandboxTemplate>("short").await
    }

    pub(crate) async fn certificates_that_somebody_breaks(&self) -> Result<()> {
        let secrets = self.namespace.api::<Secret>();
        wait::for_object(&secrets, SECRET, "there", |_: &Secret| true).await?;
        self.until("definitions that name the webhook", || {
            self.usage.has("patch", "customresourcedefinitions")
        })
        .await?;
        self.patch::<Secret>(SECRET, json!({"stringData": {"tls.crt": "rubbish"}})).await?;
        self.until("a new certificate", || self.usage.has("patch", "secrets")).await
    }

    pub(crate) async fn a_key_for_the_router(&self) -> Result<()> {
        let fresh = BTreeMap::from([("key".to_owned(), ByteString(b"made once".to_vec()))]);
        let kept = asb_operator::keep(self.client.clone(), &self.namespace, ROUTER_KEY_SECRET, fresh).await?;
        let again =
            asb_operator::keep(self.client.clone(), &self.namespace, ROUTER_KEY_SECRET, BTreeMap::default());
        ensure!(again.await? == kept, "the key is another one");
        Ok(())
    }

    /// Ends everything in order, which gives the Lease back, and says what was asked.
    pub(crate) async fn end(self) -> Result<Notes> {
        self.until("a leader", || self.usage.has("create", "leases")).await?;
        self.stop.cancel();
        self.operator.await.context("the operator ended badly")?;
        self.webhook.await.context("the webhook ended badly")?;
        let tally = self.kubelet.shutdown().await;
        self.namespace.finish().await;
        documents::leave(&self.cluster).await?;
        ensure!(tally.errors.is_empty(), "the fake kubelet met errors: {:?}", tally.errors);
        Ok(self.usage.notes())
    }

    async fn there<K: Thing>(&self, name: &str) -> Result<K> {
        Ok(wait::for_object(&self.namespace.api(), name, "there", |_: &K| true).await?)
    }

    /// The short spelling of what somebody deletes is deleted too, once it is known to stand for it.
    async fn goes_with<S: Thing, K: Thing>(&self, name: &str) -> Result<()> {
        let stands = |it: &S| json!(it)["status"]["canonicalUID"].is_string();
        let short = wait::for_object(&self.namespace.api(), name, "translated", stands).await?;
        self.namespace.api::<K>().delete(name, &DeleteParams::default()).await?;
        Ok(wait::for_gone(&self.namespace.api(), &short).await?)
    }

    /// Something of nobody's that a Sandbox may take over.
    async fn unowned<K: Thing>(&self, name: &str, spec: Value) -> Result<()> {
        let mut object: K = object(name, spec);
        object.labels_mut().insert(ADOPTABLE.to_owned(), ADOPTABLE_TRUE.to_owned());
        self.namespace.api::<K>().create(&PostParams::default(), &object).await?;
        Ok(())
    }

    async fn patch<K: Thing>(&self, name: &str, patch: Value) -> Result<()> {
        let api = self.namespace.api::<K>();
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    async fn ready_sandbox(&self, name: &str) -> Result<Sandbox> {
        let is_ready =
            |sandbox: &Sandbox| sandbox.status.as_ref().is_some_and(|status| is_ready(&status.conditions));
        Ok(wait::for_object(&self.namespace.api(), name, "Ready", is_ready).await?)
    }

    async fn full_pool(&self, size: i32) -> Result<()> {
        let is_full = |pool: &SandboxWarmPool| {
            pool.status.as_ref().is_some_and(|it| (it.ready_replicas, it.replicas) == (size, size))
        };
        wait::for_object(&self.namespace.api(), "pool", "full", is_full).await?;
        Ok(())
    }

    async fn until(&self, what: &str, is_so: impl Fn() -> bool) -> Result<()> {
        let patience = Duration::from_mins(1);
        Ok(wait::until(patience, what, || async { is_so().then_some(()) }).await?)
    }
}

/// What the operator may do in its own namespace, it may do in this one.
async fn as_in_its_own(cluster: &Cluster, namespace: &str) -> Result<()> {
    let role = include_str!("../../../deploy/operator/role.yaml").replace(account::NAMESPACE, namespace);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": account::NAME, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account::NAME},
        "subjects": [{"kind": "ServiceAccount", "name": account::NAME, "namespace": account::NAMESPACE}],
    });
    cluster.kubectl(&["create", "-f", "-"], Some(&format!("{role}---\n{binding}"))).await?.success()?;
    Ok(())
}

async fn webhook(client: &Client, namespace: &str) -> Result<Webhook> {
    let host = Host {
        service: crd::WEBHOOK_SERVICE.to_owned(),
        namespace: namespace.to_owned(),
        cluster_domain: "cluster.local".to_owned(),
        external: None,
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    Ok(Webhook::open(client, listener, &host, Certificates::Managed)?)
}

fn operator(client: Client, namespace: &str) -> Operator {
    let candidacy = Candidacy {
        namespace: namespace.to_owned(),
        name: LEASE.to_owned(),
        identity: "suite".to_owned(),
        terms: Terms::default(),
    };
    // One namespace: others are of other tests. Roles do not tell the difference.
    let settings = Settings { namespace: Some(namespace.to_owned()), ..Settings::default() };
    Operator::new(client, settings, Some(candidacy))
}

fn pod_template() -> Value {
    let container = json!({"name": "main", "image": "demo:1", "ports": [{"containerPort": 8080}]});
    json!({"spec": {
        "containers": [container], "schedulerName": SCHEDULER, "terminationGracePeriodSeconds": 1,
    }})
}

fn volume() -> Value {
    json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}})
}

fn is_ready(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
