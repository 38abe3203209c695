//! A registry in this process: it serves images that are made for the test, and stops in their middle where it is told to.

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use asb_node::images::digest::Digest;
use asb_node::images::platform::Platform;
use asb_tests::wait;
use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RANGE};
use http::{Request, Response, StatusCode};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// How much goes out at a time.
const CHUNK: usize = 32 << 10;
/// Of an image that nobody has yet.
const NOISE: u32 = 2048;

#[derive(Clone)]
pub(crate) struct Registry {
    address: String,
    shelf: Arc<Shelf>,
    _task: Arc<AbortOnDropHandle<()>>,
}

struct Shelf {
    /// By path: kind and content.
    things: Mutex<HashMap<String, (&'static str, Bytes)>>,
    /// How many bytes of layers have gone out, and how many may.
    served: watch::Sender<u64>,
    most: watch::Sender<u64>,
}

type Body = StreamBody<stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

impl Registry {
    pub(crate) async fn open() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let shelf = Arc::new(Shelf {
            things: Mutex::default(),
            served: watch::Sender::new(0),
            most: watch::Sender::new(u64::MAX),
        });
        let task = tokio::spawn(serve(listener, Arc::clone(&shelf)));
        Ok(Self { address, shelf, _task: Arc::new(AbortOnDropHandle::new(task)) })
    }

    /// Serves an image like no other, and says what it is called: busybox, a file of noise, and the sum of that.
    pub(crate) fn publish(&self, number: u64) -> Result<String> {
        let noise = noise(number);
        let sums = format!("{}  /noise\n", Digest::of(&noise).hex());
        let layers = [shell()?, archive(&[("noise", &noise, 0o644), ("sums", sums.as_bytes(), 0o644)], &[])?];
        let diffs: Vec<Digest> = layers.iter().map(|layer| Digest::of(layer)).collect();
        let platform = Platform::of_this_machine();
        let config = json!({
            "os": platform.os, "architecture": platform.architecture, "config": {"Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": diffs},
        });
        let config = config.to_string().into_bytes();
        let described: Vec<Value> = layers.iter().map(|layer| describe(LAYER, layer)).collect();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "layers": described, "config": describe(CONFIG, &config),
        });
        let manifest = manifest.to_string().into_bytes();
        let mut things = self.shelf.things.lock().unwrap_or_else(PoisonError::into_inner);
        for blob in layers.into_iter().chain([config]) {
            let path = format!("/v2/team/noise/blobs/{}", Digest::of(&blob));
            things.insert(path, ("application/octet-stream", blob.into()));
        }
        let tagged = format!("/v2/team/noise/manifests/{number}");
        let by_digest = format!("/v2/team/noise/manifests/{}", Digest::of(&manifest));
        for path in [tagged, by_digest] {
            things.insert(path, (MANIFEST, manifest.clone().into()));
        }
        Ok(format!("{}/team/noise:{number}", self.address))
    }

    /// How many bytes there are to fetch.
    pub(crate) fn size(&self) -> u64 {
        let things = self.shelf.things.lock().unwrap_or_else(PoisonError::into_inner);
        let blobs = things.iter().filter(|(path, _)| path.contains("/blobs/"));
        blobs.map(|(_, (_, content))| content.len() as u64).sum()
    }

    /// Serves so many bytes in all, and then waits.
    pub(crate) fn allow(&self, most: u64) {
        self.shelf.most.send_replace(most);
    }

    pub(crate) fn served(&self) -> u64 {
        *self.shelf.served.borrow()
    }

    /// Waits until all is served that may be.
    pub(crate) async fn stalled(&self) -> Result<()> {
        let (mut served, most) = (self.shelf.served.subscribe(), *self.shelf.most.borrow());
        let all = tokio::time::timeout(wait::DEADLINE, served.wait_for(|served| *served >= most));
        all.await.context("nobody fetches")?.map(drop).context("the registry is closed")
    }
}

async fn serve(listener: TcpListener, shelf: Arc<Shelf>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shelf = Arc::clone(&shelf);
        let service = service_fn(move |request| {
            let answer = answer(&shelf, &request);
            async move { answer }
        });
        // Whoever asks may be killed at any moment.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

fn answer(shelf: &Arc<Shelf>, request: &Request<Incoming>) -> http::Result<Response<Body>> {
    let path = request.uri().path();
    if path == "/v2/" {
        return Response::builder().status(StatusCode::OK).body(body(shelf, Bytes::new(), false));
    }
    let found = shelf.things.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
    let Some((kind, content)) = found else {
        return Response::builder().status(StatusCode::NOT_FOUND).body(body(shelf, Bytes::new(), false));
    };
    let whole = content.len();
    let from = request.headers().get(RANGE).and_then(|range| begin(range.to_str().ok()?)).unwrap_or(0);
    let rest = content.slice(from.min(whole)..);
    let mut response = Response::builder().header(CONTENT_TYPE, kind).header(CONTENT_LENGTH, rest.len());
    if from > 0 {
        let range = format!("bytes {from}-{}/{whole}", whole.saturating_sub(1));
        response = response.status(StatusCode::PARTIAL_CONTENT).header(CONTENT_RANGE, range);
    }
    let is_head = request.method() == http::Method::HEAD;
    response.body(body(shelf, if is_head { Bytes::new() } else { rest }, path.contains("/blobs/")))
}

fn begin(range: &str) -> Option<usize> {
    range.strip_prefix("bytes=")?.split('-').next()?.parse().ok()
}

/// In pieces, and no further than is allowed.
fn body(shelf: &Arc<Shelf>, content: Bytes, counted: bool) -> Body {
    let next = move |(shelf, mut content): (Arc<Shelf>, Bytes)| async move {
        if content.is_empty() {
            return None;
        }
        let chunk = content.split_to(content.len().min(CHUNK));
        if counted {
            let mut most = shelf.most.subscribe();
            // It is there as long as the shelf is.
            let _ = most.wait_for(|most| *shelf.served.borrow() < *most).await;
            shelf.served.send_modify(|served| *served += chunk.len() as u64);
        }
        Some((Ok(Frame::data(chunk)), (shelf, content)))
    };
    StreamBody::new(Box::pin(stream::unfold((Arc::clone(shelf), content), next)))
}

/// A layer with busybox under the names that are needed.
fn shell() -> Result<Vec<u8>> {
    let busybox = std::fs::read(debian()?.join("bin/busybox")).context("read busybox")?;
    archive(&[("bin/busybox", &busybox, 0o755)], &["sh", "sleep", "cat", "sha256sum"])
}

/// Where programs of Debian packages are.
pub(crate) fn debian() -> Result<PathBuf> {
    let folder = std::env::var_os("ASB_TEST_DEBIAN");
    Ok(folder.context("ASB_TEST_DEBIAN is not set; `cargo xtask test torture` sets it")?.into())
}

fn archive(files: &[(&str, &[u8], u32)], links: &[&str]) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for (name, content, mode) in files {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(*mode);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, *content)?;
    }
    for name in links {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Symlink);
        header.set_mode(0o777);
        header.set_size(0);
        archive.append_link(&mut header, format!("bin/{name}"), "busybox")?;
    }
    Ok(archive.into_inner()?)
}

/// Bytes that no other image has.
fn noise(number: u64) -> Vec<u8> {
    let block = |part: u32| {
        let digest = Digest::of(format!("{number}.{part}").as_bytes());
        digest.hex().as_bytes().repeat(16)
    };
    (0..NOISE).flat_map(block).collect()
}

fn describe(kind: &str, content: &[u8]) -> Value {
    json!({"mediaType": kind, "digest": Digest::of(content), "size": content.len()})
}
