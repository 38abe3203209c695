//! Carries a request to a Sandbox over a connection of its own pool, and joins two connections where both ends go on in a
//! protocol of their own.

mod body;

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::copy_bidirectional;

use crate::connector::Connector;
use crate::metrics::Metrics;
use crate::settings::Settings;
pub(crate) use body::{Answer, Metered, TooLarge};

const IDLE: Duration = Duration::from_secs(90);
/// A Sandbox that is asked by many at a time is not connected to anew for each. sandboxd has room for 256, of several routers.
const IDLE_PER_SANDBOX: usize = 64;

#[derive(Clone)]
pub(crate) struct Carrier {
    plain: Client<Connector, Metered>,
    /// For gRPC, with prior knowledge.
    multiplexed: Client<Connector, Metered>,
}

impl Carrier {
    pub(crate) fn new(settings: &Settings, metrics: Arc<Metrics>) -> Self {
        let connector = Connector {
            patience: settings.dialing,
            again: settings.redials,
            after: settings.redial_after,
            metrics,
        };
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_PER_SANDBOX)
            .pool_timer(TokioTimer::new());
        let plain = builder.build(connector.clone());
        let multiplexed = builder.http2_only(true).timer(TokioTimer::new()).build(connector);
        Self { plain, multiplexed }
    }

    pub(crate) async fn carry(
        &self,
        request: Request<Metered>,
        as_http2: bool,
    ) -> Result<Response<Incoming>, Error> {
        let client = if as_http2 { &self.multiplexed } else { &self.plain };
        client.request(request).await
    }
}

/// Until one of them is gone.
pub(crate) async fn join(client: OnUpgrade, sandbox: OnUpgrade) {
    let (Ok(client), Ok(sandbox)) = futures::join!(client, sandbox) else { return };
    let (mut client, mut sandbox) = (TokioIo::new(client), TokioIo::new(sandbox));
    if let Err(error) = copy_bidirectional(&mut client, &mut sandbox).await {
        tracing::debug!(%error, "a connection through the router broke");
    }
}
