//! What a cluster does by itself: collects garbage, empties namespaces, serves definitions, keeps derived objects. Each
//! controller watches the store, decides, and writes through [`Api`] like any client.

mod cluster_roles;
mod definitions;
mod events;
mod garbage;
mod namespaces;
mod service_accounts;
mod volumes;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::Api;
use crate::store::{Event, Scope};

pub(crate) use definitions::serve_definitions;

/// The controllers of one server. They end with it.
#[derive(Default)]
pub(crate) struct Controllers {
    tasks: TaskTracker,
    stop: CancellationToken,
    /// How many there are, and how many of them have not looked at everything yet.
    started: AtomicUsize,
    behind: Arc<AtomicUsize>,
}

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
        this.run(events::run(api()));
        this
    }

    fn run(&self, controller: impl Future<Output = ()> + Send + 'static) {
        self.started.fetch_add(1, Ordering::Relaxed);
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(controller));
    }

    /// Whether all of them run and have begun: what is left to do is what changes from now on.
    pub(crate) fn are_well(&self) -> bool {
        self.tasks.len() == self.started.load(Ordering::Relaxed) && self.behind.load(Ordering::Relaxed) == 0
    }

    fn follow<C: Controller>(&self, controller: C) {
        self.behind.fetch_add(1, Ordering::Relaxed);
        let behind = Arc::clone(&self.behind);
        let begun = move || {
            behind.fetch_sub(1, Ordering::Relaxed);
        };
        self.run(follow(controller, begun));
    }

    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Something that is kept true while objects change.
trait Controller: Send + Sync + 'static {
    /// The resources whose changes matter, as the store names them; none stands for all.
    const RESOURCES: &'static [&'static str];

    fn api(&self) -> &Api;

    /// Looks at everything there is: at the start, and whenever changes were missed.
    fn begin(&self) -> impl Future<Output = ()> + Send;

    /// Looks at what changed since; at everything again where that is as cheap.
    fn take(&self, _events: Vec<Event>) -> impl Future<Output = ()> + Send {
        self.begin()
    }
}

async fn follow<C: Controller>(controller: C, begun: impl FnOnce() + Send) {
    let mut begun = Some(begun);
    loop {
        let store = controller.api().store();
        let Ok(mut watch) = store.watch(Scope::everything(), store.revision()) else { continue };
        controller.begin().await;
        if let Some(begun) = begun.take() {
            begun();
        }
        while let Ok(events) = watch.next().await {
            let matters =
                |event: &Event| C::RESOURCES.is_empty() || C::RESOURCES.contains(&event.entry.key.resource());
            let events: Vec<Event> = events.into_iter().filter(matters).collect();
            if !events.is_empty() {
                controller.take(events).await;
            }
        }
    }
}
