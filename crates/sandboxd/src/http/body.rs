//! The body of a request, read with patience and a bound.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::failure::{Code, Failure};

pub(crate) struct Chunks {
    body: Incoming,
    left: u64,
    most: u64,
    patience: Duration,
}

impl Chunks {
    pub(crate) fn new(body: Incoming, most: u64, patience: Duration) -> Self {
        Self { body, left: most, most, patience }
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            let frame = tokio::time::timeout(self.patience, self.body.frame()).await;
            let frame = frame.map_err(|_| Failure::new(Code::DeadlineExceeded, "the body does not go on"))?;
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|error| Failure::invalid(format!("the body is broken: {error}")))?;
            // Trailers say nothing to us.
            let Ok(bytes) = frame.into_data() else { continue };
            self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| {
                Failure::new(Code::TooLarge, format!("the body is larger than {} bytes", self.most))
            })?;
            return Ok(Some(bytes));
        }
    }

    pub(crate) async fn all(mut self) -> Result<Vec<u8>, Failure> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            whole.extend_from_slice(&bytes);
        }
        Ok(whole)
    }
}
