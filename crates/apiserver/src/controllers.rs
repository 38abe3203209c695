//! What a cluster does by itself: collects garbage, empties namespaces, serves definitions, keeps derived objects. Each
//! controller watches the store, decides purely, and writes through [`Api`] like any client.

mod cluster_roles;
mod definitions;
mod events;
mod garbage;
mod namespaces;
mod service_accounts;
mod volumes;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::Api;
use crate::store::{Event, Scope};

pub(crate) use definitions::serve_definitions;

/// The controllers of one server. They end with it.
pub(crate) struct Controllers {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Controllers {
    pub(crate) fn start(api: &Arc<Api>, authority: &str) -> Self {
        let this = Self { tasks: TaskTracker::new(), stop: CancellationToken::new() };
        this.run(garbage::run(Arc::clone(api)));
        this.run(namespaces::run(Arc::clone(api)));
        this.run(service_accounts::run(Arc::clone(api), authority.to_owned()));
        this.run(definitions::run(Arc::clone(api)));
        this.run(cluster_roles::run(Arc::clone(api)));
        this.run(events::run(Arc::clone(api)));
        this.run(volumes::run(Arc::clone(api)));
        this
    }

    fn run(&self, controller: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(controller));
    }

    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Follows some resources, or all where none are named, from now on. Calls `all` at the start and whenever it fell behind,
/// and `some` with what changed since.
async fn follow<A, S>(api: &Api, resources: &[&str], all: A, some: S)
where
    A: AsyncFn(),
    S: AsyncFn(Vec<Event>),
{
    loop {
        let start = api.store().revision();
        let Ok(mut watch) = api.store().watch(Scope::everything(), start) else { continue };
        all().await;
        while let Ok(events) = watch.next().await {
            let is_ours = |event: &Event| resources.is_empty() || resources.contains(&event.entry.key.resource());
            let ours: Vec<Event> = events.into_iter().filter(is_ours).collect();
            if !ours.is_empty() {
                some(ours).await;
            }
        }
    }
}
