//! Reads answers in bounds: no longer than they may be, and no slower.

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::Deserialize;
use tokio::time::timeout;

use super::error::RegistryError;

const LONGEST_COMPLAINT: usize = 64 << 10;
const SHOWN: usize = 300;

#[derive(Deserialize)]
struct Complaints {
    #[serde(default)]
    errors: Vec<Complaint>,
    /// Of token servers.
    #[serde(default)]
    details: Option<String>,
    #[serde(default)]
    error_description: Option<String>,
}

#[derive(Deserialize)]
struct Complaint {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

/// An answer that is being read.
pub(super) struct Body {
    host: String,
    incoming: Incoming,
    stall: Duration,
}

impl Body {
    pub(super) fn of(host: &str, response: Response<Incoming>, stall: Duration) -> Self {
        Self { host: host.to_owned(), incoming: response.into_body(), stall }
    }

    /// The next bytes; nothing at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, RegistryError> {
        loop {
            let frame = timeout(self.stall, self.incoming.frame()).await.map_err(|_| self.stalled())?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(RegistryError::unreachable(&self.host, &error)),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => {}
                },
            }
        }
    }

    /// All of it, if it is no longer than `limit`.
    pub(super) async fn collect(mut self, limit: u64) -> Result<Vec<u8>, RegistryError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next().await? {
            if (bytes.len() + chunk.len()) as u64 > limit {
                let reason = format!("more than {limit} bytes where less were expected");
                return Err(RegistryError::protocol(&self.host, reason));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// What a server says of its refusal, in one line.
    pub(super) async fn complaint(mut self) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < LONGEST_COMPLAINT {
            match self.next().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                _ => break,
            }
        }
        complaint(&bytes)
    }

    fn stalled(&self) -> RegistryError {
        let reason = format!("no answer within {} seconds", self.stall.as_secs());
        RegistryError::Unreachable { host: self.host.clone(), reason }
    }
}

fn complaint(bytes: &[u8]) -> String {
    let Ok(read) = serde_json::from_slice::<Complaints>(bytes) else { return String::new() };
    let said = read.errors.iter().map(|it| format!("{}: {}", it.code.to_lowercase(), it.message));
    let said: Vec<String> = said.chain(read.details).chain(read.error_description).collect();
    let is_plain = |character: &char| !character.is_control();
    said.join(", ").chars().filter(is_plain).take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_one_short_line() {
        let bytes =
            br#"{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest\nunknown", "detail": {}}]}"#;
        assert_eq!(complaint(bytes), "manifest_unknown: manifestunknown");
        assert_eq!(
            complaint(br#"{"details": "incorrect username or password"}"#),
            "incorrect username or password"
        );
        assert_eq!(complaint(b"<html>"), "");
        let long = format!(r#"{{"details": "{}"}}"#, "x".repeat(1000));
        assert_eq!(complaint(long.as_bytes()).len(), SHOWN);
    }
}
