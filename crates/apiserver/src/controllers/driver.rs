//! Drives a controller: tells it what to look at, follows the store while it works so that it never falls behind, and tries
//! again what failed or broke. What the items are and what they need is for the controller to say.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::time::Instant;

use super::queue::{self, Queue};
use crate::api::Api;
use crate::status::Status;
use crate::store::{Event, Expired, Scope, Watch};

/// Something that is kept true while objects change.
pub(super) trait Controller: Send + Sync + 'static {
    const NAME: &'static str;

    /// The resources whose changes matter, as the store names them; none stands for all.
    const RESOURCES: &'static [&'static str];

    /// What it looks at, one at a time.
    type Item: Clone + Ord + fmt::Debug + Send + Sync;

    fn api(&self) -> &Api;

    /// Everything there is to look at: at the start, and whenever changes were missed.
    fn all(&self) -> Vec<Self::Item>;

    /// What to look at after a change.
    fn touched(&self, event: &Event) -> Vec<Self::Item>;

    /// Does what one item needs now, which may be nothing. What fails is tried again.
    fn tend(&self, item: &Self::Item) -> impl Future<Output = Result<(), Status>> + Send;
}

pub(super) struct Driver<'a, C: Controller> {
    controller: &'a C,
    watch: Watch,
    queue: Queue<C::Item>,
}

impl<'a, C: Controller> Driver<'a, C> {
    /// Begins with everything there is.
    pub(super) fn new(controller: &'a C) -> Self {
        let mut driver = Self { controller, watch: watch(controller.api()), queue: Queue::default() };
        driver.queue.add(controller.all());
        driver
    }

    /// Works until nothing is left that could be done now.
    pub(super) async fn settle(&mut self) {
        while self.step().await {}
    }

    /// Hears what is new and looks at one item. Says whether there may be more.
    pub(super) async fn step(&mut self) -> bool {
        let news = self.watch.now();
        let is_news = news.as_ref().is_ok_and(|events| !events.is_empty());
        self.take(news);
        let Some(item) = self.queue.next(Instant::now()) else { return is_news };
        self.tend(item).await;
        true
    }

    /// Waits for changes, or for the time to try again what failed.
    pub(super) async fn wait(&mut self) {
        let again = self.queue.again();
        let pause = async {
            match again {
                Some(again) => tokio::time::sleep_until(again).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            news = self.watch.next() => self.take(news),
            () = pause => {}
        }
    }

    fn take(&mut self, news: Result<Vec<Event>, Expired>) {
        let Ok(events) = news else {
            self.watch = watch(self.controller.api());
            return self.queue.add(self.controller.all());
        };
        let matters =
            |event: &&Event| C::RESOURCES.is_empty() || C::RESOURCES.contains(&event.entry.key.resource());
        for event in events.iter().filter(matters) {
            self.queue.add(self.controller.touched(event));
        }
    }

    async fn tend(&mut self, item: C::Item) {
        let attempt = AssertUnwindSafe(self.controller.tend(&item)).catch_unwind().await;
        let error = match attempt {
            Ok(Ok(())) => return self.queue.succeeded(&item),
            Ok(Err(status)) => status.to_string(),
            Err(panic) => words(panic.as_ref()),
        };
        let pause = self.queue.failed(item.clone(), Instant::now());
        tracing::warn!(
            controller = C::NAME,
            ?item,
            error,
            ?pause,
            "what a controller tried failed; it tries again"
        );
    }
}

fn watch(api: &Api) -> Watch {
    let store = api.store();
    loop {
        // The revision of this moment is in the history unless the history went on meanwhile.
        if let Ok(watch) = store.watch(Scope::everything(), store.revision()) {
            return watch;
        }
    }
}

/// Runs a controller for ever. `begun` is called when it has looked at everything once, and what it returns is kept for as
/// long as the controller runs.
pub(super) async fn follow<C: Controller, T>(controller: Arc<C>, begun: impl FnOnce() -> T) {
    let mut driver = Driver::new(&*controller);
    driver.settle().await;
    let _running = begun();
    loop {
        driver.wait().await;
        driver.settle().await;
    }
}

/// Begins anew whatever ends, which it does only by breaking.
pub(super) async fn keep_up<F: Future<Output = ()>>(name: &str, run: impl Fn() -> F) {
    for times in 1.. {
        let ended = AssertUnwindSafe(run()).catch_unwind().await;
        let error = ended.err().map(|panic| words(panic.as_ref()));
        let pause = queue::pause(times);
        tracing::error!(controller = name, error, ?pause, "a controller broke; it begins anew");
        tokio::time::sleep(pause).await;
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().map(ToString::to_string);
    said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it broke".to_owned())
}

#[cfg(test)]
mod tests;
