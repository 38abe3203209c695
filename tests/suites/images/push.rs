//! Puts images into a registry, as its own clients do.

use anyhow::{Context, Result, ensure};
use asb_node::images::digest::Digest;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, LOCATION};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::image::{Image, MANIFEST};

/// Of `alice` with her password.
const BASIC: &str = "Basic YWxpY2U6b3BlbiBzZXNhbWU=";

/// A registry, and who comes with images.
#[derive(Clone, Copy)]
pub(crate) struct Door<'a> {
    pub(crate) address: &'a str,
    pub(crate) authorization: &'a str,
}

/// Pushes an image under a tag, as `alice` where somebody asks.
pub(crate) async fn image(address: &str, repository: &str, tag: &str, image: &Image) -> Result<()> {
    through(Door { address, authorization: BASIC }, repository, tag, image).await
}

pub(crate) async fn through(door: Door<'_>, repository: &str, tag: &str, image: &Image) -> Result<()> {
    for blob in image.layers.iter().chain([&image.config]) {
        self::blob(door, repository, blob).await?;
    }
    let path = format!("/v2/{repository}/manifests/{tag}");
    send(door, Method::PUT, &path, MANIFEST, &image.manifest).await.map(drop)
}

pub(crate) async fn manifest(
    address: &str,
    repository: &str,
    tag: &str,
    kind: &str,
    content: &[u8],
) -> Result<()> {
    let path = format!("/v2/{repository}/manifests/{tag}");
    send(Door { address, authorization: BASIC }, Method::PUT, &path, kind, content).await.map(drop)
}

async fn blob(door: Door<'_>, repository: &str, content: &[u8]) -> Result<()> {
    let start = send(door, Method::POST, &format!("/v2/{repository}/blobs/uploads/"), "", b"").await?;
    let place = start.get(LOCATION).context("a place to upload to")?.to_str()?;
    let place = place.strip_prefix(&format!("http://{}", door.address)).unwrap_or(place);
    let path = format!("{place}&digest={}", Digest::of(content));
    send(door, Method::PUT, &path, "application/octet-stream", content).await.map(drop)
}

async fn send(door: Door<'_>, method: Method, path: &str, kind: &str, content: &[u8]) -> Result<HeaderMap> {
    let Door { address, authorization } = door;
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, address)
        .header(AUTHORIZATION, authorization)
        .header(CONTENT_TYPE, kind)
        .body(Full::new(Bytes::copy_from_slice(content)))?;
    let response = sender.send_request(request).await?;
    let (head, body) = response.into_parts();
    let said = body.collect().await?.to_bytes();
    ensure!(head.status.is_success(), "{path}: {} {}", head.status, String::from_utf8_lossy(&said));
    connection.abort();
    Ok(head.headers)
}
