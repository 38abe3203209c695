//! What a cluster does by itself: collects garbage, empties namespaces, serves definitions, keeps derived objects. Each
//! controller says what a change touches and does what one item needs, writing through [`Api`] like any client; the
//! [`driver`] does the rest for all of them.

mod cluster_roles;
mod definitions;
mod driver;
mod events;
mod garbage;
mod namespaces;
mod queue;
mod service_accounts;
mod volumes;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::driver::{Controller, follow, keep_up};
use crate::api::Api;

pub(crate) use definitions::serve_definitions;

/// The controllers of one server. They end with it.
#[derive(Default)]
pub(crate) struct Controllers {
    tasks: TaskTracker,
    stop: CancellationToken,
    /// How many there are, and how many of them run and have looked at everything.
    started: AtomicUsize,
    running: Arc<AtomicUsize>,
}

/// One that runs, for as long as it does.
struct Running(Arc<AtomicUsize>);

impl Controllers {
    pub(crate) fn start(api: &Arc<Api>, authority: &str) -> Self {
        let this = Self::default();
        let api = || Arc::clone(api);
        this.follow(garbage::Collector::new(api()));
        this.follow(namespaces::Namespaces(api()));
        this.follow(service_accounts::ServiceAccounts { api: api(), authority: authority.to_owned() });
        this.follow(definitions::Definitions(api()));
        this.follow(cluster_roles::ClusterRoles(api()));
        this.follow(volumes::Volumes(api()));
        let (api, running) = (api(), Arc::clone(&this.running));
        this.run("events", move || events::run(Arc::clone(&api), Running::new(&running)));
        this
    }

    /// Whether all of them run and have begun: what is left to do is what changes from now on.
    pub(crate) fn are_well(&self) -> bool {
        self.running.load(Ordering::Relaxed) == self.started.load(Ordering::Relaxed)
    }

    fn follow<C: Controller>(&self, controller: C) {
        let (controller, running) = (Arc::new(controller), Arc::clone(&self.running));
        self.run(C::NAME, move || {
            let running = Arc::clone(&running);
            follow(Arc::clone(&controller), move || Running::new(&running))
        });
    }

    fn run<F>(&self, name: &'static str, controller: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.started.fetch_add(1, Ordering::Relaxed);
        let kept_up = async move { keep_up(name, controller).await };
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(kept_up));
    }

    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Running {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
