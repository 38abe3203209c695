//! What only the cluster knows of where sandboxd comes from: the operator's own image, and the key by which sandboxd knows the
//! router, in a Secret that the operator makes and the router's Pod mounts.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use asb_core::sandbox::RuntimeSource;
use asb_router::token::{PrivateKey, PublicKey};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};

use super::surroundings;

/// Instead of an image: that of the Pod that we are.
const SELF: &str = "self";

/// In the Secret: the private key, for the router, and the public one, for whoever checks tokens.
const PRIVATE: &str = "key";
const PUBLIC: &str = "public";

/// The source with what the cluster knows of it filled in.
pub(super) async fn complete(
    client: &Client,
    mut source: RuntimeSource,
    key_secret: Option<&str>,
) -> Result<RuntimeSource> {
    if source.image == SELF {
        source.image = own_image(client).await.context("--runtime-image=self")?;
    }
    if let Some(name) = key_secret {
        let public = public(client.clone(), &surroundings::home(), name).await?;
        source.public_keys.push(public.text());
    }
    Ok(source)
}

async fn own_image(client: &Client) -> Result<String> {
    let namespace = surroundings::own_namespace().context("this is no Pod of a cluster")?;
    let (pods, name) = (Api::<Pod>::namespaced(client.clone(), &namespace), surroundings::host_name());
    let pod = pods.get(&name).await.with_context(|| format!("cannot read the Pod {namespace}/{name}"))?;
    let container = pod.spec.and_then(|spec| spec.containers.into_iter().next());
    container.and_then(|container| container.image).context("the Pod does not say what its image is")
}

/// The public key of the Secret, which is made where there is none.
async fn public(client: Client, namespace: &str, name: &str) -> Result<PublicKey> {
    let kept = asb_operator::keep(client, namespace, name, pair()?).await;
    let kept = kept.with_context(|| format!("cannot keep a key in the Secret {namespace}/{name}"))?;
    read(&kept).with_context(|| format!("the key in the Secret {namespace}/{name} cannot be used"))
}

fn pair() -> Result<BTreeMap<String, ByteString>> {
    let private = PrivateKey::generate();
    let public = PrivateKey::read(&private).context("a key that was just made")?.public().text();
    let parts = [(PRIVATE, private), (PUBLIC, public)];
    Ok(parts.map(|(name, text)| (name.to_owned(), ByteString(text.into_bytes()))).into())
}

/// Both halves are read: one without the other, or of another, would let nobody in.
fn read(kept: &BTreeMap<String, ByteString>) -> Result<PublicKey> {
    let part = |name: &str| -> Result<&str> {
        let bytes = kept.get(name).with_context(|| format!("it has no `{name}`"))?;
        std::str::from_utf8(&bytes.0).with_context(|| format!("its `{name}` is no text"))
    };
    let public = PrivateKey::read(part(PRIVATE)?)?.public();
    anyhow::ensure!(PublicKey::read(part(PUBLIC)?)? == public, "its two halves are of different keys");
    Ok(public)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_what_was_made_and_from_nothing_else() {
        let (kept, other) = (pair().expect("a key"), pair().expect("a key"));
        let public = read(&kept).expect("both halves");
        assert_eq!(kept[PUBLIC].0, public.text().into_bytes());
        let mixed = [(PRIVATE.to_owned(), kept[PRIVATE].clone()), (PUBLIC.to_owned(), other[PUBLIC].clone())];
        assert!(read(&mixed.into()).is_err());
        assert!(read(&BTreeMap::new()).is_err());
    }
}
