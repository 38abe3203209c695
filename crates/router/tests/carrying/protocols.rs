//! What is no plain request and answer: upgrades, streams, HTTP/2.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::backend::Backend;
use crate::world::{World, http};

/// Agrees to speak another protocol, in which everything is said back.
async fn parrot(mut request: Request<Incoming>) -> Response<Full<Bytes>> {
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let mut stream = TokioIo::new(upgrade.await.expect("another protocol"));
        let mut buffer = [0; 64];
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            stream.write_all(&buffer[..length]).await.expect("somebody listens");
        }
    });
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    answer.headers_mut().insert(UPGRADE, HeaderValue::from_static("parrot"));
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn another_protocol_goes_both_ways() {
    let (world, backend) = (World::start().await, Backend::serve(parrot).await);
    world.sandbox("box", &["127.0.0.1"]).await;
    let request = world
        .to("box", backend.port, "/talk")
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "parrot")
        .body(Full::default())
        .expect("a request");
    let mut answer = http().request(request).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::SWITCHING_PROTOCOLS);
    assert_eq!(answer.headers()[UPGRADE], "parrot");
    let mut stream = TokioIo::new(hyper::upgrade::on(&mut answer).await.expect("another protocol"));
    for word in ["one", "two"] {
        stream.write_all(word.as_bytes()).await.expect("it is said");
        let mut heard = [0; 3];
        stream.read_exact(&mut heard).await.expect("it is said back");
        assert_eq!(&heard, word.as_bytes());
    }
}

/// As a gRPC server answers: what it means is in the trailers.
async fn with_trailers(request: Request<Incoming>) -> Response<Full<Bytes>> {
    assert_eq!(request.version(), Version::HTTP_2, "it came as HTTP/2");
    assert_eq!(request.headers()["te"], "trailers");
    let body = request.into_body().collect().await.expect("a body").to_bytes();
    let mut answer = Response::new(Full::from(body));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    answer.headers_mut().insert("grpc-status", HeaderValue::from_static("0"));
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_grpc_stay_http2_all_the_way() {
    let (world, backend) = (World::start().await, Backend::serve(with_trailers).await);
    world.sandbox("box", &["127.0.0.1"]).await;
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
    let request = world
        .to("box", backend.port, "/process.v1.ProcessService/Execute")
        .method("POST")
        .header(CONTENT_TYPE, "application/grpc")
        .header("te", "trailers")
        .body(Full::from("\0\0\0\0\u{1}x"))
        .expect("a request");
    let answer = client.request(request).await.expect("an answer");
    assert_eq!(answer.version(), Version::HTTP_2);
    let headers: HeaderMap = answer.headers().clone();
    assert_eq!(headers["grpc-status"], "0");
    assert_eq!(&answer.into_body().collect().await.expect("a body").to_bytes()[..], b"\0\0\0\0\x01x");
}
