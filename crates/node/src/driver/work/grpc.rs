//! The health check of gRPC, the one method of it that probes call.

use std::net::IpAddr;

use bytes::{BufMut, Bytes, BytesMut};
use http::Request;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use super::full;

const METHOD: &str = "/grpc.health.v1.Health/Check";
const SERVING: u64 = 1;
const MOST: usize = 64 * 1024;

pub(super) async fn check(address: IpAddr, port: u16, service: &str) -> Result<(), String> {
    let tcp = TcpStream::connect((address, port)).await;
    let tcp = tcp.map_err(|error| {
        format!("timeout: failed to connect service \"{address}:{port}\": connect: {error}")
    })?;
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(tcp)).await;
    let (mut sender, connection) = handshake.map_err(|error| full(&error))?;
    // It ends with the answer, or with the probe.
    let connection = tokio::spawn(async move { drop(connection.await) });
    let answer = sender.send_request(request(address, port, service)?).await.map_err(|error| full(&error))?;
    let head = answer.headers().get("grpc-status").cloned();
    let body = Limited::new(answer.into_body(), MOST).collect().await.map_err(|error| error.to_string())?;
    connection.abort();
    let status = body.trailers().and_then(|trailers| trailers.get("grpc-status")).cloned().or(head);
    verdict(status.as_ref().and_then(|status| status.to_str().ok()), &body.to_bytes())
}

fn request(address: IpAddr, port: u16, service: &str) -> Result<Request<Full<Bytes>>, String> {
    let request = Request::post(format!("http://{address}:{port}{METHOD}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("user-agent", concat!("kube-probe/agent-sandbox-", env!("CARGO_PKG_VERSION")));
    request.body(Full::new(message(service))).map_err(|error| full(&error))
}

/// One message, not compressed: the service's name as field 1.
fn message(service: &str) -> Bytes {
    let mut inner = BytesMut::new();
    if !service.is_empty() {
        inner.put_u8(0x0a);
        varint(&mut inner, service.len());
        inner.put_slice(service.as_bytes());
    }
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(u32::try_from(inner.len()).unwrap_or_default());
    framed.put_slice(&inner);
    framed.freeze()
}

fn varint(into: &mut BytesMut, mut number: usize) {
    while number >= 0x80 {
        into.put_u8(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    into.put_u8(u8::try_from(number).unwrap_or_default());
}

fn verdict(status: Option<&str>, body: &[u8]) -> Result<(), String> {
    match status {
        Some("0") => {}
        Some("12") => {
            return Err(
                "this server does not implement the grpc health protocol (grpc.health.v1.Health)".to_owned()
            );
        }
        Some("5") => return Err("health rpc failed: the service is unknown".to_owned()),
        other => return Err(format!("health rpc failed with status {}", other.unwrap_or("unknown"))),
    }
    match serving(body) {
        SERVING => Ok(()),
        other => Err(format!("service unhealthy (responded with {:?})", name(other))),
    }
}

fn name(status: u64) -> &'static str {
    match status {
        1 => "SERVING",
        2 => "NOT_SERVING",
        3 => "SERVICE_UNKNOWN",
        _ => "UNKNOWN",
    }
}

/// Field 1 of the message; nothing said means zero. Names of states are few, so one byte holds them.
fn serving(body: &[u8]) -> u64 {
    match body.get(5..) {
        Some([0x08, status, ..]) => u64::from(*status),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_answers_are_framed() {
        assert_eq!(&message("")[..], [0, 0, 0, 0, 0]);
        assert_eq!(&message("ab")[..], [0, 0, 0, 0, 4, 0x0a, 2, b'a', b'b']);
        assert_eq!(verdict(Some("0"), &[0, 0, 0, 0, 2, 8, 1]), Ok(()));
        assert!(verdict(Some("0"), &[0, 0, 0, 0, 2, 8, 2]).unwrap_err().contains("NOT_SERVING"));
        assert!(verdict(Some("0"), &[0, 0, 0, 0, 0]).unwrap_err().contains("UNKNOWN"));
        assert!(verdict(Some("12"), &[]).is_err() && verdict(None, &[]).is_err());
    }
}
