//! Issues tokens that a registry believes, to who knows the password or shows an identity token.

use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::server::{PASSWORD, USER};

pub(crate) const IDENTITY: &str = "identity-of-alice";
const NAME: &str = "tests";
const SERVICE: &str = "registry";

pub(crate) struct Issuer {
    address: String,
    signer: Arc<Signer>,
    task: JoinHandle<()>,
}

struct Signer {
    certificate: String,
    /// As tokens carry it.
    encoded: String,
    key: EcdsaKeyPair,
}

impl Issuer {
    pub(crate) async fn start() -> Result<Self> {
        let signer = Arc::new(Signer::new()?);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let shared = Arc::clone(&signer);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let signer = Arc::clone(&shared);
                let service = service_fn(move |request| answer(request, Arc::clone(&signer)));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Ok(Self { address, signer, task })
    }

    /// What a registry needs to know to believe it.
    pub(crate) fn settings(&self, folder: &Path) -> Result<Value> {
        let roots = folder.join("issuer.pem");
        fs::write(&roots, &self.signer.certificate)?;
        let realm = format!("http://{}/token", self.address);
        Ok(json!({"token": {"realm": realm, "service": SERVICE, "issuer": NAME, "rootcertbundle": roots}}))
    }

    /// For who pushes, without asking.
    pub(crate) fn token(&self, repository: &str) -> Result<String> {
        self.signer.token(repository, &["pull", "push"])
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Signer {
    fn new() -> Result<Self> {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed([NAME.to_owned()])?;
        let (random, key) = (SystemRandom::new(), signing_key.serialize_der());
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &random)
            .map_err(|error| anyhow::anyhow!("the key of the issuer: {error}"))?;
        Ok(Self { certificate: cert.pem(), encoded: STANDARD.encode(cert.der()), key })
    }

    fn token(&self, repository: &str, actions: &[&str]) -> Result<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let header = json!({"typ": "JWT", "alg": "ES256", "x5c": [self.encoded]});
        let claims = json!({
            "iss": NAME, "sub": USER, "aud": SERVICE, "exp": now + 300, "nbf": now - 10, "iat": now, "jti": "1",
            "access": [{"type": "repository", "name": repository, "actions": actions}],
        });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let signature = self
            .key
            .sign(&SystemRandom::new(), signed.as_bytes())
            .map_err(|error| anyhow::anyhow!("sign a token: {error}"))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

async fn answer(
    request: Request<Incoming>,
    signer: Arc<Signer>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let issued = issue(request, &signer).await;
    let (status, body) = match issued {
        Ok(token) => (StatusCode::OK, json!({"token": token})),
        Err(error) => (StatusCode::UNAUTHORIZED, json!({"details": error.to_string()})),
    };
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    Ok(response)
}

/// Gives what was asked for, to read only.
async fn issue(request: Request<Incoming>, signer: &Signer) -> Result<String> {
    let (head, body) = request.into_parts();
    let form = String::from_utf8(body.collect().await?.to_bytes().to_vec())?;
    let expected = format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")));
    let knows = head.headers.get(AUTHORIZATION).is_some_and(|value| *value == *expected);
    let shows =
        form.contains("grant_type=refresh_token") && form.contains(&format!("refresh_token={IDENTITY}"));
    anyhow::ensure!(knows || shows, "nobody we know");
    let asked = if shows { form } else { head.uri.query().unwrap_or_default().to_owned() };
    let scope = asked.split("repository%3A").nth(1).context("a scope")?;
    let repository = scope.split("%3A").next().unwrap_or_default().replace("%2F", "/");
    signer.token(&repository, &["pull"])
}
