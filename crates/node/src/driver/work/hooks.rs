//! What a container asks to be done after its start and before its end.

use std::time::Duration;

use k8s_openapi::api::core::v1::LifecycleHandler;

use super::Work;
use super::questions::{self, in_time};

/// However long a hook may take; a container that is stopped has less.
const LONGEST: Duration = Duration::from_hours(24);

pub(in crate::driver) async fn post_start(work: &Work, name: &str, number: u32) -> Result<(), String> {
    let container = work.container(name)?;
    let handler = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.post_start.clone());
    run(work, name, number, handler, LONGEST).await
}

pub(in crate::driver) async fn pre_stop(
    work: &Work,
    name: &str,
    number: u32,
    within: Duration,
) -> Result<(), String> {
    let container = work.container(name)?;
    let handler = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.pre_stop.clone());
    run(work, name, number, handler, within).await
}

async fn run(
    work: &Work,
    name: &str,
    number: u32,
    handler: Option<LifecycleHandler>,
    within: Duration,
) -> Result<(), String> {
    let Some(handler) = handler else { return Ok(()) };
    let container = work.container(name)?;
    in_time(within, async {
        if let Some(action) = &handler.exec {
            return questions::exec(work, name, number, action).await;
        }
        if let Some(action) = &handler.http_get {
            return questions::get(work, container, action).await;
        }
        if let Some(action) = &handler.tcp_socket {
            return questions::connect(work, container, action).await;
        }
        let seconds = handler.sleep.as_ref().map_or(0, |sleep| sleep.seconds);
        tokio::time::sleep(Duration::from_secs(seconds.try_into().unwrap_or_default())).await;
        Ok(())
    })
    .await
}
