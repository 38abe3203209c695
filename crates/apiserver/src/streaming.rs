//! Everything of the API that is a stream instead of an answer: exec, attach, port-forward and logs of Pods, over the
//! transports that Kubernetes' clients speak. Whether the Pod exists and the client may do this is decided before;
//! what happens inside the Pod is behind [`PodStreams`].

mod carrier;
mod channels;
mod logs;
mod multiplex;
mod no_pods;
mod pods;
mod port_forward;
mod query;
mod refusal;
mod remote_command;
pub mod spdy;
mod usage;

use std::future::Future;
use std::sync::Arc;

use axum::http::{Request, Uri};
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::security::authentication::User;
pub use logs::LogOptions;
pub use no_pods::NoPods;
pub use pods::{
    Connection, Container, Error, Input, Log, Output, Pod, PodStreams, Process, TerminalSize, Wanted,
};
use refusal::Refusal;
use remote_command::Verb;
pub use usage::{Amounts, NodeUsage, PodUsage};

/// Serves the streaming subresources of Pods, and owns the sessions that come of it.
pub struct Streaming<P> {
    pods: Arc<P>,
    tasks: Tasks,
}

impl<P: PodStreams> Streaming<P> {
    pub fn new(pods: P) -> Self {
        Self { pods: Arc::new(pods), tasks: Tasks::default() }
    }

    /// `GET` and `POST …/pods/NAME/exec`
    pub async fn exec<B: Send + 'static>(&self, pod: Pod, request: Request<B>) -> Response {
        answer(remote_command::serve(Arc::clone(&self.pods), Verb::Exec, pod, request, &self.tasks).await)
    }

    /// `GET` and `POST …/pods/NAME/attach`
    pub async fn attach<B: Send + 'static>(&self, pod: Pod, request: Request<B>) -> Response {
        answer(remote_command::serve(Arc::clone(&self.pods), Verb::Attach, pod, request, &self.tasks).await)
    }

    /// `GET` and `POST …/pods/NAME/portforward`
    pub async fn port_forward<B: Send + 'static>(
        &self,
        pod: Pod,
        who: User,
        request: Request<B>,
    ) -> Response {
        answer(port_forward::serve(Arc::clone(&self.pods), pod, who, request, &self.tasks).await)
    }

    /// `GET …/pods/NAME/log`
    pub async fn logs(&self, pod: Pod, uri: &Uri) -> Response {
        answer(logs::serve(&*self.pods, pod, uri).await)
    }

    /// What the Pods use that run, of all namespaces or of one.
    pub async fn usage(&self, namespace: Option<&str>) -> Result<Vec<PodUsage>, Error> {
        self.pods.usage(namespace).await
    }

    /// What the machine uses that they run on.
    pub async fn node_usage(&self) -> Result<NodeUsage, Error> {
        self.pods.node_usage().await
    }

    /// Ends every session, and is done when they are.
    pub async fn stop(&self) {
        self.tasks.stop().await;
    }
}

fn answer(result: Result<Response, Refusal>) -> Response {
    result.unwrap_or_else(IntoResponse::into_response)
}

/// How many sessions there may be, so that clients cannot make the server hold memory without end.
const MOST_SESSIONS: usize = 1024;

/// The tasks behind upgraded connections, which outlive the requests that started them.
#[derive(Default)]
struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Whether there is room for another session. Requests that ask at the same moment may all be let in.
    fn admit(&self) -> Result<(), Refusal> {
        if self.tracker.len() < MOST_SESSIONS { Ok(()) } else { Err(Refusal::Busy(MOST_SESSIONS)) }
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(self.stop.clone().run_until_cancelled_owned(work));
    }

    /// For work that somebody else spawns: it is still ended and waited for by us.
    fn owning<I, F, W>(&self, work: W) -> impl FnOnce(I) -> BoxFuture<'static, ()> + use<I, F, W>
    where
        F: Future<Output = ()> + Send + 'static,
        W: FnOnce(I) -> F,
    {
        let (token, stop) = (self.tracker.token(), self.stop.clone());
        move |input| {
            let work = work(input);
            Box::pin(async move {
                let _token = token;
                stop.run_until_cancelled_owned(work).await;
            })
        }
    }

    async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sessions_are_counted_and_stopping_ends_them() {
        let tasks = Tasks::default();
        (0..MOST_SESSIONS).for_each(|_| tasks.spawn(std::future::pending()));
        assert_eq!(tasks.admit(), Err(Refusal::Busy(MOST_SESSIONS)));
        tasks.stop().await;
        assert_eq!(tasks.admit(), Ok(()));
    }
}
