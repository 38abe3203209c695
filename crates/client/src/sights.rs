//! Follows a Sandbox, its Pod and the events about that, and hands over what is known whenever that changes.

use asb_types::v1beta1::{Sandbox, SandboxClaim};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, future};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt;
use kube::runtime::watcher::{self, watch_object};
use kube::runtime::{WatchStreamExt, watcher as watch};

use crate::client::Client;
use crate::error::Error;
use crate::pods::{self, Ending, pod_name};
use crate::progress::{Outlook, of_claim, of_sandbox};

/// What is known of a Sandbox at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub sandbox: Option<Sandbox>,
    pub pod: Option<Pod>,
    /// About the Pod, in the order in which they came.
    pub events: Vec<Event>,
}

/// More than these tell nothing new about a Pod that starts.
const EVENTS: usize = 100;

enum Sight {
    Sandbox(Option<Box<Sandbox>>),
    Pod(Option<Box<Pod>>),
    Event(Box<Event>),
}

impl Snapshot {
    /// Whether the container of that name runs, or has run.
    pub fn has_started(&self, container: &str) -> bool {
        self.pod.as_ref().is_some_and(|pod| pods::has_started(pod, container))
    }

    /// How the container of that name ended.
    pub fn ending(&self, container: &str) -> Option<Ending> {
        pods::ending(self.pod.as_ref()?, container)
    }

    fn see(&mut self, sight: Sight) {
        match sight {
            Sight::Sandbox(sandbox) => self.sandbox = sandbox.map(|it| *it),
            Sight::Pod(pod) => self.pod = pod.map(|it| *it),
            Sight::Event(event) if self.events.len() < EVENTS => self.events.push(*event),
            Sight::Event(_) => {}
        }
    }

    /// The same without what is about a Pod of that name of before.
    fn settled(&self) -> Self {
        let uid = self.pod.as_ref().and_then(ResourceExt::uid);
        let is_about = |event: &&Event| uid.is_some() && event.involved_object.uid == uid;
        Self { events: self.events.iter().filter(is_about).cloned().collect(), ..self.clone() }
    }
}

impl Client {
    /// Everything about one Sandbox, from now on, until it is gone.
    pub fn follow(&self, sandbox: &Sandbox) -> BoxStream<'static, Result<Snapshot, Error>> {
        let (namespace, name) = (sandbox.namespace().unwrap_or_default(), sandbox.name_any());
        let (uid, pod) = (sandbox.uid(), pod_name(sandbox));
        let sandboxes = sights(watch_object(self.api::<Sandbox>(&namespace), &name), "the Sandbox", |it| {
            Sight::Sandbox(it.map(Box::new))
        });
        let pods = sights(watch_object(self.api::<Pod>(&namespace), &pod), "the Pod", |it| {
            Sight::Pod(it.map(Box::new))
        });
        let all = futures::stream::select_all([sandboxes, pods, self.pod_events(&namespace, &pod)]);
        let mut snapshot = Snapshot::default();
        let mut known = false;
        let seen = all.filter_map(move |sight| {
            let seen = sight.map(|sight| {
                known |= matches!(sight, Sight::Sandbox(_));
                snapshot.see(sight);
                known.then(|| snapshot.settled())
            });
            future::ready(seen.transpose())
        });
        let mut over = false;
        let alive = seen.map(move |seen| match seen {
            Ok(seen) if seen.sandbox.as_ref().is_none_or(|it| it.uid() != uid) => {
                Err(Error::Gone { what: "Sandbox", name: name.clone() })
            }
            seen => seen,
        });
        // What comes after an error tells nothing.
        alive.take_while(move |seen| future::ready(!std::mem::replace(&mut over, seen.is_err()))).boxed()
    }

    /// How far a Sandbox has come, one item for each change.
    ///
    /// ```no_run
    /// # async fn example(client: asb_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use futures::StreamExt;
    ///
    /// let sandbox = client.find_sandbox(&"box".parse()?).await?;
    /// let mut steps = client.steps(&sandbox);
    /// while let Some(outlook) = steps.next().await {
    ///     drop(outlook?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn steps(&self, sandbox: &Sandbox) -> BoxStream<'static, Result<Outlook, Error>> {
        let mut last = None;
        let outlooks = self.follow(sandbox).map(|seen| seen.map(|snapshot| of_sandbox(&snapshot)));
        let changed = outlooks.filter(move |outlook| {
            let is_same = outlook.as_ref().is_ok_and(|outlook| last.as_ref() == Some(outlook));
            last = outlook.as_ref().ok().cloned();
            future::ready(!is_same)
        });
        changed.boxed()
    }

    /// Follows a claim, one item for each change, until it is gone.
    pub fn claim_steps(
        &self,
        claim: &SandboxClaim,
    ) -> BoxStream<'static, Result<(SandboxClaim, Outlook), Error>> {
        let (namespace, name) = (claim.namespace().unwrap_or_default(), claim.name_any());
        let sights = watch_object(self.api::<SandboxClaim>(&namespace), &name).default_backoff();
        let lost = move || Error::Gone { what: "claim", name: name.clone() };
        let steps = sights.filter_map(lasting("the claim")).map(move |seen| {
            let claim = seen?.ok_or_else(&lost)?;
            let outlook = of_claim(&claim);
            Ok((claim, outlook))
        });
        steps.boxed()
    }

    /// Who may not see events does without.
    fn pod_events(&self, namespace: &str, pod: &str) -> BoxStream<'static, Result<Sight, Error>> {
        let about = watch::Config::default().fields(&format!("involvedObject.name={pod}"));
        let events = watch::watcher(self.api::<Event>(namespace), about).default_backoff().applied_objects();
        events.filter_map(|event| future::ready(event.ok().map(|it| Ok(Sight::Event(Box::new(it)))))).boxed()
    }
}

fn sights<K: Send + 'static>(
    stream: impl Stream<Item = watcher::Result<Option<K>>> + Send + 'static,
    what: &'static str,
    sight: impl Fn(Option<K>) -> Sight + Send + 'static,
) -> BoxStream<'static, Result<Sight, Error>> {
    stream.default_backoff().filter_map(lasting(what)).map(move |seen| seen.map(&sight)).boxed()
}

/// A watch tries again by itself; only a refusal will stay one.
pub(crate) fn lasting<T>(
    what: &'static str,
) -> impl FnMut(watcher::Result<T>) -> future::Ready<Option<Result<T, Error>>> {
    move |seen| {
        future::ready(match seen {
            Ok(seen) => Some(Ok(seen)),
            Err(error) if is_refusal(&error) => {
                Some(Err(Error::Watch { what: what.to_owned(), cause: Box::new(error) }))
            }
            Err(_) => None,
        })
    }
}

fn is_refusal(error: &watcher::Error) -> bool {
    use watcher::Error::{InitialListFailed, WatchError, WatchFailed, WatchStartFailed};
    let code = match error {
        InitialListFailed(kube::Error::Api(status))
        | WatchStartFailed(kube::Error::Api(status))
        | WatchFailed(kube::Error::Api(status))
        | WatchError(status) => status.code,
        _ => 0,
    };
    matches!(code, 401 | 403 | 404)
}
