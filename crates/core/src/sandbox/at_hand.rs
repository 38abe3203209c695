//! Which Pod is the Sandbox's. The owner's UID decides; a name only finds candidates.

use super::observed::Observed;
use crate::object::{Owner, Ownership};
use crate::views::PodView;

#[derive(Clone, Copy, Debug)]
pub(super) enum AtHand<'a> {
    Nothing,
    Ours(&'a PodView),
    /// Under the Pod's name, and nobody's.
    Nobodys(&'a PodView),
    /// Under the Pod's name, and another's.
    Anothers(&'a PodView, &'a Owner),
    /// Several that are all the Sandbox's.
    Several(usize),
}

impl<'a> AtHand<'a> {
    pub(super) fn of(observed: &'a Observed) -> Self {
        let mut ours = owned(observed);
        match (ours.next(), ours.count()) {
            (Some(pod), 0) => Self::Ours(pod),
            (Some(_), others) => Self::Several(others + 1),
            (None, _) => Self::named(observed),
        }
    }

    /// Another's Pod is in the way only where our own would be: an annotation that names one is out of date.
    fn named(observed: &'a Observed) -> Self {
        for pod in observed.named_pods.iter().map(AsRef::as_ref) {
            match pod.metadata.ownership(observed.uid()) {
                Ownership::Ours => return Self::Ours(pod),
                Ownership::Nobodys => return Self::Nobodys(pod),
                Ownership::Anothers(owner) if pod.metadata.name() == observed.name() => {
                    return Self::Anothers(pod, owner);
                }
                Ownership::Anothers(_) => {}
            }
        }
        Self::Nothing
    }

    /// The one Pod that the Sandbox has.
    pub(super) fn ours(self) -> Option<&'a PodView> {
        match self {
            Self::Ours(pod) => Some(pod),
            _ => None,
        }
    }
}

/// Every Pod of the Sandbox once, also one that was found by its name only.
pub(super) fn owned(observed: &Observed) -> impl Iterator<Item = &PodView> {
    let listed = observed.pods.iter();
    let is_listed =
        |pod: &PodView| observed.pods.iter().any(|listed| listed.metadata.uid == pod.metadata.uid);
    let named = observed.named_pods.iter().filter(move |pod| !is_listed(pod));
    listed.chain(named).map(AsRef::as_ref).filter(|pod: &&PodView| pod.metadata.is_owned_by(observed.uid()))
}
