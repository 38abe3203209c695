//! Turns a challenge and a credential into what goes into the `Authorization` header.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Uri};
use serde::Deserialize;

use super::body::Body;
use super::challenge::Challenge;
use super::credentials::Credential;
use super::error::RegistryError;
use super::transport::{Outgoing, Transport, host};

const LONGEST_TOKEN: u64 = 1 << 20;

#[derive(Deserialize)]
struct Issued {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
}

/// Who asks whom for what.
pub(super) struct Request<'a> {
    pub(super) transport: &'a Transport,
    /// The registry's, for messages.
    pub(super) host: &'a str,
    pub(super) scheme: &'static str,
    pub(super) repository: &'a str,
    pub(super) credential: &'a Credential,
}

impl Request<'_> {
    /// Meets the first challenge that the credential is good for.
    pub(super) async fn meet(&self, challenges: &[Challenge]) -> Result<HeaderValue, RegistryError> {
        for challenge in challenges {
            match (challenge, self.credential) {
                (Challenge::Basic, Credential::Password { user, password }) => {
                    return self.header(&basic(user, password));
                }
                (Challenge::Bearer { .. }, Credential::Token(token)) => {
                    return self.header(&format!("Bearer {token}"));
                }
                (Challenge::Bearer { realm, service, scope }, _) => {
                    let token = self.token(realm, service.as_deref(), scope.as_deref()).await?;
                    return self.header(&format!("Bearer {token}"));
                }
                (Challenge::Basic, _) => {}
            }
        }
        Err(self.denied("authentication is required"))
    }

    async fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        scope: Option<&str>,
    ) -> Result<String, RegistryError> {
        let address = self.realm(realm)?;
        let usual = format!("repository:{}:pull", self.repository);
        let mut fields = vec![("scope", scope.unwrap_or(&usual))];
        fields.extend(service.map(|service| ("service", service)));
        let outgoing = match self.credential {
            Credential::Identity(token) => traded(address, &fields, token),
            other => asked(&address, &fields, other).ok_or_else(|| self.odd("a realm that is no address"))?,
        };
        self.issued(outgoing).await
    }

    /// Credentials that go to the registry under protection go nowhere without.
    fn realm(&self, realm: &str) -> Result<Uri, RegistryError> {
        let address: Uri = realm.parse().map_err(|_| self.odd("a realm that is no address"))?;
        match address.scheme_str() {
            Some("https") => Ok(address),
            Some("http") if self.scheme == "http" => Ok(address),
            Some("http") => Err(self.odd("a demand to send credentials out of HTTPS")),
            _ => Err(self.odd("a realm that is no address")),
        }
    }

    async fn issued(&self, outgoing: Outgoing) -> Result<String, RegistryError> {
        let server = host(&outgoing.uri);
        let response = self.transport.send(outgoing).await?;
        let status = response.status();
        let body = Body::of(&server, response, self.transport.stall);
        match status.as_u16() {
            200 => {}
            401 | 403 => return Err(self.denied(&body.complaint().await)),
            429 | 500.. => {
                let message = body.complaint().await;
                return Err(RegistryError::Busy {
                    host: server,
                    status: status.as_u16(),
                    message,
                    after: None,
                });
            }
            code => {
                let message = body.complaint().await;
                return Err(RegistryError::Refused { host: server, status: code, message });
            }
        }
        let bytes = body.collect(LONGEST_TOKEN).await?;
        let issued: Option<Issued> = serde_json::from_slice(&bytes).ok();
        let token = issued.and_then(|issued| issued.token.or(issued.access_token));
        token.filter(|token| !token.is_empty()).ok_or_else(|| self.odd("no token where one was asked for"))
    }

    fn header(&self, value: &str) -> Result<HeaderValue, RegistryError> {
        let mut value =
            HeaderValue::from_str(value).map_err(|_| self.denied("the credentials cannot be sent"))?;
        value.set_sensitive(true);
        Ok(value)
    }

    fn denied(&self, message: &str) -> RegistryError {
        RegistryError::Unauthorized {
            host: self.host.to_owned(),
            message: message.to_owned(),
            hint: String::new(),
        }
    }

    fn odd(&self, reason: &str) -> RegistryError {
        RegistryError::protocol(self.host, reason)
    }
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// Asks for a token, with a password or as anybody.
fn asked(address: &Uri, fields: &[(&str, &str)], credential: &Credential) -> Option<Outgoing> {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let glue = if address.query().is_some() { '&' } else { '?' };
    let uri = format!("{address}{glue}{query}").parse().ok()?;
    let mut headers = HeaderMap::new();
    if let Credential::Password { user, password } = credential {
        let mut value = HeaderValue::from_str(&basic(user, password)).ok()?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Some(Outgoing { method: Method::GET, uri, headers, body: Bytes::new() })
}

/// Trades an identity token for one to pull with.
fn traded(uri: Uri, fields: &[(&str, &str)], token: &str) -> Outgoing {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .extend_pairs([("grant_type", "refresh_token"), ("client_id", "asb"), ("refresh_token", token)])
        .finish();
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    Outgoing { method: Method::POST, uri, headers, body: body.into() }
}
