//! What a container wrote, as a body that goes on for as long as the client follows it.

use axum::body::Body;
use axum::http::{Uri, header};
use axum::response::Response;

use super::pods::{Container, Pod, PodStreams};
use super::query::Query;
use super::refusal::Refusal;

/// Which part of a log is wanted, and in what form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Whether to go on with what is written from now on.
    pub follow: bool,
    /// Whether the container that ran before the last restart is meant.
    pub previous: bool,
    pub timestamps: bool,
    pub since_seconds: Option<u64>,
    /// RFC 3339.
    pub since_time: Option<String>,
    pub tail_lines: Option<u64>,
    pub limit_bytes: Option<u64>,
    /// `Stdout`, `Stderr` or `All`.
    pub stream: Option<String>,
}

impl LogOptions {
    fn parse(query: &Query) -> Result<Self, Refusal> {
        Ok(Self {
            follow: query.flag("follow"),
            previous: query.flag("previous"),
            timestamps: query.flag("timestamps"),
            since_seconds: query.number("sinceSeconds")?,
            since_time: query.first("sinceTime").map(str::to_owned),
            tail_lines: query.number("tailLines")?,
            limit_bytes: query.number("limitBytes")?,
            stream: query.first("stream").map(str::to_owned),
        })
    }
}

pub(super) async fn serve<P: PodStreams>(pods: &P, pod: Pod, uri: &Uri) -> Result<Response, Refusal> {
    let query = Query::of(uri);
    let options = LogOptions::parse(&query)?;
    let container = Container { pod, name: query.first("container").map(str::to_owned) };
    let log = pods.logs(&container, &options).await?;
    let mut response = Response::new(Body::from_stream(log));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<LogOptions, Refusal> {
        LogOptions::parse(&Query::of(&format!("/log?{query}").parse().unwrap()))
    }

    #[test]
    fn what_kubectl_asks_for_is_understood() {
        let expected = LogOptions { follow: true, tail_lines: Some(5), ..LogOptions::default() };
        assert_eq!(parse("container=main&follow=true&tailLines=5"), Ok(expected));
    }

    #[test]
    fn a_number_that_is_none_is_refused() {
        assert!(matches!(parse("tailLines=many"), Err(Refusal::Bad(_))));
    }
}
