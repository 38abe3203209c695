//! gRPC over HTTP/2, as far as one small service needs it: messages with a prefix, a status behind them. `process.v1` is upstream's,
//! with its statuses; reflection is there for tools such as grpcurl.

mod call;
mod descriptors;
mod frame;
mod process;
mod reflection;

use std::rc::Rc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Request, StatusCode, Version};
use hyper::body::Incoming;

use crate::failure::{Code, Failure};
use crate::http::answer;
use crate::http::payload::Reply;
use crate::server::Server;
use crate::timestamp;

pub(crate) fn is_grpc(request: &Request<Incoming>) -> bool {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_kind = kind == "application/grpc"
        || kind.starts_with("application/grpc+proto")
        || kind.starts_with("application/grpc;");
    is_kind && *request.method() == Method::POST
}

pub(crate) async fn handle(server: Rc<Server>, request: Request<Incoming>) -> Reply {
    if request.version() != Version::HTTP_2 {
        return answer::failure(&Failure::invalid("gRPC is spoken over HTTP/2"));
    }
    if let Err(failure) = server.settings.access.check(request.headers(), timestamp::unix_now()) {
        return call::refusal(&failure);
    }
    let path = request.uri().path().to_owned();
    let answered = match path.as_str() {
        "/process.v1.ProcessService/Start" => process::start(server, request).await,
        "/process.v1.ProcessService/Execute" => process::execute(server, request).await,
        "/process.v1.ProcessService/WriteStdin" => process::write_stdin(server, request).await,
        "/process.v1.ProcessService/SendSignal" => process::send_signal(server, request).await,
        "/process.v1.ProcessService/ResizeTTY" => process::resize_tty(server, request).await,
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
        | "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo" => {
            Ok(reflection::info(&server, request))
        }
        _ => Err(Failure::new(Code::Unimplemented, format!("there is no method {path}"))),
    };
    answered.unwrap_or_else(|failure| call::refusal(&failure))
}

/// The headers that every answer begins with.
fn begun(payload: crate::http::payload::Payload) -> Reply {
    answer::typed(StatusCode::OK, "application/grpc", payload)
}

/// How a call ended.
fn trailers(failure: Option<&Failure>) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    let status = failure.map_or(0, |failure| u16::from(failure.code.grpc()));
    trailers.insert("grpc-status", status.into());
    if let Some(failure) = failure {
        let message = frame::percent(&failure.message);
        trailers.insert("grpc-message", message.parse().expect("percent-encoded text is plain"));
    }
    trailers
}
