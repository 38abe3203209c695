//! Joins the API server's streams to the Pods of this machine.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, RwLock};

use asb_apiserver::security::authentication::User;
use asb_apiserver::streaming::{
    Amounts, Connection, Container, Error, Log, LogOptions, NodeUsage, Pod, PodStreams, PodUsage, Process,
    TerminalSize, Wanted,
};
use asb_node::streams as node;
use asb_node::streams::{Kind, LogStream, Session, Size, Streams, Target};
use asb_router::{Caller, Handle};
use futures::FutureExt;
use tokio::sync::watch;

use crate::router::POD;

/// The port of the router's Pod.
const ROUTER_PORT: u16 = 8080;

/// How much may be under way in each direction.
const BUFFER: usize = 64 * 1024;

/// The namespaces in which the Pod called `sandbox-router` is the router of this process.
#[derive(Clone, Default)]
pub(crate) struct Signed(Arc<RwLock<BTreeSet<String>>>);

impl Signed {
    pub(crate) fn add(&self, namespace: &str) {
        self.0.write().expect("nobody panics with it").insert(namespace.to_owned());
    }

    fn has(&self, namespace: &str) -> bool {
        self.0.read().expect("nobody panics with it").contains(namespace)
    }
}

/// The Pods of this machine, once there is a node: the server is there before, because the node is its client.
#[derive(Clone, Default)]
pub(crate) struct LocalPods {
    node: Arc<OnceLock<Streams>>,
    router: Arc<OnceLock<Handle>>,
    signed: Signed,
}

impl LocalPods {
    /// From now on there is a node. The first one stays.
    pub(crate) fn connect(&self, streams: Streams) {
        let _ = self.node.set(streams);
    }

    /// From now on there is a router, which is this process and stands in the API as a Pod.
    pub(crate) fn hand_over_to(&self, router: Handle) {
        let _ = self.router.set(router);
    }

    /// Where its Pod stands is told here.
    pub(crate) fn signed(&self) -> Signed {
        self.signed.clone()
    }

    /// A connection to the router, which knows whose it is and lets them into what they may reach.
    fn to_the_router(&self, port: u16, who: &User) -> Result<Box<dyn Connection>, Error> {
        let missing = || Error::NotFound("the router of this server has not started; try again".to_owned());
        let router = self.router.get().ok_or_else(missing)?;
        if port != ROUTER_PORT {
            return Err(Error::Bad(format!("the router listens on port {ROUTER_PORT}, not on {port}")));
        }
        let (outer, inner) = tokio::io::duplex(BUFFER);
        let User { name, uid, groups, extra } = who.clone();
        router.accept(inner, Caller::User(asb_router::User { name, uid, groups, extra }));
        Ok(Box::new(outer))
    }

    fn streams(&self) -> Result<&Streams, Error> {
        let missing = || Error::NotFound("the node of this server has not started; try again".to_owned());
        self.node.get().ok_or_else(missing)
    }
}

impl PodStreams for LocalPods {
    const METERED: bool = true;

    async fn usage(&self, namespace: Option<&str>) -> Result<Vec<PodUsage>, Error> {
        let is_there = |known: Option<&str>| namespace.is_none_or(|wanted| known == Some(wanted));
        let usage = self.streams()?.usage(|pod| is_there(pod.metadata.namespace.as_deref())).await;
        Ok(usage.into_iter().map(pod_usage).collect())
    }

    async fn node_usage(&self) -> Result<NodeUsage, Error> {
        let used = self.streams()?.machine_usage().await.map_err(refusal)?;
        let amounts = Amounts { cpu_nano: used.cpu_nano, memory_bytes: used.memory_bytes };
        Ok(NodeUsage { window: used.window, amounts })
    }

    async fn check(&self, container: &Container) -> Result<(), Error> {
        self.streams()?.check(&target(container)).await.map_err(refusal)
    }

    async fn exec(
        &self,
        container: &Container,
        command: &[String],
        wanted: Wanted,
    ) -> Result<Process, Error> {
        let session = self.streams()?.exec(&target(container), command, wishes(wanted)).await;
        session.map(process).map_err(refusal)
    }

    async fn attach(&self, container: &Container, wanted: Wanted) -> Result<Process, Error> {
        let session = self.streams()?.attach(&target(container), wishes(wanted)).await;
        session.map(process).map_err(refusal)
    }

    async fn port_forward(&self, pod: &Pod, port: u16, who: &User) -> Result<Box<dyn Connection>, Error> {
        if pod.name == POD && self.signed.has(&pod.namespace) {
            return self.to_the_router(port, who);
        }
        let stream = self.streams()?.port_forward(&pod.namespace, &pod.name, port).await;
        stream.map(|stream| Box::new(stream) as _).map_err(refusal)
    }

    async fn logs(&self, container: &Container, options: &LogOptions) -> Result<Log, Error> {
        self.streams()?.logs(&target(container), &log_options(options)).await.map_err(refusal)
    }
}

fn target(container: &Container) -> Target {
    let Container { pod, name } = container.clone();
    Target { namespace: pod.namespace, pod: pod.name, container: name }
}

fn wishes(wanted: Wanted) -> node::Wanted {
    let Wanted { stdin, stdout, stderr, terminal } = wanted;
    node::Wanted { stdin, stdout, stderr, terminal }
}

fn log_options(options: &LogOptions) -> node::LogOptions {
    node::LogOptions {
        follow: options.follow,
        previous: options.previous,
        timestamps: options.timestamps,
        since_seconds: options.since_seconds,
        since_time: options.since_time,
        tail_lines: options.tail_lines,
        limit_bytes: options.limit_bytes,
        stream: match options.stream.as_deref() {
            Some("Stdout") => LogStream::Stdout,
            Some("Stderr") => LogStream::Stderr,
            _ => LogStream::All,
        },
    }
}

fn pod_usage(used: node::PodUsage) -> PodUsage {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let metadata = &used.pod.metadata;
    let amounts =
        |it: &node::ContainerUsage| Amounts { cpu_nano: it.cpu_nano, memory_bytes: it.memory_bytes };
    PodUsage {
        pod: Pod { namespace: text(&metadata.namespace), name: text(&metadata.name) },
        window: used.window,
        containers: used.containers.iter().map(|it| (it.name.clone(), amounts(it))).collect(),
    }
}

fn process(session: Session) -> Process {
    let Session { stdin, stdout, stderr, size, exit } = session;
    let (outer, sizes) = watch::channel(TerminalSize::default());
    let with_size = size.is_some();
    let exit = async move {
        tokio::select! {
            code = exit => Ok(u8::try_from(code.map_err(refusal)? & 0xff).unwrap_or(u8::MAX)),
            never = pass_on(sizes, size) => match never {},
        }
    };
    Process { stdin, stdout, stderr, size: with_size.then_some(outer), exit: exit.boxed() }
}

async fn pass_on(
    mut sizes: watch::Receiver<TerminalSize>,
    to: Option<watch::Sender<Size>>,
) -> std::convert::Infallible {
    while let Some(to) = &to
        && sizes.changed().await.is_ok()
    {
        let TerminalSize { width, height } = *sizes.borrow_and_update();
        to.send_replace(Size { columns: width, rows: height });
    }
    std::future::pending().await
}

fn refusal(error: node::Error) -> Error {
    let words = error.to_string();
    match error.kind() {
        Kind::Bad => Error::Bad(words),
        Kind::NotFound => Error::NotFound(words),
        Kind::Failed => Error::Failed(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn before_there_is_a_node_nothing_can_be_reached() {
        let pod = Pod { namespace: "team".to_owned(), name: "box".to_owned() };
        let who = User::default();
        let refused = LocalPods::default().port_forward(&pod, 80, &who).await.err();
        let refused = refused.map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some("the node of this server has not started; try again"));
    }

    #[tokio::test]
    async fn the_router_is_behind_its_pod_in_every_namespace_that_has_one() {
        let pods = LocalPods::default();
        pods.signed().add("team");
        let refused = async |namespace: &str, name: &str| {
            let pod = Pod { namespace: namespace.to_owned(), name: name.to_owned() };
            pods.port_forward(&pod, 8080, &User::default()).await.err().map(|error| error.to_string())
        };
        let router = Some("the router of this server has not started; try again".to_owned());
        assert_eq!(refused("team", "sandbox-router").await, router);
        assert_ne!(refused("team", "box").await, router);
        assert_ne!(refused("elsewhere", "sandbox-router").await, router, "that is somebody's own");
    }

    #[tokio::test]
    async fn sizes_and_exit_codes_reach_the_other_side() {
        let (size, mut sizes) = watch::channel(Size::default());
        let exit = async move {
            sizes.changed().await.expect("somebody sends");
            Ok(256 + i32::from(sizes.borrow().rows))
        };
        let session =
            Session { stdin: None, stdout: None, stderr: None, size: Some(size), exit: exit.boxed() };
        let process = process(session);
        process.size.expect("it has a terminal").send_replace(TerminalSize { width: 80, height: 24 });
        assert_eq!(process.exit.await.expect("it ends"), 24);
    }
}
