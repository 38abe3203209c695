//! What a client is told when no stream comes about: a Kubernetes Status with the code that fits.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::pods;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// The request itself is wrong.
    #[error("{0}")]
    Bad(String),
    /// Its parameters are understood and not allowed.
    #[error("{0}")]
    Invalid(String),
    /// Neither side's list of protocols has one of the other's.
    #[error("unable to upgrade: none of the client's protocols {asked:?} is one of {known:?}")]
    Protocol { asked: Vec<String>, known: &'static [&'static str] },
    #[error("there are {0} streaming sessions already; close some, or try again later")]
    Busy(usize),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Internal(String),
}

impl Refusal {
    fn code_and_reason(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Bad(_) => (StatusCode::BAD_REQUEST, "BadRequest"),
            Self::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "Invalid"),
            Self::Protocol { .. } => (StatusCode::FORBIDDEN, "Forbidden"),
            Self::Busy(_) => (StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"),
            Self::NotFound(_) => (StatusCode::NOT_FOUND, "NotFound"),
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
        }
    }
}

impl From<pods::Error> for Refusal {
    fn from(error: pods::Error) -> Self {
        match error {
            pods::Error::Bad(message) => Self::Bad(message),
            pods::Error::NotFound(message) => Self::NotFound(message),
            pods::Error::Failed(message) => Self::Internal(message),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (code, reason) = self.code_and_reason();
        let status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.to_string(),
            "reason": reason,
            "code": code.as_u16(),
        });
        let mut response = Response::new(Body::from(status.to_string()));
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        if let Self::Protocol { known, .. } = self {
            for protocol in known {
                let name = "x-accepted-stream-protocol-versions";
                headers.append(name, header::HeaderValue::from_static(protocol));
            }
        }
        response
    }
}
