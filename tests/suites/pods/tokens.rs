//! Tokens of ServiceAccounts: whose, for whom and for how long. That they are renewed is seen in `alone`.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use k8s_openapi::api::core::v1::ServiceAccount;
use serde_json::{Value, json};

use crate::spec::{With, idle, once, sh};
use crate::stage::Stage;

const MOUNTED: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// What a token says.
pub(crate) fn claims(token: &str) -> Result<Value> {
    let middle = token.split('.').nth(1).context("three parts")?;
    Ok(serde_json::from_slice(&URL_SAFE_NO_PAD.decode(middle)?)?)
}

#[tokio::test]
async fn a_pod_has_the_token_of_its_account_unless_it_wants_none() -> Result<()> {
    let stage = Stage::set().await?;
    stage.put::<ServiceAccount>("robot", json!({})).await?;
    let spec = once(sh(&format!("cat {MOUNTED}/token"))).with(json!({"serviceAccountName": "robot"}));
    let token = claims(&stage.run("robot", spec.clone()).await?)?;
    let namespace = stage.namespace.name();
    assert_eq!(token["sub"], format!("system:serviceaccount:{namespace}:robot"));
    assert_eq!(token["kubernetes.io"]["pod"]["name"], "robot");
    let old = once(sh(&format!("cat {MOUNTED}/token"))).with(json!({"serviceAccount": "robot"}));
    let token = claims(&stage.run("old", old).await?)?;
    assert_eq!(token["sub"], format!("system:serviceaccount:{namespace}:robot"));
    let none = once(sh(&format!("test -e {MOUNTED} || echo none")))
        .with(json!({"automountServiceAccountToken": false}));
    assert_eq!(stage.run("none", none).await?, "none");
    stage.finish().await
}

/// The shortest that there is holds for ten minutes.
#[tokio::test]
async fn a_token_is_for_whom_and_as_long_as_the_pod_says() -> Result<()> {
    let stage = Stage::set().await?;
    let source =
        json!({"serviceAccountToken": {"path": "deep/token", "audience": "vault", "expirationSeconds": 600}});
    let container = idle().with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
    let volumes = json!({"volumes": [{"name": "v", "projected": {"sources": [source]}}]});
    stage.start("holder", once(container).with(volumes)).await?;
    let token = claims(&stage.exec("holder", "cat /v/deep/token").await?)?;
    assert_eq!(token["aud"], json!(["vault"]));
    let span = token["exp"].as_i64().zip(token["iat"].as_i64()).map(|(end, begin)| end - begin);
    assert_eq!(span, Some(600));
    stage.finish().await
}
