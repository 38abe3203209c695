//! Objects of our kinds, made the short way: a name and a spec.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use kube::Resource;
use kube::api::PostParams;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cluster::Namespace;

/// An object of a kind, from its spec as JSON.
pub fn object<K: Resource<DynamicType = ()> + DeserializeOwned>(name: &str, spec: Value) -> K {
    let (api_version, kind) = (K::api_version(&()), K::kind(&()));
    let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec});
    serde_json::from_value(object).expect("a well-formed object")
}

/// Creates such an object.
pub async fn create<K>(namespace: &Namespace, name: &str, spec: Value) -> kube::Result<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Serialize
        + DeserializeOwned
        + Clone
        + Debug,
{
    namespace.api::<K>().create(&PostParams::default(), &object(name, spec)).await
}

/// The smallest podTemplate.
pub fn pod_template() -> Value {
    json!({"spec": {"containers": [{"name": "main"}]}})
}
