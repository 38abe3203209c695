//! Keeps the caches fed: lists every kind once, then follows it, and lists again where the thread is lost.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use asb_core::object::Version;
use asb_core::views::{
    ClaimView, NetworkPolicyView, PodView, PoolView, SandboxView, ServiceView, ShortClaim, ShortPool,
    ShortTemplate, ShorthandView, TemplateView, VolumeView,
};
use asb_core::write::Kind;
use futures::TryStreamExt;
use kube::Client;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Request;
use serde::Deserialize;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::caches::Caches;
use crate::queue::Urgency;
use crate::world::Held;

const PAGE: u32 = 500;
/// How long the server keeps one watch. Ours ends a little later by itself, should the server be gone without a word.
const WATCH_SECONDS: u32 = 290;
const WATCH_PATIENCE: Duration = Duration::from_mins(5);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(10);
/// How long until a kind that was not served is looked for again.
const ABSENT_PAUSE: Duration = Duration::from_secs(5);

/// Which Pods, Services and volumes are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChildScope {
    /// All: one that is in a Sandbox's way, or may be adopted, is seen.
    #[default]
    All,
    /// Those that bear the label of a Sandbox. Costs less where most are none of ours; objects that only bear the label
    /// `adoptable` are then found by trying to make them.
    Labelled,
}

/// What is followed.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// One namespace, or all.
    pub(crate) namespace: Option<Arc<str>>,
    pub(crate) children: ChildScope,
    /// Whether there are claims, templates and pools.
    pub(crate) extensions: bool,
    /// Whether there may be such in short spellings.
    pub(crate) shorthand: bool,
}

/// Starts following every kind.
pub(crate) fn start(client: &Client, caches: &Arc<Caches>, reach: &Reach) -> JoinSet<()> {
    let feed =
        Feed { client: client.clone(), caches: Arc::clone(caches), namespace: reach.namespace.clone() };
    let label = match reach.children {
        ChildScope::All => None,
        ChildScope::Labelled => Some(asb_types::labels::SANDBOX_NAME_HASH),
    };
    if let Some(label) = label {
        caches.change(Urgency::Backlog, |world| {
            world.follow_only(label);
            Vec::new()
        });
    }
    let mut watches = JoinSet::new();
    watches.spawn(follow::<SandboxView>(feed.clone(), None));
    watches.spawn(follow::<PodView>(feed.clone(), label));
    watches.spawn(follow::<ServiceView>(feed.clone(), label));
    watches.spawn(follow::<VolumeView>(feed.clone(), label));
    if reach.extensions {
        watches.spawn(follow::<TemplateView>(feed.clone(), None));
        watches.spawn(follow::<PoolView>(feed.clone(), None));
        watches.spawn(follow::<ClaimView>(feed.clone(), None));
        watches.spawn(follow::<NetworkPolicyView>(feed.clone(), None));
    } else {
        leave_out::<TemplateView>(caches);
        leave_out::<PoolView>(caches);
        leave_out::<ClaimView>(caches);
        leave_out::<NetworkPolicyView>(caches);
    }
    if reach.shorthand {
        watches.spawn(follow_if_served::<ShorthandView<ShortTemplate>>(feed.clone()));
        watches.spawn(follow_if_served::<ShorthandView<ShortPool>>(feed.clone()));
        watches.spawn(follow_if_served::<ShorthandView<ShortClaim>>(feed));
    } else {
        leave_out_shorthand(caches);
    }
    watches
}

fn leave_out_shorthand(caches: &Caches) {
    leave_out::<ShorthandView<ShortTemplate>>(caches);
    leave_out::<ShorthandView<ShortPool>>(caches);
    leave_out::<ShorthandView<ShortClaim>>(caches);
}

/// Counts a kind as seen that is none of our business: it may not be served here, or we may not read it.
fn leave_out<V: Held>(caches: &Caches) {
    caches.change(Urgency::Backlog, |world| {
        V::cache(world).listed_in(u64::MAX);
        world.take::<V>(|cache| cache.replace(Vec::new(), Version::default()))
    });
}

/// Follows one kind for ever.
async fn follow<V: Held>(feed: Feed, selector: Option<&'static str>) {
    let mut watch = Watch { feed, selector, version: None, round: 0 };
    let mut pause = FIRST_PAUSE;
    loop {
        let Err(error) = watch.turn::<V>().await else {
            pause = FIRST_PAUSE;
            continue;
        };
        tracing::warn!(kind = V::KIND.name(), %error, "cannot follow objects, trying again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// The same for a kind that need not be there: while it is not served, or not for us, there are no objects of it, and it is
/// looked for now and then.
async fn follow_if_served<V: Held>(feed: Feed) {
    let mut watch = Watch { feed, selector: None, version: None, round: 0 };
    let mut pause = FIRST_PAUSE;
    loop {
        let Err(error) = watch.turn::<V>().await else {
            pause = FIRST_PAUSE;
            continue;
        };
        if is_not_for_us(&error) {
            tracing::debug!(kind = V::KIND.name(), %error, "not followed, being none of ours");
            leave_out::<V>(&watch.feed.caches);
            watch.version = None;
            pause = ABSENT_PAUSE;
        } else {
            tracing::warn!(kind = V::KIND.name(), %error, "cannot follow objects, trying again");
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Whether the kind is not served, or may not be read.
fn is_not_for_us(interruption: &Interruption) -> bool {
    matches!(interruption, Interruption::Client(kube::Error::Api(status)) if [403, 404].contains(&status.code))
}

/// Why a kind could not be followed.
#[derive(Debug, thiserror::Error)]
enum Interruption {
    #[error("cannot build a request")]
    Request(#[from] kube::core::request::Error),
    #[error("{0}")]
    Client(#[from] kube::Error),
    /// The server has forgotten what came after our version.
    #[error("{0}")]
    Gone(String),
    #[error("an object without metadata")]
    Object(#[from] asb_core::object::MissingMetadata),
}

#[derive(Deserialize)]
struct Page {
    metadata: PageMetadata,
    #[serde(default)]
    items: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    resource_version: String,
    #[serde(default)]
    r#continue: String,
}

/// Where objects come from and where they go.
#[derive(Clone)]
struct Feed {
    client: Client,
    caches: Arc<Caches>,
    namespace: Option<Arc<str>>,
}

struct Watch {
    feed: Feed,
    selector: Option<&'static str>,
    /// How far we are. Without one, everything is to be listed.
    version: Option<Version>,
    /// The request to list again that the last list began after.
    round: u64,
}

impl Watch {
    /// Lists, or follows until the server ends the watch.
    async fn turn<V: Held>(&mut self) -> Result<(), Interruption> {
        let (caches, round) = (Arc::clone(&self.feed.caches), self.round);
        let outcome = match self.version {
            None => self.list::<V>().await.map(|version| self.version = Some(version)),
            Some(from) => tokio::select! {
                biased;
                () = caches.after_round(round), if is_of_leaders(V::KIND) => {
                    self.version = None;
                    Ok(())
                }
                outcome = self.follow::<V>(from) => outcome,
            },
        };
        if outcome.as_ref().is_err_and(loses_track) {
            self.version = None;
        }
        outcome
    }

    /// Lists everything, and takes it over at once.
    async fn list<V: Held>(&mut self) -> Result<Version, Interruption> {
        self.round = self.feed.caches.round();
        let mut params =
            ListParams { limit: Some(PAGE), label_selector: self.selector(), ..ListParams::default() };
        let mut items = Vec::new();
        loop {
            let page: Page =
                self.feed.client.request(Request::new(self.path(V::KIND)).list(&params)?).await?;
            items.extend(page.items);
            if page.metadata.r#continue.is_empty() {
                return self.take_over::<V>(&items, number(&page.metadata.resource_version));
            }
            params.continue_token = Some(page.metadata.r#continue);
        }
    }

    fn take_over<V: Held>(&self, items: &[Value], version: Version) -> Result<Version, Interruption> {
        let mut problem = None;
        self.feed.caches.change(Urgency::Backlog, |world| {
            match items.iter().map(|item| world.entry::<V>(item)).collect::<Result<Vec<_>, _>>() {
                Ok(entries) => {
                    V::cache(world).listed_in(self.round);
                    world.take::<V>(|cache| cache.replace(entries, version))
                }
                Err(error) => {
                    problem = Some(error);
                    Vec::new()
                }
            }
        });
        problem.map_or(Ok(version), |error| Err(error.into()))
    }

    /// Follows the changes after a version, until the server ends the watch.
    async fn follow<V: Held>(&mut self, from: Version) -> Result<(), Interruption> {
        let params = WatchParams {
            bookmarks: true,
            timeout: Some(WATCH_SECONDS),
            label_selector: self.selector(),
            ..WatchParams::default()
        };
        let request = Request::new(self.path(V::KIND)).watch(&params, &from.to_string())?;
        let mut events = pin!(self.feed.client.request_events::<Value>(request).await?);
        let deadline = tokio::time::Instant::now() + WATCH_PATIENCE;
        while let Ok(event) = tokio::time::timeout_at(deadline, events.try_next()).await {
            let Some(event) = event? else { break };
            let version = self.event::<V>(event)?;
            self.version = self.version.max(Some(version));
        }
        Ok(())
    }

    fn event<V: Held>(&self, event: WatchEvent<Value>) -> Result<Version, Interruption> {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => self.seen::<V>(&object),
            WatchEvent::Deleted(object) => self.deleted::<V>(&object),
            WatchEvent::Bookmark(bookmark) => {
                let version = number(&bookmark.metadata.resource_version);
                self.feed.caches.change(Urgency::Live, |world| {
                    V::cache(world).watched_until(version);
                    Vec::new()
                });
                Ok(version)
            }
            WatchEvent::Error(status) => Err(Interruption::Gone(status.message)),
        }
    }

    fn seen<V: Held>(&self, object: &Value) -> Result<Version, Interruption> {
        let version = asb_core::object::Metadata::read(object)?.version;
        self.feed.caches.change(Urgency::Live, |world| {
            let entry = world.entry::<V>(object).expect("its metadata was read above");
            world.take::<V>(|cache| cache.watched(entry).into_iter().collect())
        });
        Ok(version)
    }

    fn deleted<V: Held>(&self, object: &Value) -> Result<Version, Interruption> {
        let metadata = asb_core::object::Metadata::read(object)?;
        self.feed.caches.change(Urgency::Live, |world| {
            world.take::<V>(|cache| cache.watched_deletion(&metadata).into_iter().collect())
        });
        Ok(metadata.version)
    }

    /// Where the objects of a kind are.
    fn path(&self, kind: Kind) -> String {
        let group = match kind.group() {
            "" => format!("/api/{}", kind.version()),
            group => format!("/apis/{group}/{}", kind.version()),
        };
        match &self.feed.namespace {
            Some(namespace) => format!("{group}/namespaces/{namespace}/{}", kind.plural()),
            None => format!("{group}/{}", kind.plural()),
        }
    }

    fn selector(&self) -> Option<String> {
        self.selector.map(str::to_owned)
    }
}

/// Whether what a leader did last is in objects of this kind.
fn is_of_leaders(kind: Kind) -> bool {
    matches!(kind, Kind::Sandbox | Kind::SandboxClaim)
}

/// Whether there is no going on from where we were.
fn loses_track(interruption: &Interruption) -> bool {
    match interruption {
        Interruption::Client(kube::Error::Api(status)) => status.code == 410,
        Interruption::Client(_) | Interruption::Request(_) => false,
        Interruption::Gone(_) | Interruption::Object(_) => true,
    }
}

fn number(version: &str) -> Version {
    Version(version.parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use asb_core::object::Key;
    use http::{Request as Asked, Response};
    use kube::client::Body;
    use serde_json::json;
    use tower::service_fn;

    use super::*;

    /// A server that does not know the kind when it is first asked, then lists one object, and has no more to tell.
    fn server(asked: Arc<AtomicUsize>) -> Client {
        let service = service_fn(move |request: Asked<Body>| {
            let is_first = asked.fetch_add(1, Ordering::Relaxed) == 0;
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch"));
            let object =
                json!({"metadata": {"namespace": "n", "name": "c", "uid": "u", "resourceVersion": "2"}});
            let (status, body) = if is_first {
                (404, json!({"status": "Failure", "reason": "NotFound", "code": 404}).to_string())
            } else {
                (200, json!({"metadata": {"resourceVersion": "3"}, "items": [object]}).to_string())
            };
            let response = Response::builder().status(status).body(Body::from(body.into_bytes()));
            async move {
                if is_watch {
                    std::future::pending::<()>().await;
                }
                response
            }
        });
        Client::new(service, "n")
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_not_served_counts_as_empty_and_is_followed_once_it_is() {
        type Claim = ShorthandView<ShortClaim>;
        let caches = Arc::new(Caches::default());
        let client = server(Arc::default());
        let feed = Feed { client, caches: Arc::clone(&caches), namespace: None };
        let following = tokio::spawn(follow_if_served::<Claim>(feed));
        let claim = Key::new("n", "c");
        let is_synced = || caches.read(|world| world.shorthands.claims.is_synced());
        let is_there = || caches.read(|world| world.shorthands.claims.get(&claim).is_some());
        while !is_synced() {
            tokio::task::yield_now().await;
        }
        assert!(!is_there());
        while !is_there() {
            tokio::time::advance(ABSENT_PAUSE).await;
        }
        following.abort();
    }

    #[test]
    fn without_extensions_only_sandboxes_and_their_children_are_waited_for() {
        let caches = Caches::default();
        leave_out::<TemplateView>(&caches);
        leave_out::<PoolView>(&caches);
        leave_out::<ClaimView>(&caches);
        leave_out::<NetworkPolicyView>(&caches);
        assert!(!caches.is_synced());
        leave_out::<SandboxView>(&caches);
        leave_out::<PodView>(&caches);
        leave_out::<ServiceView>(&caches);
        leave_out::<VolumeView>(&caches);
        leave_out_shorthand(&caches);
        assert!(caches.is_synced());
    }
}
