//! What becomes of one request: which Sandbox, may they, carry it, and what the client hears.

mod account;
mod runtime_tokens;

use std::error::Error as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use asb_core::object::Uid;
use asb_core::route::{Found, Place, Wanted, below};
use asb_types::runtime::RuntimeAccess;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Method, Request, Response, StatusCode, request};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Error;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::authorization::{Authority, Caller, Door};
use crate::carrier::{Answer, Carrier, Metered, TooLarge, join};
use crate::conversation::{Busy, Conversation};
use crate::follow::Followed;
use crate::forwarding::{self, Onward};
use crate::limits::{Client, Limits};
use crate::linger::HandedOver;
use crate::metrics::Metrics;
use crate::preview;
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::stay::Stay;
use account::Account;
pub(crate) use runtime_tokens::RuntimeTokens;

/// The port of the runtime that takes tokens.
const RUNTIME: u16 = 8888;
/// How long whoever asks a router that has just begun waits for it to know all Sandboxes.
const BEGINNING: Duration = Duration::from_secs(5);

/// Everything that requests share.
pub(crate) struct Entrance {
    pub(crate) settings: Settings,
    pub(crate) followed: Followed,
    pub(crate) authority: Authority,
    pub(crate) runtime_tokens: Option<RuntimeTokens>,
    pub(crate) carrier: Carrier,
    pub(crate) requests: Limits,
    pub(crate) connections: Limits,
    pub(crate) metrics: Arc<Metrics>,
    /// Connections that go on in a protocol of their own.
    pub(crate) joined: TaskTracker,
    /// No more is begun.
    pub(crate) stop: CancellationToken,
    /// Whoever has not ended by now is cut off.
    pub(crate) over: CancellationToken,
}

/// The other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) caller: Caller,
    pub(crate) address: Option<IpAddr>,
    pub(crate) is_secure: bool,
    /// For the connection itself to know.
    pub(crate) handed_over: HandedOver,
    pub(crate) conversation: Conversation,
}

impl Peer {
    /// One of whom nothing else is known.
    pub(crate) fn of(caller: Caller) -> Self {
        let (handed_over, conversation) = (HandedOver::default(), Conversation::default());
        Self { caller, address: None, is_secure: false, handed_over, conversation }
    }

    /// Whose places a request takes.
    fn client(&self) -> Client {
        match (self.address, &self.caller) {
            (Some(address), _) => Client::at(address),
            (None, Caller::User(user)) => Client::User(user.name.clone()),
            (None, _) => Client::Unknown,
        }
    }
}

/// What was found out about a request before it is carried.
struct Admitted {
    place: Place,
    wanted: Wanted,
}

impl Entrance {
    pub(crate) async fn serve(&self, peer: &Peer, request: Request<Incoming>) -> Response<Answer> {
        let busy = peer.conversation.begin();
        if self.is_health(&request) {
            return own(Response::new(Full::from(r#"{"status":"ok"}"#)), true);
        }
        let mut account = Account::open(&request);
        let answer = match self.pass(peer, request, &mut account, busy).await {
            Ok(answer) => answer,
            Err(refusal) => own(refusal.answer(), false),
        };
        account.close(answer.status(), peer, self);
        answer
    }

    /// The contract answers for the router itself here, unless the host names a Sandbox.
    fn is_health(&self, request: &Request<Incoming>) -> bool {
        let names_sandbox = |domain: &String| {
            let host = forwarding::host(request.uri(), request.headers());
            host.is_some_and(|host| below(host, domain).is_some())
        };
        request.method() == Method::GET
            && request.uri().path() == "/healthz"
            && !self.settings.domain.as_ref().is_some_and(names_sandbox)
    }

    async fn pass(
        &self,
        peer: &Peer,
        request: Request<Incoming>,
        account: &mut Account,
        busy: Busy,
    ) -> Result<Response<Answer>, Refusal> {
        let stay = self.begin(peer, busy)?;
        let (parts, body) = request.into_parts();
        forwarding::check(&parts)?;
        self.check_size(&parts)?;
        let wanted = Wanted::of(&forwarding::asked(&parts, self.settings.domain.as_deref()))?;
        account.is_for(&wanted);
        let found = self.look_up(&wanted).await?;
        let admitted = self.admit(peer, &parts, &found, wanted.port).await;
        self.metrics.decided(account.namespace(), admitted.is_ok());
        admitted?;
        if let Some(link) = follow_link(peer, &parts) {
            return Ok(link);
        }
        let place = found.place.map_err(|why| {
            tracing::debug!(%why, sandbox = wanted.id(), "a request goes nowhere");
            self.metrics.failed(account.namespace(), "unknown");
            Refusal::Unreachable(wanted.id().to_owned())
        })?;
        account.goes_to(&place);
        let request = Request::from_parts(parts, Metered::new(body, self.settings.most_body));
        self.carry(peer, request, Admitted { place, wanted }, stay).await
    }

    /// A router that has just begun waits until it knows all Sandboxes: one that it does not know yet may well be there.
    async fn look_up(&self, wanted: &Wanted) -> Result<Found, Refusal> {
        let look = || self.followed.read(|directory| directory.look_up(wanted));
        let is_known = || look().is_some_and(|found| found.place.is_ok());
        if !self.followed.is_whole() && !is_known() {
            let whole = tokio::time::timeout(BEGINNING, self.followed.clone().wait_until_whole()).await;
            whole.map_err(|_| Refusal::Beginning)?;
        }
        look().ok_or_else(|| Refusal::Unreachable(wanted.id().to_owned()))
    }

    fn begin(&self, peer: &Peer, busy: Busy) -> Result<Stay, Refusal> {
        let under_way = self.metrics.begin();
        let held = self.requests.hold(peer.client()).ok_or(Refusal::TooMany(self.requests.most()))?;
        Ok(Stay { _held: held, _under_way: under_way, _busy: busy })
    }

    fn check_size(&self, parts: &request::Parts) -> Result<(), Refusal> {
        let Some(most) = self.settings.most_body else { return Ok(()) };
        let said =
            parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if said.is_some_and(|said| said > most) { Err(Refusal::TooLarge(most)) } else { Ok(()) }
    }

    async fn admit(
        &self,
        peer: &Peer,
        parts: &request::Parts,
        found: &Found,
        port: u16,
    ) -> Result<(), Refusal> {
        let door = Door { sandbox: &found.sandbox, uid: found.uid.as_ref().map(Uid::as_str), port };
        let shown = forwarding::bearer(&parts.headers);
        let link = if shown.is_none() { preview::token(&parts.uri, &parts.headers) } else { None };
        let token = shown.or(link.as_deref());
        self.authority.admit(&peer.caller, token, &door, Timestamp::now()).await
    }

    async fn carry(
        &self,
        peer: &Peer,
        mut request: Request<Metered>,
        admitted: Admitted,
        stay: Stay,
    ) -> Result<Response<Answer>, Refusal> {
        let Admitted { place, wanted } = admitted;
        let is_upgrade = forwarding::is_upgrade(&request);
        let is_grpc = forwarding::is_grpc(&request);
        let client = is_upgrade.then(|| hyper::upgrade::on(&mut request));
        let runtime_token = self.runtime_token(&place);
        let onward = Onward {
            target: place.address,
            path: wanted.path.as_deref(),
            client: peer.address,
            is_secure: peer.is_secure,
            runtime_token: runtime_token.as_deref(),
        };
        onward.apply(&mut request, is_grpc, is_upgrade)?;
        let mut answer = self.wait(request, is_grpc, &place, &wanted).await?;
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            // Nobody asked it to: what it says from now on is no answer to anything.
            let client = client.ok_or_else(|| self.gives_up(&place, "protocol", &wanted))?;
            peer.handed_over.set();
            let sandbox = hyper::upgrade::on(&mut answer);
            let stop = self.stop.clone();
            self.joined.spawn(async move {
                stop.run_until_cancelled(join(client, sandbox)).await;
                drop(stay);
            });
            return Ok(answer.map(|_| Answer::Own(Full::default())));
        }
        if !forwarding::is_plain(answer.headers()) {
            return Err(self.gives_up(&place, "protocol", &wanted));
        }
        forwarding::returned(answer.headers_mut());
        Ok(answer.map(|inner| Answer::Carried { inner, _stay: stay }))
    }

    async fn wait(
        &self,
        request: Request<Metered>,
        is_grpc: bool,
        place: &Place,
        wanted: &Wanted,
    ) -> Result<Response<Incoming>, Refusal> {
        let patience = wanted.timeout.unwrap_or(self.settings.patience).min(self.settings.most_patience);
        match tokio::time::timeout(patience, self.carrier.carry(request, is_grpc)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.explain(&error, place, wanted)),
            Err(_) => {
                self.metrics.failed(&place.key.namespace, "timeout");
                Err(Refusal::TooSlow(wanted.id().to_owned()))
            }
        }
    }

    fn explain(&self, error: &Error, place: &Place, wanted: &Wanted) -> Refusal {
        if is_too_large(error) {
            return Refusal::TooLarge(self.settings.most_body.unwrap_or_default());
        }
        let reason = if error.is_connect() { "dial" } else { "other" };
        tracing::debug!(%error, sandbox = %place.key, address = %place.address, "a Sandbox did not answer");
        self.gives_up(place, reason, wanted)
    }

    fn gives_up(&self, place: &Place, reason: &'static str, wanted: &Wanted) -> Refusal {
        self.metrics.failed(&place.key.namespace, reason);
        Refusal::Unreachable(wanted.id().to_owned())
    }

    fn runtime_token(&self, place: &Place) -> Option<Arc<str>> {
        let wants_one = place.access == Some(RuntimeAccess::Token) && place.address.port() == RUNTIME;
        self.runtime_tokens.as_ref().filter(|_| wants_one).map(|tokens| tokens.of(&place.uid))
    }
}

fn follow_link(peer: &Peer, parts: &request::Parts) -> Option<Response<Answer>> {
    let token = preview::in_query(&parts.uri).filter(|_| parts.method == Method::GET)?;
    let link = preview::keep(&parts.uri, &token, peer.is_secure)?;
    Some(link.map(|()| Answer::Own(Full::default())))
}

fn own(answer: Response<Full<Bytes>>, is_json: bool) -> Response<Answer> {
    let mut answer = answer.map(Answer::Own);
    if is_json {
        let json = HeaderValue::from_static("application/json");
        answer.headers_mut().insert(http::header::CONTENT_TYPE, json);
    }
    answer
}

fn is_too_large(error: &Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if inner.is::<TooLarge>() {
            return true;
        }
        cause = inner.source();
    }
    false
}
