//! What is under the operator's `kube::Client` instead of a connection: the simulated cluster, which answers late, wrongly
//! or not at all, as chance will have it.

use std::future::pending;
use std::io;
use std::sync::Arc;

use asb_core::write::Kind;
use futures::StreamExt;
use futures::stream::{BoxStream, once};
use http::{Request, Response};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tower::service_fn;

use crate::call::{Call, Resource, Verb};
use crate::clock::until;
use crate::cluster::GUARD;
use crate::fate::{Course, Fate};
use crate::nodes;
use crate::object::text;
use crate::planted::Planted;
use crate::store::{Change, NAMESPACE, Refusal};
use crate::watching::Feed;
use crate::witness::Sent;
use crate::world::{Actor, Cluster, World};

pub(crate) type Stream = StreamBody<BoxStream<'static, io::Result<Frame<Bytes>>>>;
type Answer = Result<Response<Stream>, io::Error>;

/// The client of one process of the operator.
pub(crate) fn client(cluster: &Arc<Cluster>, process: u32, planted: Planted) -> Client {
    let cluster = Arc::clone(cluster);
    let service = service_fn(move |request: Request<Body>| {
        let line = Line { cluster: Arc::clone(&cluster), process, planted };
        async move { line.answer(Call::read(request).await).await }
    });
    Client::new(service, NAMESPACE)
}

/// A connection from one process of the operator.
#[derive(Clone)]
struct Line {
    cluster: Arc<Cluster>,
    process: u32,
    planted: Planted,
}

/// What the server says.
enum Said {
    Object(u16, Arc<Value>),
    /// The objects, the version, and where to go on.
    List(Vec<Arc<Value>>, u64, Option<String>),
    Done,
    Refused(Refusal),
}

impl Line {
    async fn answer(&self, mut call: Call) -> Answer {
        (self.planted.request)(&mut call);
        if let (Verb::Watch { from, seconds }, Resource::Kind(kind)) = (&call.verb, call.resource) {
            return self.watch(kind, *from, *seconds).await;
        }
        let (reply, answer) = oneshot::channel();
        // On its way it is nobody's: it arrives though whoever sent it has given up or is gone.
        tokio::spawn(self.clone().carry(call, reply));
        match answer.await {
            Ok(answer) => answer,
            Err(_) => pending().await,
        }
    }

    async fn carry(self, call: Call, reply: oneshot::Sender<Answer>) {
        let is_counted = call.is_write() && matches!(call.resource, Resource::Kind(_));
        self.cluster.world().under_way += usize::from(is_counted);
        self.bring(&call, reply).await;
        self.cluster.world().under_way -= usize::from(is_counted);
    }

    /// Brings a request to the server, and perhaps an answer back.
    async fn bring(&self, call: &Call, reply: oneshot::Sender<Answer>) {
        if !self.is_alive() {
            return;
        }
        let (course, mut sent) = self.cluster.act(|world| world.receive(self.process, call));
        until(Instant::now() + course.there).await;
        self.connected().await;
        let is_alive = self.is_alive();
        match course.fate {
            _ if !is_alive && !course.outlives => return,
            Fate::DiesBefore => return self.die(),
            Fate::LandsLate => {
                until(Instant::now() + course.back).await;
                // Whether anybody still waits makes no difference.
                let _ = reply.send(no_answer(&course));
                until(Instant::now() + course.late).await;
                self.cluster.act(|world| drop(world.serve(course.fate, call, &mut sent)));
                return;
            }
            _ => {}
        }
        let said = self.cluster.act(|world| world.serve(course.fate, call, &mut sent));
        if course.fate == Fate::DiesAfter {
            return self.die();
        }
        until(Instant::now() + course.back).await;
        self.connected().await;
        if self.is_alive() {
            let _ = reply.send(self.hear(call, &course, said));
        }
    }

    fn hear(&self, call: &Call, course: &Course, said: Said) -> Answer {
        if course.fate.is_lost() {
            return no_answer(course);
        }
        let body = self.cluster.act(|world| world.send(self.process, call, said));
        Ok(response(body, |body| (self.planted.answer)(call, body)))
    }

    async fn watch(&self, kind: Kind, from: u64, seconds: u64) -> Answer {
        let course = self.cluster.act(|world| Course::draw(&mut world.chance, world.storm, false));
        until(Instant::now() + course.there).await;
        self.connected().await;
        match course.fate {
            Fate::Refused(code) => return Ok(response((code, failure(code, "InternalError")), |_| {})),
            Fate::LostBefore => return Err(io::ErrorKind::ConnectionReset.into()),
            _ => {}
        }
        let feed = Feed::open(&self.cluster, self.process, kind, from, seconds);
        Ok(Response::new(StreamBody::new(feed.lines().boxed())))
    }

    /// Waits for as long as the process is cut off.
    async fn connected(&self) {
        self.cluster.connected(self.process).await;
    }

    fn is_alive(&self) -> bool {
        self.cluster.world().processes.is_alive(self.process)
    }

    fn die(&self) {
        self.cluster.act(|world| {
            world.transcript.note(format_args!("operator {} dies", self.process));
            world.processes.end(self.process);
        });
    }
}

fn no_answer(course: &Course) -> Answer {
    let excuse = course.excuse.ok_or(io::ErrorKind::TimedOut)?;
    Ok(response((excuse, failure(excuse, "Timeout")), |_| {}))
}

impl World {
    /// A request sets out.
    fn receive(&mut self, process: u32, call: &Call) -> (Course, Sent) {
        let course = Course::draw(&mut self.chance, self.storm, call.is_write());
        let sent = match call.resource {
            Resource::Kind(kind) => {
                self.witness.sent(process, &(kind, call.name.clone()), &call.body, &self.store)
            }
            _ => Sent { process, ..Sent::default() },
        };
        if call.is_write() && matches!(call.resource, Resource::Kind(_)) {
            self.may_write(process, call);
        }
        if course.fate != Fate::Fine {
            let (what, name) = (call.describe(), &call.name);
            self.transcript.note(format_args!(
                "operator {process} {what} {:?} {name}: {:?}",
                call.resource, course.fate
            ));
        }
        (course, sent)
    }

    /// What was sent in time may arrive late; nothing is sent by a process that no longer leads.
    fn may_write(&mut self, process: u32, call: &Call) {
        if !self.processes.is_in_charge(process) {
            let (what, name) = (call.describe(), &call.name);
            self.witness
                .violation
                .get_or_insert(format!("operator {process} {what} {name} and does not lead"));
        }
    }

    /// The server does what it is asked, or does not.
    fn serve(&mut self, fate: Fate, call: &Call, sent: &mut Sent) -> Said {
        self.witness.catch_up(sent);
        sent.is_in_charge = self.processes.is_in_charge(sent.process);
        match (fate, call.resource) {
            (Fate::Refused(code), _) => return Said::Refused(Refusal { code, reason: "InternalError" }),
            (Fate::LostBefore, _) => return Said::Done,
            (Fate::Meddled, Resource::Kind(kind)) => self.meddle(kind, &call.name),
            (Fate::Meddled, Resource::Leases) => return Said::Refused(Refusal::CONFLICT),
            _ => {}
        }
        match call.resource {
            Resource::Kind(kind) => self.serve_kind(kind, call, sent),
            Resource::Nodes => match nodes::object(self.nodes.state(&call.name), &call.name) {
                Some(node) => Said::Object(200, Arc::new(node)),
                None => Said::Refused(Refusal::MISSING),
            },
            Resource::Leases => match self.serve_lease(call) {
                Ok(lease) => Said::Object(200, Arc::new(lease)),
                Err(refusal) => Said::Refused(refusal),
            },
            Resource::Events => {
                self.witness.writes += 1;
                self.transcript.note(format_args!("operator {} tells: {}", sent.process, call.body["note"]));
                Said::Object(201, Arc::new(call.body.clone()))
            }
        }
    }

    fn serve_kind(&mut self, kind: Kind, call: &Call, sent: &Sent) -> Said {
        let now = self.now();
        let changed = match &call.verb {
            Verb::Get => {
                return self
                    .store
                    .get(kind, &call.name)
                    .map_or(Said::Refused(Refusal { code: 404, reason: "NotFound" }), |object| {
                        Said::Object(200, Arc::clone(object))
                    });
            }
            Verb::List { limit, after } => return self.list(kind, *limit, after.as_deref()),
            Verb::Watch { .. } | Verb::Replace => unreachable!("answered elsewhere, or never asked"),
            Verb::Create => {
                let object = self.guarded(kind, &call.body);
                self.store.create(kind, object, now)
            }
            Verb::Patch { is_status } => self.store.patch(kind, &call.name, *is_status, &call.body),
            Verb::Delete(how) => self.store.delete(kind, &call.name, how, now),
        };
        match changed {
            Err(refusal) => {
                let (process, what) = (sent.process, call.describe());
                self.transcript.note(format_args!(
                    "operator {process} {what} {} {}, refused: {}",
                    kind.name(),
                    call.name,
                    refusal.reason
                ));
                Said::Refused(refusal)
            }
            Ok(change) => {
                self.took(Actor::Operator(sent), &call.describe(), &change);
                said(call, change)
            }
        }
    }

    /// A page of a list. Pages are small, so that lists have several; what is left is kept under its version.
    fn list(&mut self, kind: Kind, limit: Option<usize>, after: Option<&str>) -> Said {
        let (version, mut rest) = match after.and_then(|token| self.pages.remove(token)) {
            Some(left) => left,
            None if after.is_some() => return Said::Refused(Refusal { code: 410, reason: "Expired" }),
            None => (self.store.version(), self.store.list(kind).cloned().collect()),
        };
        let size = limit.map_or(usize::MAX, |limit| limit.min(4));
        if rest.len() <= size {
            return Said::List(rest, version, None);
        }
        let left = rest.split_off(size);
        let token = format!("{}-{version}-{}", kind.plural(), left.len());
        // Now and then the server has forgotten what it promised.
        if !(self.is_stormy && self.chance.one_in(10)) {
            self.pages.insert(token.clone(), (version, left));
        }
        Said::List(rest, version, Some(token))
    }

    /// Somebody puts a finalizer on some Sandboxes, so that they take a while to go.
    fn guarded(&mut self, kind: Kind, object: &Value) -> Value {
        let mut object = object.clone();
        if kind == Kind::Sandbox && self.is_stormy && self.chance.one_in(4) {
            object["metadata"]["finalizers"] = json!([GUARD]);
        }
        object
    }

    /// Somebody else changes an object, and nothing that matters about it.
    fn meddle(&mut self, kind: Kind, name: &str) {
        let touched = json!({"metadata": {"annotations": {"somebody.example/touched": self.store.version().to_string()}}});
        if let Ok(change) = self.store.patch(kind, name, false, &touched) {
            self.took(Actor::Stranger, "touches", &change);
        }
    }

    /// An answer arrives.
    fn send(&mut self, process: u32, call: &Call, said: Said) -> (u16, Value) {
        let Resource::Kind(kind) = call.resource else {
            return match said {
                Said::Object(code, object) => (code, Value::clone(&object)),
                Said::Refused(refusal) => (refusal.code, failure(refusal.code, refusal.reason)),
                Said::List(..) | Said::Done => (200, json!({})),
            };
        };
        match said {
            Said::Object(code, object) => {
                self.witness.serve(process, kind, &object);
                (code, Value::clone(&object))
            }
            Said::List(objects, version, next) => {
                for object in &objects {
                    self.witness.serve(process, kind, object);
                }
                let metadata =
                    json!({"resourceVersion": version.to_string(), "continue": next.unwrap_or_default()});
                (
                    200,
                    json!({"kind": "List", "metadata": metadata, "items": objects.iter().map(AsRef::as_ref).collect::<Vec<&Value>>()}),
                )
            }
            Said::Done => (200, json!({"kind": "Status", "status": "Success"})),
            Said::Refused(refusal) => (refusal.code, failure(refusal.code, refusal.reason)),
        }
    }
}

fn said(call: &Call, change: Change) -> Said {
    match (change.after, &call.verb) {
        (Some(object), Verb::Create) => Said::Object(201, object),
        (Some(object), _) => Said::Object(200, object),
        (None, Verb::Delete(_)) => Said::Done,
        (None, _) => Said::Object(200, change.before.expect("it was there")),
    }
}

fn failure(code: u16, reason: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": format!("the simulated server says {reason}"),
    })
}

fn response((code, mut body): (u16, Value), plant: impl FnOnce(&mut Value)) -> Response<Stream> {
    plant(&mut body);
    let bytes = Bytes::from(text(&body));
    let stream = once(std::future::ready(Ok(Frame::data(bytes)))).boxed();
    Response::builder().status(code).body(StreamBody::new(stream)).expect("a plain answer")
}
