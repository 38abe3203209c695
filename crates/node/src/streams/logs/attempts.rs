//! Which attempt at a container is meant: the files on this machine say what there is, the Pod's status what to say where
//! there is nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus};

use crate::shim::directory::Directory;
use crate::streams::error::Error;
use crate::streams::place::Place;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Newest,
    /// Before the last restart, or before the one that is due.
    Previous,
}

/// Every attempt of which there is something, in order.
pub(super) fn on_disk(directory: &Directory, folder: &Path, container: &str) -> Result<BTreeSet<u32>, Error> {
    let made = directory.attempts()?.into_iter().filter(|attempt| attempt.container == container);
    let mut found: BTreeSet<u32> = made.map(|attempt| attempt.number).collect();
    let entries = match fs::read_dir(folder) {
        // A container that wrote nothing has none.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(|error| Error::Step("list logs", error))?,
    };
    found.extend(entries.flatten().filter_map(|entry| number(entry.file_name().to_str()?)));
    Ok(found)
}

/// `3.log`, `3.log.1` and so on.
fn number(file: &str) -> Option<u32> {
    file.split_once(".log")?.0.parse().ok()
}

pub(super) fn choose(
    place: &Place,
    status: Option<&ContainerStatus>,
    attempts: &BTreeSet<u32>,
    wanted: Wanted,
) -> Result<u32, Error> {
    let (container, pod) = (place.container.clone(), place.pod_name());
    match wanted {
        Wanted::Newest => newest(status, attempts).map_err(|waiting| match waiting {
            Some(reason) => Error::Waiting { container, pod, reason },
            None => Error::NotAvailable { container, pod },
        }),
        Wanted::Previous => previous(status, attempts).ok_or(Error::NoPrevious { container, pod }),
    }
}

/// Or what it waits for, as far as that was said.
fn newest(status: Option<&ContainerStatus>, attempts: &BTreeSet<u32>) -> Result<u32, Option<String>> {
    if let Some(newest) = attempts.last() {
        return Ok(*newest);
    }
    let status = status.ok_or(None)?;
    let ended = is_terminated(status.state.as_ref()) || is_terminated(status.last_state.as_ref());
    let waiting = status.state.as_ref().and_then(|state| state.waiting.as_ref());
    match (ended, waiting) {
        // It wrote nothing, and nothing else of it is left.
        (true, _) => Ok(told(status)),
        (false, Some(waiting)) => {
            Err(Some(in_words(waiting.reason.as_deref().unwrap_or("ContainerCreating"))))
        }
        (false, None) => Err(Some("ContainerCreating".to_owned())),
    }
}

/// The most common failures in words, as a kubelet tells them.
fn in_words(reason: &str) -> String {
    match reason {
        "ErrImagePull" => "image can't be pulled".to_owned(),
        "ImagePullBackOff" => "trying and failing to pull image".to_owned(),
        other => other.to_owned(),
    }
}

fn previous(status: Option<&ContainerStatus>, attempts: &BTreeSet<u32>) -> Option<u32> {
    let newest = attempts.last().copied().or_else(|| status.map(told))?;
    let told_of = status.is_some_and(|status| is_terminated(status.last_state.as_ref()));
    let waits = status.and_then(|status| status.state.as_ref()).is_some_and(|state| state.waiting.is_some());
    if waits && told_of {
        return Some(newest);
    }
    newest.checked_sub(1).filter(|previous| told_of || attempts.contains(previous))
}

/// The attempt that the status is about: it counts restarts.
fn told(status: &ContainerStatus) -> u32 {
    u32::try_from(status.restart_count).unwrap_or_default()
}

fn is_terminated(state: Option<&ContainerState>) -> bool {
    state.is_some_and(|state| state.terminated.is_some())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStateWaiting};

    use super::*;

    fn terminated() -> ContainerState {
        let terminated = Some(ContainerStateTerminated::default());
        ContainerState { terminated, ..ContainerState::default() }
    }

    fn waiting(reason: &str) -> ContainerState {
        let waiting = ContainerStateWaiting { reason: Some(reason.to_owned()), message: None };
        ContainerState { waiting: Some(waiting), ..ContainerState::default() }
    }

    fn status(
        restart_count: i32,
        state: ContainerState,
        last_state: impl Into<Option<ContainerState>>,
    ) -> ContainerStatus {
        let (state, last_state) = (Some(state), last_state.into());
        ContainerStatus { restart_count, state, last_state, ..ContainerStatus::default() }
    }

    #[test]
    fn the_newest_attempt_is_the_one_on_disk() {
        assert_eq!(newest(None, &[0, 2].into()), Ok(2));
        assert_eq!(
            newest(Some(&status(1, waiting("CrashLoopBackOff"), terminated())), &[0, 1].into()),
            Ok(1)
        );
    }

    #[test]
    fn one_that_ended_without_a_word_has_an_empty_log() {
        assert_eq!(newest(Some(&status(3, terminated(), None)), &[].into()), Ok(3));
    }

    #[test]
    fn one_that_has_not_started_says_what_it_waits_for() {
        let told = |reason| newest(Some(&status(0, waiting(reason), None)), &[].into());
        assert_eq!(told("PodInitializing"), Err(Some("PodInitializing".to_owned())));
        assert_eq!(told("ErrImagePull"), Err(Some("image can't be pulled".to_owned())));
        assert_eq!(newest(None, &[].into()), Err(None));
    }

    #[test]
    fn the_previous_attempt_is_the_last_that_ended_before_this_one() {
        let running = ContainerState::default();
        assert_eq!(previous(Some(&status(0, running.clone(), None)), &[0].into()), None);
        assert_eq!(previous(Some(&status(2, running, terminated())), &[1, 2].into()), Some(1));
        assert_eq!(previous(None, &[1, 2].into()), Some(1));
        let due = status(2, waiting("CrashLoopBackOff"), terminated());
        assert_eq!(previous(Some(&due), &[1, 2].into()), Some(2));
    }

    #[test]
    fn files_that_were_put_aside_are_of_the_same_attempt() {
        assert_eq!(["12.log", "12.log.3", "x.log", "12"].map(number), [Some(12), Some(12), None, None]);
    }
}
