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
        let api = || Arc::clone(api);
        this.run(follow(garbage::Collector::new(api())));
        this.run(follow(namespaces::Namespaces(api())));
        this.run(follow(service_accounts::ServiceAccounts { api: api(), authority: authority.to_owned() }));
        this.run(follow(definitions::Definitions(api())));
        this.run(follow(cluster_roles::ClusterRoles(api())));
        this.run(follow(volumes::Volumes(api())));
        this.run(events::run(api()));
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

async fn follow<C: Controller>(controller: C) {
    loop {
        let store = controller.api().store();
        let Ok(mut watch) = store.watch(Scope::everything(), store.revision()) else { continue };
        controller.begin().await;
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
