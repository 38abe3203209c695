//! Answers an API server that wants objects in another version. The conversion itself is [`asb_types::conversion`].

use std::sync::Arc;
use std::time::Duration;

use asb_types::conversion::review;
use bytes::{Bytes, BytesMut};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Body;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::listener::{reply, text};

/// What all requests together may hold, in KiB. A list is converted in one request, however long.
const ROOM: usize = 512 * 1024;
/// What one request may hold.
const MOST: usize = 128 * 1024;
/// How long a request may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(super) struct Converter {
    room: Arc<Semaphore>,
}

impl Default for Converter {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(ROOM)) }
    }
}

/// Why a body was not taken.
enum Refusal {
    TooLarge,
    TooSlow,
    Broken,
}

impl Converter {
    pub(super) async fn answer<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        if request.uri().path() != asb_types::crd::WEBHOOK_PATH {
            return text(StatusCode::NOT_FOUND, "only /convert is served here\n");
        }
        if request.method() != Method::POST {
            return text(StatusCode::METHOD_NOT_ALLOWED, "reviews are posted\n");
        }
        let taken = tokio::time::timeout(PATIENCE, self.take(request.into_body())).await;
        match taken.unwrap_or(Err(Refusal::TooSlow)) {
            Ok((body, held)) => {
                let answer = convert(body).await;
                drop(held);
                answer
            }
            Err(Refusal::TooLarge) => text(StatusCode::PAYLOAD_TOO_LARGE, "the review is too large\n"),
            Err(Refusal::TooSlow) => text(StatusCode::REQUEST_TIMEOUT, "the review did not arrive in time\n"),
            Err(Refusal::Broken) => text(StatusCode::BAD_REQUEST, "the review broke off\n"),
        }
    }

    /// The whole body, and the room that it holds.
    async fn take<B>(&self, mut body: B) -> Result<(Bytes, Vec<SemaphorePermit<'_>>), Refusal>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let (mut taken, mut held) = (BytesMut::new(), Vec::new());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| Refusal::Broken)?.into_data() else { continue };
            let size = u32::try_from(data.len().div_ceil(1024)).map_err(|_| Refusal::TooLarge)?;
            held.push(self.room.acquire_many(size).await.map_err(|_| Refusal::Broken)?);
            taken.extend_from_slice(&data);
            if taken.len() > MOST * 1024 {
                return Err(Refusal::TooLarge);
            }
        }
        Ok((taken.freeze(), held))
    }
}

/// A long list takes a while, and nobody else is to wait for it.
async fn convert(body: Bytes) -> Response<Full<Bytes>> {
    let converted = tokio::task::spawn_blocking(move || {
        let review = review(serde_json::from_slice(&body)?);
        serde_json::to_vec(&review)
    });
    match converted.await {
        Ok(Ok(answer)) => reply(StatusCode::OK, "application/json", answer),
        Ok(Err(_)) => text(StatusCode::BAD_REQUEST, "the body is no ConversionReview\n"),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "a bug stopped the conversion\n"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    async fn ask(method: Method, path: &str, body: &str) -> (StatusCode, Bytes) {
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Full::<Bytes>::from(body.to_owned())).unwrap();
        let answer = Converter::default().answer(request).await;
        (answer.status(), answer.into_body().collect().await.unwrap().to_bytes())
    }

    #[tokio::test]
    async fn a_review_is_answered() {
        let review = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": {"uid": "705ab4f5", "desiredAPIVersion": "agents.x-k8s.io/v1beta1", "objects": []},
        });
        let (status, answer) = ask(Method::POST, "/convert", &review.to_string()).await;
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!((status, &answer["response"]["uid"]), (StatusCode::OK, &json!("705ab4f5")));
    }

    #[tokio::test]
    async fn what_is_no_review_is_refused() {
        assert_eq!(ask(Method::POST, "/convert", "{").await.0, StatusCode::BAD_REQUEST);
        assert_eq!(ask(Method::GET, "/convert", "").await.0, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(ask(Method::POST, "/", "{}").await.0, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn a_review_of_any_length_does_not_fill_the_memory() {
        let (status, _) = ask(Method::POST, "/convert", &" ".repeat(MOST * 1024 + 1)).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    }
}
