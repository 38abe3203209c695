//! What stands for a sandbox: a server that answers `/bytes/N` with so many bytes, reads whatever it is sent, and sends back what
//! it hears once a connection was upgraded.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// As much as goes out at a time.
static PIECE: [u8; 64 * 1024] = [0; 64 * 1024];

/// So many zeros, made up as they are asked for.
struct Zeros {
    left: u64,
}

impl Body for Zeros {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let size = usize::try_from(self.left).unwrap_or(PIECE.len()).min(PIECE.len());
        self.left -= size as u64;
        let frame = (size > 0).then(|| Ok(Frame::data(Bytes::from_static(&PIECE[..size]))));
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

pub(crate) async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        // Without it answers wait for more to say.
        let _ = stream.set_nodelay(true);
        let service = service_fn(async |request| Ok::<_, Infallible>(answer(request).await));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection.with_upgrades());
    }
}

async fn answer(mut request: Request<Incoming>) -> Response<Zeros> {
    if let Some(protocol) = request.headers().get(UPGRADE).cloned() {
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(echo(upgrade));
        return switch(protocol);
    }
    if request.method() == Method::GET {
        return bytes(request.uri().path());
    }
    let mut body = request.into_body();
    while let Some(Ok(_)) = body.frame().await {}
    Response::new(Zeros { left: 2 })
}

fn bytes(path: &str) -> Response<Zeros> {
    let size = path.strip_prefix("/bytes/").and_then(|size| size.parse().ok());
    let mut response = Response::new(Zeros { left: size.unwrap_or_default() });
    if size.is_none() {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}

fn switch(protocol: HeaderValue) -> Response<Zeros> {
    let mut response = Response::new(Zeros { left: 0 });
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(UPGRADE, protocol);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    response
}

async fn echo(upgrade: OnUpgrade) {
    let Ok(upgraded) = upgrade.await else { return };
    let mut stream = TokioIo::new(upgraded);
    let mut heard = vec![0; 4096];
    while let Ok(size @ 1..) = stream.read(&mut heard).await {
        if stream.write_all(&heard[..size]).await.is_err() {
            return;
        }
    }
}
