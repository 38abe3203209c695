//! One repository at one place, as one user: manifests and blobs of it.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_RANGE, HeaderName, RANGE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Response, Uri};
use hyper::body::Incoming;

use super::super::digest::Digest;
use super::super::manifest::ACCEPTED;
use super::authorization::Request;
use super::body::Body;
use super::challenge::challenges;
use super::credentials::Credential;
use super::error::RegistryError;
use super::retry::Retry;
use super::settings::Endpoint;
use super::transport::{Outgoing, Transport, Transports};

const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

pub struct Remote {
    endpoint: Endpoint,
    repository: String,
    credential: Credential,
    /// Added to the complaint when access is denied.
    hint: String,
    transport: Transport,
    retry: Retry,
    /// What the registry accepted last.
    accepted: Mutex<Option<HeaderValue>>,
}

/// A blob from some byte on.
pub struct Part {
    pub start: u64,
    body: Body,
}

impl Part {
    pub async fn next(&mut self) -> Result<Option<Bytes>, RegistryError> {
        self.body.next().await
    }
}

impl Remote {
    pub fn new(
        transports: &Transports,
        endpoint: Endpoint,
        repository: &str,
        credential: Credential,
        hint: String,
        retry: &Retry,
    ) -> io::Result<Self> {
        Ok(Self {
            transport: transports.to(&endpoint)?,
            endpoint,
            repository: repository.to_owned(),
            credential,
            hint,
            retry: retry.clone(),
            accepted: Mutex::default(),
        })
    }

    pub fn host(&self) -> &str {
        &self.endpoint.host
    }

    /// A manifest or an index by tag or digest, of at most so many bytes, with the digest it is known by.
    pub async fn manifest(&self, version: &str, limit: u64) -> Result<(Vec<u8>, Digest), RegistryError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_str(&ACCEPTED.join(", ")).expect("media types are ASCII"));
        let (response, bytes) = self.whole(&format!("manifests/{version}"), headers, limit).await?;
        let claimed =
            response.get(CONTENT_DIGEST).and_then(|value| value.to_str().ok()?.parse::<Digest>().ok());
        let wanted = version.parse::<Digest>().ok().or(claimed);
        let digest = wanted.as_ref().map_or_else(|| Digest::of(&bytes), |wanted| wanted.again(&bytes));
        match wanted {
            Some(wanted) if wanted != digest => {
                Err(self.odd(format!("{digest} where {wanted} was asked for")))
            }
            _ => Ok((bytes, digest)),
        }
    }

    /// A small blob.
    pub async fn blob(&self, digest: &Digest, limit: u64) -> Result<Vec<u8>, RegistryError> {
        let (_, bytes) = self.whole(&format!("blobs/{digest}"), HeaderMap::new(), limit).await?;
        let found = digest.again(&bytes);
        if found == *digest {
            Ok(bytes)
        } else {
            Err(self.odd(format!("{found} where {digest} was asked for")))
        }
    }

    /// A blob from `start` on, or from its beginning where the registry knows no parts. Tried once: who reads it knows
    /// better how far it got.
    pub async fn part(&self, digest: &Digest, start: u64, size: u64) -> Result<Part, RegistryError> {
        let mut headers = HeaderMap::new();
        if start > 0 {
            let range = HeaderValue::from_str(&format!("bytes={start}-")).expect("a number is ASCII");
            headers.insert(RANGE, range);
        }
        let response = self.get(&format!("blobs/{digest}"), &headers).await?;
        let start = match response.status().as_u16() {
            206 => {
                let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
                let fits = range.is_some_and(|range| continues(range, start, size));
                fits.then_some(start).ok_or_else(|| self.odd("another part of a blob than was asked for"))?
            }
            _ => 0,
        };
        Ok(Part { start, body: Body::of(self.host(), response, self.transport.stall) })
    }

    /// A short answer, with patience.
    async fn whole(
        &self,
        path: &str,
        headers: HeaderMap,
        limit: u64,
    ) -> Result<(HeaderMap, Vec<u8>), RegistryError> {
        let mut failures = 0;
        loop {
            let error = match self.short(path, &headers, limit).await {
                Err(error) if error.is_passing() => error,
                settled => return settled,
            };
            failures += 1;
            let Some(wait) = self.retry.wait(failures, error.after()) else { return Err(error) };
            tracing::debug!(%error, ?wait, "a registry is asked again");
            tokio::time::sleep(wait).await;
        }
    }

    async fn short(
        &self,
        path: &str,
        headers: &HeaderMap,
        limit: u64,
    ) -> Result<(HeaderMap, Vec<u8>), RegistryError> {
        let response = self.get(path, headers).await?;
        let headers = response.headers().clone();
        let bytes = Body::of(self.host(), response, self.transport.stall).collect(limit).await?;
        Ok((headers, bytes))
    }

    /// Asks once, and once more with what the registry wants to see.
    async fn get(&self, path: &str, headers: &HeaderMap) -> Result<Response<Incoming>, RegistryError> {
        let mut outgoing = self.outgoing(path, headers)?;
        let response = self.transport.send(outgoing.clone()).await?;
        if response.status() != 401 {
            return self.settled(response).await;
        }
        let request = Request {
            transport: &self.transport,
            host: self.host(),
            scheme: self.endpoint.scheme(),
            repository: &self.repository,
            credential: &self.credential,
        };
        let accepted =
            request.meet(&challenges(response.headers())).await.map_err(|error| self.hinted(error))?;
        outgoing.headers.insert(AUTHORIZATION, accepted.clone());
        let response = self.settled(self.transport.send(outgoing).await?).await?;
        *self.accepted.lock().unwrap_or_else(PoisonError::into_inner) = Some(accepted);
        Ok(response)
    }

    fn outgoing(&self, path: &str, headers: &HeaderMap) -> Result<Outgoing, RegistryError> {
        let Endpoint { host, path: before, stands_for, .. } = &self.endpoint;
        let query = stands_for.as_ref().map(|name| format!("?ns={name}")).unwrap_or_default();
        let address =
            format!("{}://{host}{before}/v2/{}/{path}{query}", self.endpoint.scheme(), self.repository);
        let uri: Uri = address.parse().map_err(|_| self.odd("no address"))?;
        let mut headers = headers.clone();
        if let Some(accepted) = self.accepted.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            headers.insert(AUTHORIZATION, accepted);
        }
        Ok(Outgoing { method: Method::GET, uri, headers, body: Bytes::new() })
    }

    /// An answer that is one, or what it means instead.
    async fn settled(&self, response: Response<Incoming>) -> Result<Response<Incoming>, RegistryError> {
        let status = response.status().as_u16();
        if matches!(status, 200 | 206) {
            return Ok(response);
        }
        let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let message = Body::of(self.host(), response, self.transport.stall).complaint().await;
        let host = self.host().to_owned();
        Err(match status {
            404 => RegistryError::NotFound { host, message },
            401 | 403 => RegistryError::Unauthorized { host, message, hint: self.hint.clone() },
            408 | 429 | 500.. => {
                RegistryError::Busy { host, status, message, after: after.map(Duration::from_secs) }
            }
            _ => RegistryError::Refused { host, status, message },
        })
    }

    fn hinted(&self, error: RegistryError) -> RegistryError {
        match error {
            RegistryError::Unauthorized { host, message, .. } => {
                RegistryError::Unauthorized { host, message, hint: self.hint.clone() }
            }
            other => other,
        }
    }

    fn odd(&self, reason: impl Into<String>) -> RegistryError {
        RegistryError::protocol(self.host(), reason)
    }
}

/// Whether `bytes start-end/size` goes on from where we are.
fn continues(range: &str, start: u64, size: u64) -> bool {
    let Some((span, total)) = range.strip_prefix("bytes ").and_then(|range| range.split_once('/')) else {
        return false;
    };
    let begins = span.split_once('-').and_then(|(first, _)| first.parse::<u64>().ok());
    begins == Some(start) && (total == "*" || total.parse() == Ok(size))
}
