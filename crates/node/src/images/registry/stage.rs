//! A registry for tests, which answers as it is told and remembers what it was asked.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::images::digest::Digest;
use crate::images::fixture::Parts;

pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    /// With the query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    /// How many came before it.
    pub(crate) number: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Breaks the connection after so many bytes.
    cut: Option<usize>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub(crate) fn reply(status: u16, body: impl Into<Vec<u8>>) -> Reply {
    Reply { status, headers: vec![], body: body.into(), cut: None }
}

impl Reply {
    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    pub(crate) fn cut(mut self, after: usize) -> Self {
        self.cut = Some(after);
        self
    }
}

impl Stage {
    pub(crate) async fn new(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(answer);
        let log = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                let service =
                    service_fn(move |request| serve(request, Arc::clone(&answer), Arc::clone(&log)));
                tokio::spawn(async move {
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, seen, task }
    }

    /// Serves an image as `app:1` and by its digest; `before` may answer instead.
    pub(crate) async fn with(
        parts: &Parts,
        before: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let mut content: HashMap<String, Vec<u8>> = HashMap::new();
        for version in ["1".to_owned(), parts.digest().to_string()] {
            content.insert(format!("/v2/app/manifests/{version}"), parts.manifest.clone());
        }
        for blob in parts.layers.iter().chain([&parts.config]) {
            content.insert(format!("/v2/app/blobs/{}", Digest::of(blob)), blob.clone());
        }
        Self::new(move |seen| before(seen).unwrap_or_else(|| ranged(seen, &content))).await
    }

    pub(crate) fn reference(&self) -> String {
        format!("{}/app:1", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The paths that were asked for and hold `part`.
    pub(crate) fn asked(&self, part: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.path.contains(part)).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn ranged(seen: &Seen, content: &HashMap<String, Vec<u8>>) -> Reply {
    let path = seen.path.split('?').next().unwrap();
    let Some(bytes) = content.get(path) else {
        return reply(404, r#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#);
    };
    match seen.header("range").strip_prefix("bytes=").and_then(|range| range.strip_suffix('-')) {
        None => reply(200, bytes.clone()),
        Some(start) => {
            let start: usize = start.parse().unwrap();
            let range = format!("bytes {start}-{}/{}", bytes.len() - 1, bytes.len());
            reply(206, &bytes[start..]).with("content-range", range)
        }
    }
}

async fn serve(
    request: Request<Incoming>,
    answer: Arc<impl Fn(&Seen) -> Reply>,
    log: Arc<Mutex<Vec<Seen>>>,
) -> Result<Response<BoxBody<Bytes, io::Error>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let seen = {
        let mut log = log.lock().unwrap();
        let seen = Seen {
            method: head.method,
            path: head.uri.to_string(),
            headers: head.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
            number: log.len(),
        };
        log.push(seen.clone());
        seen
    };
    Ok(response(answer(&seen)))
}

fn response(reply: Reply) -> Response<BoxBody<Bytes, io::Error>> {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    let Some(cut) = reply.cut else {
        let body = Full::new(Bytes::from(reply.body)).map_err(|never| match never {}).boxed();
        return response.body(body).unwrap();
    };
    let response = response.header("content-length", reply.body.len());
    let sent = stream::iter([Ok(Frame::data(Bytes::copy_from_slice(&reply.body[..cut])))]);
    let broken = stream::once(async {
        // What was sent so far is to arrive.
        tokio::task::yield_now().await;
        Err(io::Error::other("cut"))
    });
    response.body(BodyExt::boxed(StreamBody::new(sent.chain(broken)))).unwrap()
}
