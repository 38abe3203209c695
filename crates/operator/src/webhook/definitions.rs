//! Tells the API server where the webhook is and whom to trust for it: in the definition of each of our kinds, at the
//! start, when the certificates change, and again whenever somebody applies the definition without it.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Host;
use super::followed::{Error, Place, Seen};
use super::identity::Identity;

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PAUSE: Duration = Duration::from_secs(2);

/// Where a definition is.
pub(super) fn place(name: &str) -> Place {
    Place { path: PATH.to_owned(), name: name.to_owned() }
}

/// Keeps one definition right, for ever. One that is missing is waited for.
pub(super) async fn keep(
    client: Client,
    name: &'static str,
    host: Host,
    mut seen: watch::Receiver<Seen>,
    mut served: watch::Receiver<Option<Arc<Identity>>>,
) {
    loop {
        let definition = seen.borrow_and_update().clone();
        let identity = served.borrow_and_update().clone();
        let change = match (&definition, identity.as_ref().and_then(|identity| identity.bundle.as_deref())) {
            (Seen::There(definition), Some(bundle)) => change(definition, &host, bundle),
            _ => None,
        };
        let is_settled = match change {
            None => true,
            Some(change) => patch(&client, name, &change).await,
        };
        tokio::select! {
            biased;
            _ = seen.changed() => {}
            _ = served.changed() => {}
            () = tokio::time::sleep(PAUSE), if !is_settled => {}
        }
    }
}

async fn patch(client: &Client, name: &str, change: &Value) -> bool {
    let send = async {
        let request = Request::new(PATH).patch(name, &PatchParams::default(), &Patch::Merge(change))?;
        Ok::<_, Error>(client.request::<Value>(request).await?)
    };
    match send.await {
        Ok(_) => {
            tracing::info!(definition = name, "told the API server where to convert");
            true
        }
        Err(error) => {
            tracing::warn!(definition = name, %error, "cannot tell the API server where to convert, trying again");
            false
        }
    }
}

/// What is to be changed in a definition, if anything. One that asks no webhook is left alone.
fn change(definition: &Value, host: &Host, bundle: &str) -> Option<Value> {
    let conversion = &definition["spec"]["conversion"];
    let wanted = json!({
        "caBundle": STANDARD.encode(bundle),
        "service": {
            "name": host.service,
            "namespace": host.namespace,
            "path": asb_types::crd::WEBHOOK_PATH,
            "port": host.port(),
        },
    });
    let is_right = conversion["webhook"]["clientConfig"] == wanted;
    if conversion["strategy"] != "Webhook" || is_right {
        return None;
    }
    let mut wanted = wanted;
    // A definition has either; whoever applies ours again names the Service, and could not beside a URL.
    wanted["url"] = Value::Null;
    Some(json!({"spec": {"conversion": {"webhook": {"clientConfig": wanted}}}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Host {
        Host {
            service: "hook".to_owned(),
            namespace: "system".to_owned(),
            cluster_domain: "cluster.local".to_owned(),
            external: None,
        }
    }

    fn definition(strategy: &str, config: &Value) -> Value {
        json!({"spec": {"conversion": {"strategy": strategy, "webhook": {"clientConfig": config}}}})
    }

    #[test]
    fn a_definition_as_it_is_shipped_gets_the_authorities() {
        let shipped = definition("Webhook", &json!({"service": {"name": "hook", "namespace": "system"}}));
        let change = change(&shipped, &host(), "PEM").expect("it lacks the authorities");
        insta::assert_json_snapshot!(change["spec"]["conversion"]["webhook"]["clientConfig"], @r#"
        {
          "caBundle": "UEVN",
          "service": {
            "name": "hook",
            "namespace": "system",
            "path": "/convert",
            "port": 443
          },
          "url": null
        }
        "#);
    }

    #[test]
    fn a_definition_that_is_right_or_asks_no_webhook_is_left_alone() {
        let service = json!({"name": "hook", "namespace": "system", "path": "/convert", "port": 443});
        let right = definition("Webhook", &json!({"caBundle": "UEVN", "service": service}));
        assert_eq!(change(&right, &host(), "PEM"), None);
        assert_eq!(change(&definition("None", &Value::Null), &host(), "PEM"), None);
    }

    #[test]
    fn a_url_gives_way_to_the_service() {
        let url = definition("Webhook", &json!({"caBundle": "UEVN", "url": "https://127.0.0.1/convert"}));
        let change = change(&url, &host(), "PEM").expect("it names another place");
        assert_eq!(change["spec"]["conversion"]["webhook"]["clientConfig"]["url"], Value::Null);
    }
}
