//! What clients are told when their request is not carried: a status and `{"detail": …}`, in the words of the contract.

use asb_core::route::Bad;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{0}")]
    Bad(#[from] Bad),
    #[error("unauthenticated")]
    Unauthenticated,
    #[error("forbidden")]
    Forbidden,
    #[error("the API server could not be asked whether you may: try again")]
    Undecided,
    #[error("the router has just begun and does not know all sandboxes yet: try again")]
    Beginning,
    #[error("Could not connect to the backend sandbox: {0}")]
    Unreachable(String),
    #[error("Timed out waiting for the backend sandbox: {0}")]
    TooSlow(String),
    #[error("The request body is larger than {0} bytes.")]
    TooLarge(u64),
    #[error("Too many requests at a time: at most {0} for each client.")]
    TooMany(usize),
    #[error("The method, path or host of the request makes no sense.")]
    Nonsense,
    #[error("No transfer coding but chunked is known.")]
    Coding,
}

impl Refusal {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Bad(_) | Self::Nonsense => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Undecided | Self::Beginning => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreachable(_) => StatusCode::BAD_GATEWAY,
            Self::TooSlow(_) => StatusCode::GATEWAY_TIMEOUT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Coding => StatusCode::NOT_IMPLEMENTED,
        }
    }

    pub(crate) fn answer(&self) -> Response<Full<Bytes>> {
        let body = serde_json::json!({"detail": self.to_string()}).to_string();
        let mut answer = Response::new(Full::from(body));
        *answer.status_mut() = self.status();
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self {
            Self::Unauthenticated => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::TooMany(_) | Self::Undecided | Self::Beginning => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn a_refusal_is_a_status_and_a_detail() {
        let answer = Refusal::Unreachable("box \"1\"".to_owned()).answer();
        assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!(&body[..], br#"{"detail":"Could not connect to the backend sandbox: box \"1\""}"#);
    }
}
