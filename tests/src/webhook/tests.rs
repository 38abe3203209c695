//! The server as an API server talks to it: over TLS, trusting one authority.

use hyper::client::conn::http1 as client;
use serde_json::json;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::*;

fn trusting(authority: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// Posts as an API server would, trusting only the given authority.
async fn post(webhook: &Webhook, authority: &str, body: &str) -> std::io::Result<(StatusCode, Bytes)> {
    let stream = TcpStream::connect(webhook.address).await?;
    let name = ServerName::IpAddress(webhook.address.ip().into());
    let stream = trusting(authority).connect(name, stream).await?;
    let (mut sender, connection) = client::handshake(TokioIo::new(stream)).await.unwrap();
    let request = Request::post("/convert").body(Full::<Bytes>::from(body.to_owned())).unwrap();
    let talk = async move {
        let response = sender.send_request(request).await.unwrap();
        (response.status(), response.into_body().collect().await.unwrap().to_bytes())
    };
    let (answer, _) = tokio::join!(talk, connection);
    Ok(answer)
}

async fn echo() -> Webhook {
    Webhook::serve(|review| json!({ "kind": "ConversionReview", "response": review })).await.unwrap()
}

#[tokio::test]
async fn the_handlers_answer_is_served_under_the_bundled_authority() {
    let webhook = echo().await;
    let (status, body) = post(&webhook, webhook.ca_bundle_pem(), r#"{"request": 1}"#).await.unwrap();
    let review: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status, StatusCode::OK);
    assert_eq!(review, json!({ "kind": "ConversionReview", "response": { "request": 1 } }));
}

#[tokio::test]
async fn what_is_no_json_is_refused() {
    let webhook = echo().await;
    let (status, _) = post(&webhook, webhook.ca_bundle_pem(), "not json").await.unwrap();
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn another_webhooks_authority_does_not_vouch_for_this_one() {
    let (webhook, other) = (echo().await, echo().await);
    assert!(post(&webhook, other.ca_bundle_pem(), "{}").await.is_err());
}
