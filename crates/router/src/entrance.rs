//! What becomes of one request: which Sandbox, may they, carry it, and what the client hears.

mod account;
mod runtime_tokens;

use std::error::Error as _;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use asb_core::object::{Key, Uid};
use asb_core::route::{Named, Place, Unreachable, Wanted, below};
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
use crate::follow::Followed;
use crate::forwarding::{self, Onward};
use crate::limits::{Held, Limits};
use crate::linger::HandedOver;
use crate::metrics::Metrics;
use crate::preview;
use crate::refusal::Refusal;
use crate::settings::Settings;
use account::Account;
pub(crate) use runtime_tokens::RuntimeTokens;

/// The port of the runtime that takes tokens.
const RUNTIME: u16 = 8888;

/// Everything that requests share.
pub(crate) struct Entrance {
    pub(crate) settings: Settings,
    pub(crate) followed: Followed,
    pub(crate) authority: Authority,
    pub(crate) runtime_tokens: Option<RuntimeTokens>,
    pub(crate) carrier: Carrier,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<Metrics>,
    /// Connections that go on in a protocol of their own.
    pub(crate) joined: TaskTracker,
    pub(crate) stop: CancellationToken,
}

/// The other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) caller: Caller,
    pub(crate) address: Option<IpAddr>,
    pub(crate) is_secure: bool,
    /// For the connection itself to know.
    pub(crate) handed_over: HandedOver,
}

impl Peer {
    /// One of whom nothing else is known.
    pub(crate) fn of(caller: Caller) -> Self {
        Self { caller, address: None, is_secure: false, handed_over: HandedOver::default() }
    }
}

/// What was found out about a request before it is carried.
struct Admitted {
    place: Place,
    wanted: Wanted,
}

impl Entrance {
    pub(crate) async fn serve(&self, peer: &Peer, request: Request<Incoming>) -> Response<Answer> {
        if self.is_health(&request) {
            return own(Response::new(Full::from(r#"{"status":"ok"}"#)), true);
        }
        let mut account = Account::open(&request);
        let _under_way = self.metrics.begin();
        let answer = match self.pass(peer, request, &mut account).await {
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
    ) -> Result<Response<Answer>, Refusal> {
        let client = peer.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let held = self.limits.hold(client).ok_or(Refusal::TooMany(self.limits.most()))?;
        let (parts, body) = request.into_parts();
        self.check_size(&parts)?;
        let wanted = Wanted::of(&forwarding::asked(&parts, self.settings.domain.as_deref()))?;
        account.is_for(&wanted);
        let admitted = self.admit(peer, &parts, &wanted).await;
        self.metrics.decided(account.namespace(), admitted.is_ok());
        admitted?;
        if let Some(link) = follow_link(peer, &parts) {
            return Ok(link);
        }
        let place = self.followed.read(|directory| directory.find(&wanted)).map_err(|why| {
            tracing::debug!(%why, sandbox = wanted.id(), "a request goes nowhere");
            self.metrics.failed(account.namespace(), "unknown");
            Refusal::Unreachable(wanted.id().to_owned())
        })?;
        account.goes_to(&place);
        let request = Request::from_parts(parts, Metered::new(body, self.settings.most_body));
        self.carry(peer, request, Admitted { place, wanted }, held).await
    }

    fn check_size(&self, parts: &request::Parts) -> Result<(), Refusal> {
        let Some(most) = self.settings.most_body else { return Ok(()) };
        let said =
            parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if said.is_some_and(|said| said > most) { Err(Refusal::TooLarge(most)) } else { Ok(()) }
    }

    async fn admit(&self, peer: &Peer, parts: &request::Parts, wanted: &Wanted) -> Result<(), Refusal> {
        let (meant, uid) = self.followed.read(|directory| {
            let meant = directory.meant(wanted);
            let uid = meant.as_ref().ok().and_then(|key| directory.get(key)).map(|entry| entry.uid.clone());
            (meant, uid)
        });
        let sandbox = meant.or_else(|why| whichever(why, wanted))?;
        let door = Door { sandbox: &sandbox, uid: uid.as_ref().map(Uid::as_str), port: wanted.port };
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
        held: Held,
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
        let has_changed = answer.status() == StatusCode::SWITCHING_PROTOCOLS;
        if let (Some(client), true) = (client, has_changed) {
            peer.handed_over.set();
            let sandbox = hyper::upgrade::on(&mut answer);
            let stop = self.stop.clone();
            self.joined.spawn(async move {
                stop.run_until_cancelled(join(client, sandbox)).await;
                drop(held);
            });
            return Ok(answer.map(|_| Answer::Own(Full::default())));
        }
        forwarding::returned(answer.headers_mut(), false);
        Ok(answer.map(|inner| Answer::Carried { inner, _held: held }))
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
        self.metrics.failed(&place.key.namespace, reason);
        tracing::debug!(%error, sandbox = %place.key, address = %place.address, "a Sandbox did not answer");
        Refusal::Unreachable(wanted.id().to_owned())
    }

    fn runtime_token(&self, place: &Place) -> Option<Arc<str>> {
        let wants_one = place.access == Some(RuntimeAccess::Token) && place.address.port() == RUNTIME;
        self.runtime_tokens.as_ref().filter(|_| wants_one).map(|tokens| tokens.of(&place.uid))
    }
}

/// Whoever names what is not there is asked for their right to the likeliest, and hears no more than others.
fn whichever(why: Unreachable, wanted: &Wanted) -> Result<Key, Refusal> {
    match &wanted.named {
        Named::Exactly(key) => Ok(key.clone()),
        Named::Either(keys) => {
            tracing::debug!(%why, "a host name means no one Sandbox");
            keys.first().cloned().ok_or_else(|| Refusal::Unreachable(wanted.id().to_owned()))
        }
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
