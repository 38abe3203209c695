//! Who keeps which Pod: a keeper for each that is bound to this node, from when it is seen until nothing of it is left.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use asb_core::pod::scheduler::{Rejection, Site, admit};
use asb_core::pod::support;
use k8s_openapi::api::core::v1::{Node, Pod};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::journal::{Journal, directories};
use super::keeper::{Charge, Keeper};
use super::lookups;
use super::sources::{Change, Changes};
use super::tools::Tools;
use super::work::container;
use crate::images::store::{Pin, Store};
use crate::shim::cleanup;

pub(super) struct Supervisor {
    tools: Arc<Tools>,
    kept: BTreeMap<String, Kept>,
    /// Of which nothing is left here, and which the cache still shows.
    done: BTreeSet<String>,
    keepers: JoinSet<String>,
}

struct Kept {
    pod: Arc<Pod>,
    news: watch::Sender<Option<Arc<Pod>>>,
    /// Woken when an object has changed that its files follow.
    files: Arc<Notify>,
}

/// The Pods whose sandboxes may still be there, by what keepers wrote. Blocks.
pub fn survivors(root: &Path) -> io::Result<Vec<(String, Journal)>> {
    let mut found = Vec::new();
    for (uid, directory) in directories(root)? {
        if let Some(journal) = Journal::read(&directory)? {
            found.push((uid, journal));
        }
    }
    Ok(found)
}

impl Supervisor {
    pub(super) fn new(tools: Arc<Tools>) -> Self {
        Self { tools, kept: BTreeMap::new(), done: BTreeSet::new(), keepers: JoinSet::new() }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut changes = self.tools.pods.changes();
        self.tools.pods.ready().await;
        self.tools.nodes.ready().await;
        self.clear_strangers().await;
        self.keep_ids().await;
        let mut sources = Changes::follow(&self.tools.client);
        let mut halt = self.tools.halt.subscribe();
        loop {
            self.look();
            if halt.borrow_and_update().is_some() && self.keepers.is_empty() {
                self.tools.rested.cancel();
            }
            tokio::select! {
                () = stop.cancelled() => return,
                Ok(()) = halt.changed() => {}
                Ok(()) = changes.changed() => {}
                Some(change) = sources.next() => self.pass_on(&change),
                Some(ended) = self.keepers.join_next() => self.note_end(ended),
            }
        }
    }

    fn note_end(&mut self, ended: Result<String, tokio::task::JoinError>) {
        match ended {
            Ok(uid) => {
                self.kept.remove(&uid);
                self.done.insert(uid);
            }
            Err(error) => tracing::error!(%error, "the keeper of a Pod broke"),
        }
    }

    /// Passes on what is new.
    fn look(&mut self) {
        let pods: BTreeMap<String, Arc<Pod>> = self.bound().collect();
        self.done.retain(|uid| pods.contains_key(uid));
        for (uid, kept) in &mut self.kept {
            match pods.get(uid) {
                Some(pod) if Arc::ptr_eq(pod, &kept.pod) => {}
                Some(pod) => {
                    kept.pod = Arc::clone(pod);
                    kept.news.send_replace(Some(Arc::clone(pod)));
                }
                None => drop(kept.news.send_if_modified(|news| news.take().is_some())),
            }
        }
        for (uid, pod) in pods {
            if !self.kept.contains_key(&uid) && !self.done.contains(&uid) {
                self.take(uid, pod);
            }
        }
    }

    /// Those whose files follow an object look at it again.
    fn pass_on(&self, change: &Change) {
        for kept in self.kept.values() {
            let is_near = kept.pod.metadata.namespace.as_deref() == Some(change.namespace.as_str());
            if is_near && kept.pod.spec.as_ref().is_some_and(|spec| lookups::follows(spec, change)) {
                kept.files.notify_one();
            }
        }
    }

    fn bound(&self) -> impl Iterator<Item = (String, Arc<Pod>)> + use<> {
        let pods = self.tools.bound();
        pods.filter_map(|pod| Some((pod.metadata.uid.clone()?, pod)))
    }

    fn take(&mut self, uid: String, pod: Arc<Pod>) {
        let journal = Journal::read(self.tools.directory(&uid).root()).unwrap_or_default();
        let rejection = if journal.is_some() { None } else { self.rejection(&pod) };
        let (sender, news) = watch::channel(Some(Arc::clone(&pod)));
        let files = Arc::new(Notify::new());
        let kept = Kept { pod: Arc::clone(&pod), news: sender, files: Arc::clone(&files) };
        self.kept.insert(uid.clone(), kept);
        let keeper = Keeper::new(Arc::clone(&self.tools), Charge { pod, journal, rejection, news, files });
        self.keepers.spawn(async move {
            keeper.run().await;
            uid
        });
    }

    /// Why this node does not run a Pod that has not run yet.
    fn rejection(&self, pod: &Pod) -> Option<Rejection> {
        let spec = serde_json::to_value(pod.spec.as_ref()?).ok()?;
        let refusals = support::check(&spec, &self.tools.allow).err().unwrap_or_default();
        let node =
            self.tools.nodes.get("", &self.tools.node.name).unwrap_or_else(|| Arc::new(Node::default()));
        // Those that the API has let go of are on their way out, and the scheduler has given away their room.
        let stay = self.kept.values().filter(|kept| kept.news.borrow().is_some());
        let others: Vec<&Pod> = stay.map(|kept| &*kept.pod).collect();
        let namespaces = BTreeMap::new();
        admit(pod, &refusals, &Site { node: &node, pods: &others, namespaces: &namespaces }).err()
    }

    /// Before anybody is given a range of ids, those that Pods have are taken: also of one whose keeper has not looked yet.
    async fn keep_ids(&self) {
        let tools = Arc::clone(&self.tools);
        let kept = tokio::task::spawn_blocking(move || {
            let ranges = survivors(&tools.root)?.into_iter().filter_map(|(_, journal)| journal.ids);
            ranges.for_each(|range| tools.ids.keep(range));
            io::Result::Ok(())
        });
        if let Ok(Err(error)) = kept.await {
            tracing::warn!(%error, "cannot tell which ids Pods have");
        }
    }

    /// Ends what is left of Pods that the API does not know any more, or knows under another UID. Their files go beside what
    /// comes after: there may be many.
    async fn clear_strangers(&self) {
        let known: BTreeSet<String> = self.bound().map(|(uid, _)| uid).collect();
        let uids = known.iter().map(|uid| uid.as_str().into()).collect();
        if let Err(error) = self.tools.connectivity.sweep(uids).await {
            tracing::warn!(%error, "cannot remove the links of Pods that are gone");
        }
        let tools = Arc::clone(&self.tools);
        let cleared = tokio::task::spawn_blocking(move || clear(&tools, &known)).await;
        if let Ok(Err(error)) = cleared {
            tracing::warn!(%error, "cannot look for what Pods left that are gone");
        }
    }
}

fn clear(tools: &Tools, known: &BTreeSet<String>) -> io::Result<()> {
    for (uid, path) in directories(&tools.root)? {
        if !known.contains(&uid) {
            tracing::info!(uid, "removing what a Pod left that is gone");
            if let Err(error) = put_aside(tools, &uid) {
                tracing::warn!(%error, path = %path.display(), "cannot remove what a Pod left");
            }
        }
    }
    clear_pins(tools.images.store(), known);
    let logs = match std::fs::read_dir(&tools.node.logs) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in logs {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_known = name.rsplit_once('_').is_some_and(|(_, uid)| known.contains(uid));
        if !is_known && let Err(error) = tools.trash.put(&entry.path()) {
            tracing::warn!(%error, name, "cannot remove the logs of a Pod that is gone");
        }
    }
    Ok(())
}

fn put_aside(tools: &Tools, uid: &str) -> Result<(), cleanup::Error> {
    let directory = tools.directory(uid);
    cleanup::end(&directory)?;
    let failed = |error| cleanup::Error::Remove(directory.root().to_owned(), error);
    tools.trash.put(directory.root()).map_err(failed)
}

/// A Pod lets go of its images last of all, and who kept it may not have come to that.
fn clear_pins(store: &Store, known: &BTreeSet<String>) {
    let freed = store
        .pins()
        .and_then(|pins| strangers(&pins, known).into_iter().try_for_each(|owner| store.unpin(owner)));
    if let Err(error) = freed {
        tracing::warn!(%error, "images of Pods that are gone are still kept for them");
    }
}

fn strangers<'a>(pins: &'a [Pin], known: &BTreeSet<String>) -> Vec<&'a str> {
    let owners = pins.iter().map(|pin| pin.owner.as_str());
    owners.filter(|owner| !known.contains(container::owned_by(owner))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::digest::Digest;

    #[test]
    fn images_are_let_go_of_for_pods_that_are_gone() {
        let pins = ["u1.main", "u2.main", "u2.side.car"]
            .map(|owner| Pin { owner: owner.to_owned(), id: Digest::of(b"image") });
        assert_eq!(strangers(&pins, &["u1".to_owned()].into()), ["u2.main", "u2.side.car"]);
    }
}
