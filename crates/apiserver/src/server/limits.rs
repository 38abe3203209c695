//! What one client may take, so that others get their share: requests in flight, watches, the threads that compute,
//! bytes of a body. Nobody but the administrators gets more than a part of each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::security::authentication::{User, service_account};
use crate::security::authorization::index::MASTERS;
use crate::status::Status;

/// What Kubernetes takes, too.
pub(super) const MOST_BODY_BYTES: usize = 3 * 1024 * 1024;

/// Bodies are small; a client that needs longer than this to send one does not mean it.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// What takes longer than this is told to try again; a watch is answered at once, and goes on after its answer began.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// How many of each there may be, of all clients and of one tenant.
const ALL: Counts = Counts { connections: 3072, requests: 800, watches: 10_000, threads: 16 };
const OF_ONE: Counts = Counts { connections: 1024, requests: 100, watches: 1_000, threads: 4 };

#[derive(Clone, Copy)]
struct Counts {
    connections: usize,
    requests: usize,
    watches: usize,
    threads: usize,
}

/// Room that is given away piece by piece and comes back by itself.
struct Room {
    connections: Arc<Semaphore>,
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    threads: Arc<Semaphore>,
}

/// Held for as long as what it was given for lasts.
pub(super) struct Permit {
    _places: Vec<OwnedSemaphorePermit>,
    _share: Arc<Share>,
}

/// The room of all, and of each tenant that has something in it.
pub(super) struct Limits {
    all: Arc<Room>,
    tenants: Mutex<HashMap<String, Weak<Share>>>,
}

/// What a request takes from: the room of all, and its tenant's part of it, which an administrator's is not counted against.
pub(super) struct Share {
    all: Arc<Room>,
    own: Option<Room>,
}

impl Room {
    fn new(counts: Counts) -> Self {
        let room = |count| Arc::new(Semaphore::new(count));
        Self {
            connections: room(counts.connections),
            requests: room(counts.requests),
            watches: room(counts.watches),
            threads: room(counts.threads),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { all: Arc::new(Room::new(ALL)), tenants: Mutex::default() }
    }
}

impl Limits {
    pub(super) fn share(&self, user: &User) -> Arc<Share> {
        if user.is_in(MASTERS) {
            return Arc::new(Share { all: Arc::clone(&self.all), own: None });
        }
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let name = tenant(user);
        if let Some(share) = tenants.get(name).and_then(Weak::upgrade) {
            return share;
        }
        tenants.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Share { all: Arc::clone(&self.all), own: Some(Room::new(OF_ONE)) });
        tenants.insert(name.to_owned(), Arc::downgrade(&share));
        share
    }
}

/// Who may make ServiceAccounts in a namespace can be as many users as they like; together they are one tenant.
fn tenant(user: &User) -> &str {
    let account = service_account::parse(&user.name);
    account.map_or(user.name.as_str(), |(_, name)| &user.name[..user.name.len() - name.len()])
}

impl Share {
    pub(super) fn watch(self: &Arc<Self>) -> Result<Permit, Status> {
        self.admit(|room| &room.watches, "too many watches; close some")
    }

    pub(super) fn request(self: &Arc<Self>) -> Result<Permit, Status> {
        self.admit(|room| &room.requests, "too many requests, please try again later")
    }

    /// An administrator can always come in.
    pub(super) fn connection(self: &Arc<Self>) -> Result<Permit, Status> {
        if self.own.is_none() {
            return Ok(Permit { _places: Vec::new(), _share: Arc::clone(self) });
        }
        self.admit(|room| &room.connections, "too many connections; close some")
    }

    fn admit(self: &Arc<Self>, which: fn(&Room) -> &Arc<Semaphore>, why: &str) -> Result<Permit, Status> {
        let full = |_| Status::new(429, "TooManyRequests", why).retry_after(1);
        let rooms = self.own.iter().chain([self.all.as_ref()]);
        let places = rooms.map(|room| Arc::clone(which(room)).try_acquire_owned()).collect::<Result<_, _>>();
        Ok(Permit { _places: places.map_err(full)?, _share: Arc::clone(self) })
    }

    /// Does work that may compute for long where nobody else waits for the thread: a patch of a large object, say. The
    /// programs of administrators mean well, and one that is in this process may poll other work beside this.
    pub(super) async fn compute<T>(&self, work: impl Future<Output = T>) -> T {
        let Some(own) = self.own.as_ref().filter(|_| has_threads()) else { return work.await };
        let _turn = own.threads.acquire().await;
        let _thread = self.all.threads.acquire().await;
        tokio::task::block_in_place(|| Handle::current().block_on(work))
    }
}

fn has_threads() -> bool {
    Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread
}

pub(super) fn too_late() -> Status {
    let message = "Timeout: request did not complete within the allotted timeout";
    Status::new(504, "Timeout", message).retry_after(1)
}

/// The whole body of a request.
pub(super) async fn body(body: Body) -> Result<Bytes, Status> {
    let read = Limited::new(body, MOST_BODY_BYTES).collect();
    match tokio::time::timeout(BODY_TIMEOUT, read).await {
        Err(_) => Err(Status::new(408, "Timeout", "the body of the request did not arrive in time")),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(Status::too_large(&format!("limit is {MOST_BODY_BYTES}")))
        }
        Ok(Err(error)) => {
            Err(Status::bad_request(format!("the body of the request could not be read: {error}")))
        }
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(namespace: &str, name: &str) -> User {
        User::new(&service_account::username(namespace, name), &[])
    }

    #[test]
    fn a_tenant_gets_its_part_however_many_accounts_it_makes() {
        let limits = Limits::default();
        let watch = |user: &User| limits.share(user).watch();
        let names = (0..OF_ONE.watches).map(|number| account("evil", &format!("a{number}")));
        let held: Vec<Permit> = names.map(|user| watch(&user).unwrap_or_else(|_| panic!("full"))).collect();
        assert_eq!(watch(&account("evil", "more")).err().map(|status| status.code), Some(429));
        assert!(watch(&account("good", "a")).is_ok());
        assert!(watch(&User::new("evil", &[])).is_ok());
        drop(held);
        assert!(watch(&account("evil", "more")).is_ok());
    }

    #[test]
    fn an_administrator_is_bounded_by_what_there_is() {
        let limits = Limits::default();
        let share = limits.share(&User::new("admin", &[MASTERS]));
        let held: Vec<_> = (0..ALL.requests).map(|_| share.request()).collect();
        assert!(held.iter().all(Result::is_ok));
        assert!(share.request().is_err());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn whoever_computes_for_long_keeps_nobody_waiting() {
        let share = Limits::default().share(&User::anonymous());
        let (answered, waits) = std::sync::mpsc::channel();
        let other = async move { answered.send(()).unwrap() };
        let computing = tokio::spawn(async move {
            share
                .compute(async move {
                    tokio::spawn(other);
                    waits.recv_timeout(Duration::from_secs(10))
                })
                .await
        });
        assert_eq!(computing.await.unwrap(), Ok(()));
    }
}
