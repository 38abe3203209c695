//! One connection: HTTP/1.1 or, if it begins as such, HTTP/2 without TLS. Both on every port, because a client that may open one
//! port only should get everything there.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use super::stream::Stream;
use crate::server::Server;
use crate::settings::limits::size;

/// What every connection of HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const MOST_HEADERS: usize = 100;
/// How often a client of HTTP/2 is asked whether it is still there, and how long it may take to say so, at most.
const PING: Duration = Duration::from_secs(30);
const WINDOW: u32 = 256 * 1024;
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n\
    Content-Length: 70\r\n\r\n{\"code\":\"UNAVAILABLE\",\"message\":\"there are too many connections open\"}";

pub(crate) async fn serve(server: Rc<Server>, mut stream: TcpStream, place: OwnedSemaphorePermit) {
    // Small answers should not wait for more to send.
    let _ = stream.set_nodelay(true);
    let patience = Duration::from_secs(server.settings.limits.idle_seconds);
    let Ok(Ok(begun)) = tokio::time::timeout(patience, beginning(&mut stream)).await else { return };
    let is_http2 = begun == PREFACE;
    let stream = TokioIo::new(Stream::new(begun, stream, place));
    // How a connection ended is the client's business.
    if is_http2 { serve_http2(server, stream).await } else { serve_http1(server, stream).await }
}

/// Says that there is no room.
pub(crate) async fn refuse(stream: TcpStream, place: OwnedSemaphorePermit) {
    let mut stream = Stream::new(Vec::new(), stream, place);
    let _ = stream.write_all(BUSY).await;
    let _ = stream.shutdown().await;
}

async fn serve_http1(server: Rc<Server>, stream: TokioIo<Stream>) {
    let limits = &server.settings.limits;
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(limits.idle_seconds))
        .max_headers(MOST_HEADERS)
        .max_buf_size(size(limits.header_bytes).max(8 * 1024));
    let service = service_fn(move |request| {
        let server = server.clone();
        async move { server.handle(request).await }
    });
    let _ = builder.serve_connection(stream, service).with_upgrades().await;
}

async fn serve_http2(server: Rc<Server>, stream: TokioIo<Stream>) {
    let limits = &server.settings.limits;
    let ping = PING.min(Duration::from_secs(limits.idle_seconds));
    let mut builder = http2::Builder::new(Local);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(u32::try_from(limits.streams).unwrap_or(u32::MAX))
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(4 * WINDOW)
        .max_send_buf_size(WINDOW as usize)
        .keep_alive_interval(ping)
        .keep_alive_timeout(ping);
    let service = service_fn(move |request| {
        let server = server.clone();
        async move { server.handle(request).await }
    });
    let _ = builder.serve_connection(stream, service).await;
}

/// Tasks of a connection stay on the one thread that there is.
#[derive(Clone, Copy)]
struct Local;

impl<F: Future<Output = ()> + 'static> Executor<F> for Local {
    fn execute(&self, task: F) {
        tokio::task::spawn_local(task);
    }
}

/// Reads until it is clear which protocol it is.
async fn beginning(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut begun = vec![0; PREFACE.len()];
    let mut length = 0;
    loop {
        let read = stream.read(&mut begun[length..]).await?;
        length += read;
        if read == 0 || length == PREFACE.len() || begun[..length] != PREFACE[..length] {
            begun.truncate(length);
            return Ok(begun);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_is_as_long_as_it_says() {
        let text = std::str::from_utf8(BUSY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{}", body.len());
    }
}
