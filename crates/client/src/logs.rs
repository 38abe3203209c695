//! What a Sandbox's command has said so far, and goes on saying.

use std::time::Duration;

use asb_types::v1beta1::Sandbox;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::LogParams;
use tokio::io::AsyncRead;
use tokio_util::compat::FuturesAsyncReadCompatExt;

use crate::client::Client;
use crate::error::Error;

/// Which part of what was said is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// The container, where it is not the one that is meant anyway.
    pub container: Option<String>,
    /// Go on until the command ends.
    pub follow: bool,
    /// Only what was said so recently.
    pub since: Option<Duration>,
    /// Only so many of the last lines.
    pub tail: Option<u32>,
    /// Of the run before, where the command was started again.
    pub previous: bool,
    /// When each line was said, at its beginning.
    pub timestamps: bool,
}

impl LogOptions {
    fn params(&self, container: String) -> LogParams {
        LogParams {
            container: Some(container),
            follow: self.follow,
            since_seconds: self.since.map(|since| i64::try_from(since.as_secs().max(1)).unwrap_or(i64::MAX)),
            tail_lines: self.tail.map(i64::from),
            previous: self.previous,
            timestamps: self.timestamps,
            ..LogParams::default()
        }
    }
}

impl Client {
    /// What a Sandbox's command said, as bytes. Kubernetes keeps output and errors in one log.
    ///
    /// ```no_run
    /// # async fn example(client: asb_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use asb_client::LogOptions;
    ///
    /// let sandbox = client.find_sandbox(&"box".parse()?).await?;
    /// let mut log = client.logs(&sandbox, &LogOptions { tail: Some(10), ..LogOptions::default() }).await?;
    /// tokio::io::copy(&mut log, &mut tokio::io::sink()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn logs(
        &self,
        sandbox: &Sandbox,
        options: &LogOptions,
    ) -> Result<impl AsyncRead + Send + Unpin + use<>, Error> {
        let (pod, container) = self.container(sandbox, options.container.as_deref()).await?;
        let pods = self.api::<Pod>(&sandbox.namespace().unwrap_or_default());
        let log = pods.log_stream(&pod.name_any(), &options.params(container)).await;
        let log = log.map_err(|cause| Error::api("read the log", cause))?;
        Ok(Box::pin(log.compat()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_those_of_kubernetes() {
        let options = LogOptions {
            follow: true,
            since: Some(Duration::from_mins(5)),
            tail: Some(3),
            ..LogOptions::default()
        };
        let params = options.params("main".to_owned());
        assert_eq!((params.since_seconds, params.tail_lines, params.follow), (Some(300), Some(3), true));
        assert_eq!(params.container.as_deref(), Some("main"));
    }
}
