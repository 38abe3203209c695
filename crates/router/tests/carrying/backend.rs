//! A server as it might run in a Sandbox: says what it was asked, or does what a test wants.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) struct Backend {
    pub(crate) port: u16,
    serving: JoinHandle<()>,
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Backend {
    pub(crate) async fn serve<H, F>(handler: H) -> Self
    where
        H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let handler = Arc::new(handler);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let handler = Arc::clone(&handler);
                let service = service_fn(move |request| {
                    let answer = handler(request);
                    async move { Ok::<_, Infallible>(answer.await) }
                });
                tokio::spawn(async move {
                    let builder = Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { port, serving }
    }

    /// Says which request it was.
    pub(crate) async fn echo() -> Self {
        Self::serve(|request: Request<Incoming>| async move {
            let headers: Vec<String> =
                request.headers().iter().map(|(name, value)| format!("{name}: {value:?}")).collect();
            let said = json!({
                "method": request.method().as_str(),
                "path": request.uri().path_and_query().map(ToString::to_string),
                "headers": headers,
            });
            Response::new(Full::from(said.to_string()))
        })
        .await
    }
}
