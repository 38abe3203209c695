//! Connections from a client's machine to ports inside a Pod. Over SPDY each connection is a pair of streams, one for
//! its bytes and one for a complaint; over WebSocket channels there is one connection per port in the request.

mod channel_pairs;
mod relay;
mod stream_pairs;

use std::sync::Arc;

use axum::http::Request;
use axum::response::{IntoResponse, Response};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::Tasks;
use super::carrier::{Agreement, Protocols, SpdyUpgrade, Tunnel};
use super::multiplex::Patience;
use super::pods::{Connection, Pod, PodStreams};
use super::query::Query;
use super::refusal::Refusal;
use super::spdy::Session;
use crate::security::authentication::User;

const TUNNEL: &str = "SPDY/3.1+portforward.k8s.io";
const CHANNELS: &str = "v4.channel.k8s.io";
const PROTOCOLS: Protocols = Protocols { websocket: &[TUNNEL, CHANNELS], spdy: &["portforward.k8s.io"] };

/// Where connections go.
struct Target<P> {
    pods: Arc<P>,
    pod: Pod,
    who: User,
}

pub(super) async fn serve<P: PodStreams, B: Send + 'static>(
    pods: Arc<P>,
    pod: Pod,
    who: User,
    request: Request<B>,
    tasks: &Tasks,
) -> Result<Response, Refusal> {
    tasks.admit()?;
    let query = Query::of(request.uri());
    let target = Arc::new(Target { pods, pod, who });
    match PROTOCOLS.agree(request).await? {
        Agreement::WebSocket { upgrade, protocol: CHANNELS } => {
            let ports = channel_pairs::ports(&query)?;
            let serve = move |socket| channel_pairs::serve(target, socket, ports);
            Ok(upgrade.on_upgrade(tasks.owning(serve)).into_response())
        }
        Agreement::WebSocket { upgrade, .. } => {
            let serve = move |socket| {
                let session = Session::serve(Tunnel::new(socket), Patience::SHARED);
                stream_pairs::serve(target, session)
            };
            Ok(upgrade.on_upgrade(tasks.owning(serve)).into_response())
        }
        Agreement::Spdy { upgrade, .. } => Ok(over_spdy(target, upgrade, tasks)),
    }
}

fn over_spdy<P: PodStreams>(target: Arc<Target<P>>, upgrade: SpdyUpgrade, tasks: &Tasks) -> Response {
    let (pending, answer) = upgrade.split();
    tasks.spawn(async move {
        match SpdyUpgrade::connect(pending).await {
            Ok(connection) => stream_pairs::serve(target, Session::serve(connection, Patience::SHARED)).await,
            Err(error) => tracing::debug!(%error, "a client left before its ports were forwarded"),
        }
    });
    answer
}

impl<P: PodStreams> Target<P> {
    /// A connection to the port, or a word on `complaints` about why there is none.
    async fn connect<W>(&self, port: u16, complaints: &mut W) -> Option<Box<dyn Connection>>
    where
        W: AsyncWrite + Unpin,
    {
        match self.pods.port_forward(&self.pod, port, &self.who).await {
            Ok(connection) => Some(connection),
            Err(error) => {
                let complaint = format!("error forwarding port {port} to pod {}: {error}", self.pod.name);
                // A client that has left needs no explanation.
                let _ = complaints.write_all(complaint.as_bytes()).await;
                None
            }
        }
    }
}
