//! A Secret that is made once and then left as it is: what was put into it first is what everybody has.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client, Error};

/// What the Secret holds. Where there is none, one is made of `fresh`; whoever makes it at the same time may be first.
pub async fn keep(
    client: Client,
    namespace: &str,
    name: &str,
    fresh: BTreeMap<String, ByteString>,
) -> Result<BTreeMap<String, ByteString>, Error> {
    let secrets: Api<Secret> = Api::namespaced(client, namespace);
    if let Some(secret) = secrets.get_opt(name).await? {
        return Ok(secret.data.unwrap_or_default());
    }
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let secret = Secret { metadata, data: Some(fresh), ..Secret::default() };
    let kept = match secrets.create(&PostParams::default(), &secret).await {
        Ok(made) => made,
        // Another may have made it, and so may we, if only the answer was lost.
        Err(error) => secrets.get_opt(name).await?.ok_or(error)?,
    };
    Ok(kept.data.unwrap_or_default())
}
