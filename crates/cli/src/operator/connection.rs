//! The way to the API server: where it is, who we are to it, and how fast we may ask.

use std::env;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use http::Request;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::time::Instant;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) pace: Option<Pace>,
}

/// How many requests a second, after a number of them that go at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    pub(super) rate: f64,
    pub(super) burst: u32,
}

/// A client, and the name of the host that it talks to.
pub(crate) async fn connect(connection: &Connection) -> Result<(Client, String)> {
    let config = config(connection).await?;
    let namespace = config.default_namespace.clone();
    let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    let client = Client::try_from(config).context("cannot use what says how to reach the API server")?;
    let client = match connection.pace {
        None => client,
        Some(pace) => paced(client, pace, namespace),
    };
    Ok((client, host))
}

async fn config(connection: &Connection) -> Result<Config> {
    let file = match &connection.kubeconfig {
        Some(path) => {
            Some(Kubeconfig::read_from(path).with_context(|| format!("cannot read {}", path.display()))?)
        }
        None => Kubeconfig::from_env().context("cannot read what KUBECONFIG names")?,
    };
    match file {
        Some(file) => Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .context("the kubeconfig is broken"),
        None if env::var_os("KUBERNETES_SERVICE_HOST").is_some() => {
            Config::incluster().context("cannot reach the API server as a Pod of the cluster")
        }
        None => Config::from_kubeconfig(&KubeConfigOptions::default()).await.context(
            "this is no Pod of a cluster, and there is no kubeconfig; name one with --kubeconfig or KUBECONFIG",
        ),
    }
}

/// A client that asks no faster than that.
fn paced(client: Client, pace: Pace, namespace: String) -> Client {
    let bucket = Arc::new(Bucket::new(pace));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, bucket) = (client.clone(), Arc::clone(&bucket));
        async move {
            tokio::time::sleep(bucket.take(Instant::now())).await;
            client.send(request).await
        }
    });
    Client::new(service, namespace)
}

/// Requests fill it one by one, and time empties it; who finds it full waits.
struct Bucket {
    interval: Duration,
    depth: Duration,
    /// When it will be empty.
    empty: Mutex<Option<Instant>>,
}

impl Bucket {
    fn new(pace: Pace) -> Self {
        let interval = Duration::from_secs_f64(pace.rate.recip());
        Self { interval, depth: interval * (pace.burst - 1), empty: Mutex::new(None) }
    }

    /// How long to wait before asking.
    fn take(&self, now: Instant) -> Duration {
        let mut empty = self.empty.lock().unwrap_or_else(PoisonError::into_inner);
        let until = empty.unwrap_or(now).max(now);
        *empty = Some(until + self.interval);
        (until - now).saturating_sub(self.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_its_pace() {
        let bucket = Bucket::new(Pace { rate: 10.0, burst: 3 });
        let start = Instant::now();
        let waits = [(); 5].map(|()| bucket.take(start).as_millis());
        assert_eq!(waits, [0, 0, 0, 100, 200]);
        assert_eq!(bucket.take(start + Duration::from_secs(10)).as_millis(), 0);
    }
}
