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
    pub since_time: Option<jiff::Timestamp>,
    pub tail_lines: Option<u64>,
    pub limit_bytes: Option<u64>,
    /// `Stdout`, `Stderr` or `All`.
    pub stream: Option<String>,
}

impl LogOptions {
    fn parse(query: &Query, pod: &str) -> Result<Self, Refusal> {
        let mut problems = Vec::new();
        let mut number = |name: &str, least: i64, words: &str| -> Result<Option<u64>, Refusal> {
            let Some(number) = query.number::<i64>(name)? else { return Ok(None) };
            if number < least {
                problems.push(format!("{name}: Invalid value: {number}: {words}"));
            }
            Ok(u64::try_from(number).ok())
        };
        let options = Self {
            follow: query.flag("follow"),
            previous: query.flag("previous"),
            timestamps: query.flag("timestamps"),
            tail_lines: number("tailLines", 0, "must be greater than or equal to 0")?,
            limit_bytes: number("limitBytes", 1, "must be greater than 0")?,
            since_seconds: number("sinceSeconds", 1, "must be greater than 0")?,
            since_time: query.first("sinceTime").filter(|time| !time.is_empty()).map(time).transpose()?,
            stream: query.first("stream").map(str::to_owned),
        };
        problems.extend(options.contradictions());
        if problems.is_empty() { Ok(options) } else { Err(invalid(pod, &problems)) }
    }

    fn contradictions(&self) -> Vec<String> {
        let stream = self.stream.as_deref().unwrap_or("All");
        let mut found = Vec::new();
        if self.since_seconds.is_some() && self.since_time.is_some() {
            let words = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            found.push(format!(": Forbidden: {words}"));
        }
        if !["All", "Stderr", "Stdout"].contains(&stream) {
            let words = "supported values: \"All\", \"Stderr\", \"Stdout\"";
            found.push(format!("stream: Unsupported value: {stream:?}: {words}"));
        }
        if stream != "All" && self.tail_lines.is_some() {
            let words = "`tailLines` and specific `stream` are mutually exclusive for now";
            found.push(format!(": Forbidden: {words}"));
        }
        found
    }
}

fn time(text: &str) -> Result<jiff::Timestamp, Refusal> {
    text.parse().map_err(|_| Refusal::Bad(format!("sinceTime: {text:?} is no time of RFC 3339")))
}

/// As the API server words it, one problem or several.
fn invalid(pod: &str, problems: &[String]) -> Refusal {
    let problems = match problems {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Refusal::Invalid(format!("PodLogOptions {pod:?} is invalid: {problems}"))
}

pub(super) async fn serve<P: PodStreams>(pods: &P, pod: Pod, uri: &Uri) -> Result<Response, Refusal> {
    let query = Query::of(uri);
    let options = LogOptions::parse(&query, &pod.name)?;
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
        LogOptions::parse(&Query::of(&format!("/log?{query}").parse().unwrap()), "box")
    }

    #[test]
    fn what_kubectl_asks_for_is_understood() {
        let expected = LogOptions { follow: true, tail_lines: Some(5), ..LogOptions::default() };
        assert_eq!(parse("container=main&follow=true&tailLines=5"), Ok(expected));
    }

    fn problem(query: &str) -> String {
        parse(query).unwrap_err().to_string()
    }

    #[test]
    fn what_is_not_allowed_is_refused_in_the_words_of_kubernetes() {
        assert_eq!(
            problem("limitBytes=0"),
            "PodLogOptions \"box\" is invalid: limitBytes: Invalid value: 0: must be greater than 0"
        );
        assert_eq!(
            problem("sinceSeconds=0&tailLines=-1"),
            "PodLogOptions \"box\" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, \
             sinceSeconds: Invalid value: 0: must be greater than 0]"
        );
        assert!(problem("sinceSeconds=1&sinceTime=2026-11-15T12:00:00Z").contains("at most one of"));
        assert!(problem("stream=Stdin").contains("Unsupported value: \"Stdin\""));
        assert!(problem("stream=Stdout&tailLines=1").contains("mutually exclusive"));
    }

    #[test]
    fn times_are_read_as_kubectl_writes_them() {
        let since = parse("sinceTime=2026-11-15T12%3A00%3A00%2B01%3A00").unwrap().since_time;
        assert_eq!(since, Some("2026-11-15T11:00:00Z".parse().unwrap()));
        assert!(matches!(parse("sinceTime=noon"), Err(Refusal::Bad(_))));
    }

    #[test]
    fn a_number_that_is_none_is_refused() {
        assert!(matches!(parse("tailLines=many"), Err(Refusal::Bad(_))));
    }
}
