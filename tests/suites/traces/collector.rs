//! A collector of OpenTelemetry that keeps what it is sent.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use asb_tests::wait;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;
use tonic::codec::CompressionEncoding;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// Ends with this value.
pub(crate) struct Collector {
    /// Where it is.
    pub(crate) endpoint: String,
    kept: Kept,
    _serving: AbortOnDropHandle<()>,
}

/// What came, shared by its clones.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<Telling>>>);

/// One span and who told of it.
#[derive(Clone, Debug)]
pub(crate) struct Telling {
    pub(crate) span: Span,
    pub(crate) resource: Vec<String>,
    pub(crate) scope: String,
    pub(crate) password: String,
}

impl Collector {
    pub(crate) async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (endpoint, kept) = (format!("http://{}", listener.local_addr()?), Kept::default());
        let service = TraceServiceServer::new(kept.clone()).accept_compressed(CompressionEncoding::Gzip);
        let serving = Server::builder().add_service(service).serve_with_incoming(TcpIncoming::from(listener));
        let serving = tokio::spawn(async move { serving.await.expect("it serves") });
        Ok(Self { endpoint, kept, _serving: AbortOnDropHandle::new(serving) })
    }

    pub(crate) fn all(&self) -> Vec<Telling> {
        self.kept.lock().clone()
    }

    /// Waits for a span of this name that is as wanted.
    pub(crate) async fn told(&self, name: &str, wanted: impl Fn(&Span) -> bool) -> Result<Telling> {
        let is_it = |telling: &Telling| telling.span.name == name && wanted(&telling.span);
        let find = || async { self.all().into_iter().find(|telling| is_it(telling)) };
        let found = wait::until(wait::DEADLINE, &format!("a span {name}"), find).await;
        found.map_err(|error| anyhow::anyhow!("{error}; there are {:#?}", self.summary()))
    }

    fn summary(&self) -> Vec<String> {
        let line = |it: Telling| format!("{} {} {:?}", trace(&it.span), it.span.name, attributes(&it.span));
        self.all().into_iter().map(line).collect()
    }
}

impl Kept {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Telling>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[tonic::async_trait]
impl TraceService for Kept {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let password = request.metadata().get("x-password").and_then(|value| value.to_str().ok());
        let password = password.unwrap_or_default().to_owned();
        for group in request.into_inner().resource_spans {
            let resource = texts(&group.resource.unwrap_or_default().attributes);
            for scoped in group.scope_spans {
                let scope = scoped.scope.unwrap_or_default().name;
                self.lock().extend(scoped.spans.into_iter().map(|span| Telling {
                    span,
                    resource: resource.clone(),
                    scope: scope.clone(),
                    password: password.clone(),
                }));
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

pub(crate) fn trace(span: &Span) -> String {
    hex(&span.trace_id)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

pub(crate) fn attributes(span: &Span) -> Vec<String> {
    texts(&span.attributes)
}

/// The events of a span, each with its attributes.
pub(crate) fn events(span: &Span) -> Vec<(String, Vec<String>)> {
    span.events.iter().map(|event| (event.name.clone(), texts(&event.attributes))).collect()
}

fn texts(attributes: &[KeyValue]) -> Vec<String> {
    let text = |attribute: &KeyValue| {
        let value = attribute.value.as_ref().and_then(|value| value.value.as_ref());
        match value {
            Some(Value::StringValue(value)) => format!("{}={value}", attribute.key),
            other => format!("{}={other:?}", attribute.key),
        }
    };
    attributes.iter().map(text).collect()
}
