//! The run of one command that talks to an API server.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use asb_client::{Address, Client};

use crate::target::Target;
use crate::{age, output};

/// Does the work. What still waits for input when it is done, such as a keyboard that nobody touches, is left alone.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

/// Does the same for every name in its order, and says what was done; nothing is begun if one of them makes no sense.
pub(crate) fn for_each(
    target: &Target,
    names: &[Address],
    work: impl AsyncFn(&Client, &Address) -> Result<String>,
) -> Result<()> {
    names.iter().try_for_each(|address| target.check(address))?;
    block_on(async {
        let client = target.connect().await?;
        for address in names {
            output::print(&format!("{}\n", work(&client, address).await?))?;
        }
        Ok(())
    })
}

/// Waits for so long at most.
pub(crate) async fn within<T, E>(
    most: Option<Duration>,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    match most {
        None => Ok(work.await?),
        Some(most) => match tokio::time::timeout(most, work).await {
            Ok(done) => Ok(done?),
            Err(_) => {
                bail!("not ready after {}", age::short(i64::try_from(most.as_secs()).unwrap_or(i64::MAX)))
            }
        },
    }
}
