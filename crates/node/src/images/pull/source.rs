//! All the places and all the credentials to try for one image, in their order.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::reference::Reference;
use super::super::registry::{Keyring, RegistryError, Remote, Settings, Transports};
use super::PullFailure;

pub(super) struct Sources {
    remotes: Vec<Remote>,
    /// The one that answered last, which is asked first.
    good: AtomicUsize,
}

impl Sources {
    pub(super) fn of(
        settings: &Settings,
        transports: &Transports,
        reference: &Reference,
        keyring: &Keyring,
    ) -> Result<Self, PullFailure> {
        let mut remotes = Vec::new();
        for endpoint in settings.endpoints(reference) {
            let repository = reference.repository();
            let hint = keyring.hint(&endpoint.host);
            // A mirror gets its own credentials, never those of the registry it stands for.
            for credential in keyring.matching(&endpoint.host, repository) {
                let remote = Remote::new(
                    transports,
                    endpoint.clone(),
                    repository,
                    credential,
                    hint.clone(),
                    &settings.retry,
                );
                remotes.push(remote.map_err(PullFailure::Trust)?);
            }
        }
        Ok(Self { remotes, good: AtomicUsize::new(0) })
    }

    /// Asks one after the other until one answers.
    pub(super) async fn ask<'a, T, F, Answer>(&'a self, question: F) -> Result<T, RegistryError>
    where
        F: Fn(&'a Remote) -> Answer,
        Answer: Future<Output = Result<T, RegistryError>>,
    {
        let mut failures = Vec::new();
        for (index, remote) in self.in_order() {
            match question(remote).await {
                Ok(answer) => {
                    self.good.store(index, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(error) => {
                    tracing::debug!(%error, host = remote.host(), "a registry did not help");
                    failures.push((index, error));
                }
            }
        }
        Err(telling(failures))
    }

    /// Beginning with the good one, each once.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (usize, &Remote)> {
        let count = self.remotes.len();
        let first = self.good.load(Ordering::Relaxed);
        (0..count).map(move |step| (first + step) % count).map(|index| (index, &self.remotes[index]))
    }

    pub(super) fn is_good(&self, index: usize) {
        self.good.store(index, Ordering::Relaxed);
    }
}

/// What the registry itself says counts; mirrors may lack an image for reasons of their own.
pub(super) fn telling<E>(mut failures: Vec<(usize, E)>) -> E {
    failures.sort_by_key(|(index, _)| *index);
    let last = failures.pop().map(|(_, error)| error);
    last.expect("there is at least the registry itself to ask")
}
