//! The image of a container, here before it starts.

use std::time::Instant;

use asb_core::pod::observed::{PullReason, Pulled};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

use super::{Work, full};
use crate::driver::lookups;
use crate::driver::outcome::Outcome;
use crate::images::pull::Progress;
use crate::images::reference::Reference;
use crate::images::registry::Keyring;

type Result<T> = std::result::Result<T, (PullReason, String)>;

pub(in crate::driver) async fn prepare(
    work: &Work,
    container: String,
    attempt: u32,
    outcomes: &UnboundedSender<Outcome>,
) -> Outcome {
    let result = ensure(work, &container, outcomes).await;
    Outcome::Image { container, attempt, result }
}

async fn ensure(
    work: &Work,
    container: &str,
    outcomes: &UnboundedSender<Outcome>,
) -> Result<(String, Option<Pulled>)> {
    let local = |error: String| (PullReason::Pull, error);
    let spec = work.container(container).map_err(local)?;
    let name = spec.image.as_deref().unwrap_or_default();
    let reference: Reference = name.parse().map_err(|error| {
        (PullReason::Name, format!("Failed to apply default image tag {name:?}: {}", full(&error)))
    })?;
    let policy = spec.image_pull_policy.as_deref().unwrap_or("IfNotPresent");
    let is_builtin = reference == crate::images::host::reference();
    if policy != "Always" || is_builtin {
        let found = work.tools.images.find(&reference).await.map_err(|error| local(full(&error)))?;
        if let Some(image) = found {
            return Ok((image.id.to_string(), None));
        }
    }
    if policy == "Never" {
        let message = format!("Container image {name:?} is not present with pull policy of Never");
        return Err((PullReason::Never, message));
    }
    // Whoever asked may be gone.
    let _ = outcomes.send(Outcome::Pulling { container: container.to_owned() });
    pull(work, &reference).await
}

async fn pull(work: &Work, reference: &Reference) -> Result<(String, Option<Pulled>)> {
    let failed = |error: String| (PullReason::Pull, error);
    let keyring = keyring(work).await.map_err(failed)?;
    let (progress, seen) = watch::channel(Progress::default());
    let begun = Instant::now();
    let pulled = work.tools.images.pull(reference, &keyring, &progress).await;
    let pulled = pulled.map_err(|error| failed(full(&error)))?;
    let (took, bytes) = (begun.elapsed(), seen.borrow().total());
    Ok((pulled.id.to_string(), Some(Pulled { took, took_with_waiting: took, bytes })))
}

/// What the Pod's Secrets say of registries.
async fn keyring(work: &Work) -> std::result::Result<Keyring, String> {
    let mut keyring = Keyring::default();
    for secret in lookups::pull_secrets(work).await? {
        let data = secret.data.unwrap_or_default();
        let (new, old) = (data.get(".dockerconfigjson"), data.get(".dockercfg"));
        let added = match (new, old) {
            (Some(bytes), _) => keyring.add(&bytes.0),
            (None, Some(bytes)) => keyring.add_old(&bytes.0),
            (None, None) => Ok(()),
        };
        added.map_err(|error| full(&error))?;
    }
    Ok(keyring)
}
