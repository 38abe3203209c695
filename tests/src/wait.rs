//! Waiting without sleeping: on a watch where there is one, by asking again where there is not. The only place
//! that polls. A wait that fails says what was awaited and what was seen last.

mod objects;

use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watch_object};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{MissedTickBehavior, interval, timeout};

pub use self::objects::{for_objects, for_objects_within};

/// Long enough for a busy machine; a test that needs this long has failed already.
pub const DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(25);

#[derive(Debug, thiserror::Error)]
#[error("waited {} s in vain for {what}; last seen: {last}", .deadline.as_secs_f32())]
pub struct TimedOut {
    pub what: String,
    pub deadline: Duration,
    /// The object as JSON, or what kept it from being seen.
    pub last: String,
}

/// What a wait can be on: any kind with a type of its own.
pub trait Object: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize + Send {}

impl<K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize + Send> Object for K {}

/// Asks until there is an answer. For what cannot be watched; prefer [`for_object`].
pub async fn until<T, F, Probe>(deadline: Duration, what: &str, mut probe: F) -> Result<T, TimedOut>
where
    F: FnMut() -> Probe,
    Probe: Future<Output = Option<T>>,
{
    let ask = async {
        let mut ticks = interval(POLL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Some(answer) = probe().await {
                return answer;
            }
        }
    };
    timeout(deadline, ask).await.map_err(|_| timed_out(what, deadline, "no answer".to_owned()))
}

/// Watches an object until it is as wanted, for at most [`DEADLINE`].
pub async fn for_object<K: Object + 'static>(
    api: &Api<K>,
    name: &str,
    what: &str,
    wanted: impl Fn(&K) -> bool,
) -> Result<K, TimedOut> {
    for_object_within(DEADLINE, api, name, what, wanted).await
}

/// As [`for_object`], with a deadline of the caller's.
pub async fn for_object_within<K: Object + 'static>(
    deadline: Duration,
    api: &Api<K>,
    name: &str,
    what: &str,
    wanted: impl Fn(&K) -> bool,
) -> Result<K, TimedOut> {
    let what = format!("{} {name}: {what}", K::kind(&()));
    watch(deadline, api, name, &what, |seen| seen.filter(|object| wanted(object)).cloned()).await
}

/// Watches until this very object is gone; another one under its name counts as gone.
pub async fn for_gone<K: Object + 'static>(api: &Api<K>, object: &K) -> Result<(), TimedOut> {
    let (name, uid) = (object.name_any(), object.uid());
    let what = format!("{} {name}: gone", K::kind(&()));
    let gone = |seen: Option<&K>| seen.is_none_or(|seen| seen.uid() != uid).then_some(());
    watch(DEADLINE, api, &name, &what, gone).await
}

async fn watch<K: Object + 'static, T>(
    deadline: Duration,
    api: &Api<K>,
    name: &str,
    what: &str,
    answer: impl Fn(Option<&K>) -> Option<T>,
) -> Result<T, TimedOut> {
    let mut last = None;
    let look = async {
        let mut sights = pin!(watch_object(api.clone(), name).default_backoff());
        loop {
            let sight = sights.next().await.expect("a watch never ends by itself");
            if let Some(answer) = sight.as_ref().ok().and_then(|seen| answer(seen.as_ref())) {
                return answer;
            }
            last = Some(sight);
        }
    };
    let found = timeout(deadline, look).await;
    found.map_err(|_| timed_out(what, deadline, describe(last)))
}

fn describe<K: Object>(last: Option<Result<Option<K>, watcher::Error>>) -> String {
    match last {
        None => "nothing".to_owned(),
        Some(Err(error)) => error.to_string(),
        Some(Ok(None)) => "no such object".to_owned(),
        Some(Ok(Some(mut object))) => {
            object.managed_fields_mut().clear();
            serde_json::to_string_pretty(&object).unwrap_or_else(|error| error.to_string())
        }
    }
}

fn timed_out(what: &str, deadline: Duration, last: String) -> TimedOut {
    TimedOut { what: what.to_owned(), deadline, last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_answer_ends_the_wait() {
        let mut asked = 0;
        let third = until(DEADLINE, "the third question", || {
            asked += 1;
            std::future::ready((asked == 3).then_some(asked))
        });
        assert_eq!(third.await.unwrap(), 3);
    }

    #[tokio::test]
    async fn a_wait_in_vain_says_what_for() {
        let never = until(Duration::from_millis(1), "rain", || std::future::ready(None::<()>)).await;
        assert_eq!(never.unwrap_err().to_string(), "waited 0.001 s in vain for rain; last seen: no answer");
    }
}
