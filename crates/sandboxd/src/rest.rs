//! Everything below `/v1`: the files, health and metadata of upstream's sandboxd, and processes, facts, watches, directories,
//! archives, moves and copies, which are ours.

mod archive;
mod attach;
mod files;
mod output;
mod processes;
mod stat;
mod watch;

use std::collections::BTreeMap;
use std::rc::Rc;

use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

use crate::failure::{Code, Failure};
use crate::files::path;
use crate::http::answer;
use crate::http::payload::Reply;
use crate::http::query::Query;
use crate::http::route::{Found, Part, Route};
use crate::server::Server;
use crate::wire::files::{Health, Metadata};

/// Names of variables that say by themselves that their values are nobody's business.
const SECRETS: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CRED", "KEY", "AUTH", "BEARER", "PRIVATE", "CERT"];

pub(crate) use processes::{check_size, directory};

type Answer = Result<Reply, Failure>;

pub(crate) async fn handle(server: Rc<Server>, request: Request<Incoming>, found: Found<'_>) -> Reply {
    if !found.allows(request.method().as_str()) {
        return not_allowed(found.methods);
    }
    let query = Query::parse(request.uri().query());
    let answered = answer(&server, request, &query, found.route).await;
    answered.unwrap_or_else(|failure| answer::failure(&failure))
}

async fn answer(server: &Rc<Server>, request: Request<Incoming>, query: &Query, route: Route<'_>) -> Answer {
    let method = request.method().clone();
    match (route, &method) {
        (Route::Health, _) => health(server),
        (Route::Metadata, _) => Ok(answer::ok(&metadata(&server.settings.metadata_prefix, std::env::vars()))),
        (Route::Files(path), &Method::GET | &Method::HEAD) => files::read(server, &request, path).await,
        (Route::Stat(path), _) => stat::stat(server, query, path).await,
        (Route::Files(path), &Method::PUT) => files::write(server, request, query, path).await,
        (Route::Files(path), &Method::DELETE) => files::delete(server, query, path).await,
        (Route::Directories(path), _) => files::make(server, query, path).await,
        (Route::Move, _) => files::rename(server, request).await,
        (Route::Copy, _) => files::copy(server, request).await,
        (Route::Archive(path), &Method::GET) => archive::read(server, path).await,
        (Route::Archive(path), &Method::PUT) => archive::write(server, request, path).await,
        (Route::Watch(path), _) => watch::watch(server, query, path).await,
        (Route::Processes, &Method::GET) => Ok(processes::list(server, query)),
        (Route::Processes, &Method::POST) => processes::start(server, request).await,
        (Route::Process(id), &Method::GET) => processes::get(server, id),
        (Route::Process(id), &Method::DELETE) => processes::remove(server, id),
        (Route::ProcessPart(id, part), _) => process_part(server, request, query, id, part).await,
        _ => Err(Failure::not_found("there is no such endpoint; docs/sandboxd.md lists them")),
    }
}

async fn process_part(
    server: &Rc<Server>,
    request: Request<Incoming>,
    query: &Query,
    id: u32,
    part: Part,
) -> Answer {
    match part {
        Part::Signal => processes::signal(server, request, id).await,
        Part::Resize => processes::resize(server, request, id).await,
        Part::Stdin => processes::input(server, request, query, id).await,
        Part::Wait => processes::wait(server, query, id).await,
        Part::Output => output::output(server, query, id),
        Part::Attach => attach::attach(server, request, query, id),
    }
}

fn not_allowed(allowed: &'static str) -> Reply {
    let message = format!("this endpoint knows {allowed}");
    answer::not_allowed(allowed, &serde_json::json!({"code": "INVALID_ARGUMENT", "message": message}))
}

fn health(server: &Server) -> Answer {
    if server.draining.get() {
        return Err(Failure::new(Code::Unavailable, "the sandbox is ending"));
    }
    let uptime_seconds = server.started.elapsed().as_secs();
    Ok(answer::ok(&Health { status: "ok".to_owned(), uptime_seconds }))
}

fn metadata(prefix: &str, variables: impl Iterator<Item = (String, String)>) -> Metadata {
    let is_secret = |name: &str| SECRETS.iter().any(|secret| name.to_ascii_uppercase().contains(secret));
    let env: BTreeMap<_, _> =
        variables.filter(|(name, _)| name.starts_with(prefix) && !is_secret(name)).collect();
    Metadata { env }
}

/// A body of JSON.
async fn json<T: DeserializeOwned>(server: &Server, request: Request<Incoming>) -> Result<T, Failure> {
    let body = server.small_body(request).await?;
    serde_json::from_slice(&body).map_err(|error| Failure::invalid(format!("the body: {error}")))
}

/// The path in an address of this contract: decoded once.
fn inside(server: &Server, raw: &str) -> Result<path::Inside, Failure> {
    server.inside(&path::decoded(raw))
}

fn done() -> Reply {
    answer::empty(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_what_has_the_prefix_and_does_not_sound_secret() {
        let variables = [
            "SANDBOX_ID",
            "SANDBOX_API_TOKEN",
            "SANDBOX_authority",
            "HOME",
            "SANDBOX_PASSWD_FILE",
            "XSANDBOX_A",
        ];
        let found = metadata("SANDBOX_", variables.map(|name| (name.to_owned(), "x".to_owned())).into_iter());
        assert_eq!(found.env.keys().collect::<Vec<_>>(), ["SANDBOX_ID"]);
    }
}
