//! The streaming parts of Pods, whoever runs the Pods.

use axum::body::Body;
use axum::http::{Request, Response};
use futures::future::BoxFuture;

use super::reply;
use crate::negotiation::Syntax;
use crate::security::authentication::User;
use crate::status::Status;
use crate::streaming::{Error, NodeUsage, Pod, PodStreams, PodUsage, Streaming};

pub(super) trait Streams: Send + Sync {
    /// Serves `attach`, `exec`, `log` or `portforward`.
    fn serve<'a>(
        &'a self,
        part: &'a str,
        pod: Pod,
        who: User,
        request: Request<Body>,
    ) -> BoxFuture<'a, Response<Body>>;

    /// Whether it is known what Pods use.
    fn is_metered(&self) -> bool;

    fn usage<'a>(&'a self, namespace: Option<&'a str>) -> BoxFuture<'a, Result<Vec<PodUsage>, Error>>;

    fn node_usage(&self) -> BoxFuture<'_, Result<NodeUsage, Error>>;

    fn stop(&self) -> BoxFuture<'_, ()>;
}

impl<P: PodStreams> Streams for Streaming<P> {
    fn serve<'a>(
        &'a self,
        part: &'a str,
        pod: Pod,
        who: User,
        request: Request<Body>,
    ) -> BoxFuture<'a, Response<Body>> {
        Box::pin(async move {
            match part {
                "attach" => self.attach(pod, request).await,
                "exec" => self.exec(pod, request).await,
                "log" => self.logs(pod, request.uri()).await,
                "portforward" => self.port_forward(pod, who, request).await,
                _ => reply::refusal(&Status::no_such_path(), Syntax::Json),
            }
        })
    }

    fn is_metered(&self) -> bool {
        P::METERED
    }

    fn usage<'a>(&'a self, namespace: Option<&'a str>) -> BoxFuture<'a, Result<Vec<PodUsage>, Error>> {
        Box::pin(Streaming::usage(self, namespace))
    }

    fn node_usage(&self) -> BoxFuture<'_, Result<NodeUsage, Error>> {
        Box::pin(Streaming::node_usage(self))
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(Streaming::stop(self))
    }
}
