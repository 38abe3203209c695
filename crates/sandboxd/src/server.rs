//! What all requests share, and the way of each to whoever answers it.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Method, Request};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::{Code, Failure};
use crate::files::path::Inside;
use crate::files::root::Root;
use crate::http::body::Chunks;
use crate::http::payload::Served;
use crate::http::route::{self, Found};
use crate::http::{answer, connection};
use crate::processes::Processes;
use crate::settings::Settings;
use crate::settings::limits::size;
use crate::{grpc, legacy, rest, timestamp};

pub(crate) struct Server {
    pub(crate) settings: Settings,
    pub(crate) root: Arc<Root>,
    pub(crate) processes: Rc<Processes>,
    pub(crate) started: Instant,
    /// It is ending, and tells probes so.
    pub(crate) draining: Cell<bool>,
    transfers: Arc<Semaphore>,
    watchers: Arc<Semaphore>,
    connections: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
}

/// How many are told at a time that there is no room. Others are turned away without a word.
const REFUSALS: u64 = 64;

impl Server {
    pub(crate) fn new(settings: Settings, root: Root, processes: Rc<Processes>) -> Rc<Self> {
        let limits = &settings.limits;
        Rc::new(Self {
            transfers: places(limits.transfers),
            watchers: places(limits.watchers),
            connections: places(limits.connections),
            refusals: places(REFUSALS),
            settings,
            root: Arc::new(root),
            processes,
            started: Instant::now(),
            draining: Cell::new(false),
        })
    }

    /// Takes connections for ever.
    pub(crate) async fn listen(self: Rc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => self.clone().take(stream),
                // Out of descriptors, for one: those that are open will close.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn take(self: Rc<Self>, stream: tokio::net::TcpStream) {
        if let Ok(place) = self.connections.clone().try_acquire_owned() {
            tokio::task::spawn_local(connection::serve(self, stream, place));
        } else if let Ok(place) = self.refusals.clone().try_acquire_owned() {
            tokio::task::spawn_local(connection::refuse(stream, place));
        }
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.settings.ports.iter().map(|port| SocketAddr::new(self.settings.host, *port)).collect()
    }

    pub(crate) async fn handle(self: Rc<Self>, request: Request<Incoming>) -> Served {
        if grpc::is_grpc(&request) {
            return Ok(grpc::handle(self, request).await);
        }
        let path = request.uri().path().to_owned();
        let found = route::find(&path);
        if let Err(failure) = self.admit(&request, &found) {
            return Ok(answer::failure(&failure));
        }
        Ok(if found.route.is_legacy() {
            legacy::handle(self, request, found).await
        } else {
            rest::handle(self, request, found).await
        })
    }

    fn admit(&self, request: &Request<Incoming>, found: &Found<'_>) -> Result<(), Failure> {
        if !found.is_open() {
            self.settings.access.check(request.headers(), timestamp::unix_now())?;
        }
        let is_harmless = [Method::GET, Method::HEAD].contains(request.method())
            && !request.headers().contains_key(http::header::UPGRADE);
        if is_harmless {
            return Ok(());
        }
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        self.settings.access.check_origin(request.headers(), authority)
    }

    /// A body of JSON or of one message.
    pub(crate) async fn small_body(&self, request: Request<Incoming>) -> Result<Vec<u8>, Failure> {
        Chunks::new(request.into_body(), self.settings.limits.request_bytes, self.stall()).all().await
    }

    /// A body that goes to a file.
    pub(crate) fn large_body(&self, request: Request<Incoming>) -> Chunks {
        Chunks::new(request.into_body(), self.settings.limits.upload_bytes, self.stall())
    }

    fn stall(&self) -> Duration {
        Duration::from_secs(self.settings.limits.stall_seconds)
    }

    /// Leave to move a lot, for as long as it is held.
    pub(crate) fn transfer(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let leave = self.transfers.clone().try_acquire_owned();
        leave.map_err(|_| busy("archives, copies and removals", self.settings.limits.transfers))
    }

    pub(crate) fn watcher(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let leave = self.watchers.clone().try_acquire_owned();
        leave.map_err(|_| busy("watches", self.settings.limits.watchers))
    }

    /// Where a client means, by a path as people say it.
    pub(crate) fn inside(&self, path: &[u8]) -> Result<Inside, Failure> {
        Inside::parse_under(path, self.root.path())
    }
}

fn places(most: u64) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(size(most).min(Semaphore::MAX_PERMITS)))
}

fn busy(what: &str, most: u64) -> Failure {
    Failure::new(Code::ResourceExhausted, format!("there are {most} {what} already; try again"))
}
