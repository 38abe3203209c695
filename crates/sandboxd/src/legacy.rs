//! The contract of upstream's Python runtime: what the SDKs speak by default, with its answers to the letter. Where it stumbles over
//! requests that its own SDKs send, it is answered as they expect: `/list` without a redirect, paths that were encoded twice.

mod execute;
mod upload;
mod validation;
mod words;

use std::fs::File;
use std::rc::Rc;

use http::{Request, StatusCode};
use hyper::body::Incoming;
use rustix::fs::OFlags;
use serde_json::json;

use crate::failure::{Code, Failure};
use crate::files::facts::{Facts, Kind};
use crate::files::list::list;
use crate::files::path::{self, Inside};
use crate::files::{self, blocking};
use crate::http::payload::Reply;
use crate::http::route::{Found, Route};
use crate::http::{answer, file};
use crate::server::Server;
use crate::settings::limits::size;
use crate::wire::legacy::{Existence, Listed, Message};

pub(crate) async fn handle(server: Rc<Server>, request: Request<Incoming>, found: Found<'_>) -> Reply {
    if !found.allows(request.method().as_str()) {
        return answer::not_allowed(found.methods, &json!({"detail": "Method Not Allowed"}));
    }
    match found.route {
        Route::Home => answer::ok(&json!({"status": "ok", "message": "Sandbox Runtime is active."})),
        Route::Execute => execute::execute(&server, request).await,
        Route::Upload => upload::upload(&server, request).await,
        Route::Download(path) => download(&server, &request, path).await,
        Route::List(path) => entries(&server, path).await,
        Route::Exists(path) => exists(&server, path).await,
        _ => answer::json(StatusCode::NOT_FOUND, &json!({"detail": "Not Found"})),
    }
}

async fn download(server: &Server, request: &Request<Incoming>, raw: &str) -> Reply {
    let opened = existing(server, raw, |root, inside| {
        let file = root.get(inside, OFlags::RDONLY | OFlags::NONBLOCK)?;
        let facts = Facts::of(&rustix::fs::fstat(&file)?);
        Ok((File::from(file), facts))
    });
    match opened.await {
        Ok((file, facts)) if facts.kind == Kind::File => {
            file::send(request.method(), request.headers(), file, &facts)
        }
        Ok(_) => missing("File not found"),
        Err(failure) => refused(&failure, "File not found"),
    }
}

async fn entries(server: &Server, raw: &str) -> Reply {
    let most = size(server.settings.limits.entries);
    let (entries, truncated) = match existing(server, raw, move |root, inside| list(root, inside, most)).await
    {
        Ok(found) => found,
        Err(failure) => return refused(&failure, "Path is not a directory"),
    };
    let listed: Vec<Listed> = entries
        .into_iter()
        .map(|entry| Listed {
            name: entry.name,
            size: entry.facts.size,
            kind: entry.facts.entry_kind(),
            mod_time: entry.facts.modified.as_secs_f64(),
        })
        .collect();
    let mut reply = answer::ok(&listed);
    if truncated {
        reply.headers_mut().insert("x-sandboxd-truncated", http::HeaderValue::from_static("true"));
    }
    reply
}

async fn exists(server: &Server, raw: &str) -> Reply {
    let found = existing(server, raw, files::root::Root::facts).await;
    let exists = match found {
        Ok(_) => true,
        Err(failure) if failure.code == Code::NotFound => false,
        Err(failure) => return refused(&failure, ""),
    };
    let path = String::from_utf8_lossy(&path::decoded(raw)).into_owned();
    answer::ok(&Existence { path, exists })
}

/// Does something with what is there: by the path as it was sent, and if there is nothing, by the path decoded once more, as
/// upstream does to all of them.
async fn existing<T: Send + 'static>(
    server: &Server,
    raw: &str,
    act: impl Fn(&files::root::Root, &Inside) -> Result<T, rustix::io::Errno> + Send + 'static,
) -> Result<T, Failure> {
    let once = path::decoded(raw);
    let twice = path::decoded_again(&once);
    let paths = [Some(once), twice].into_iter().flatten().map(|path| confined(&path));
    let paths: Vec<Inside> = paths.collect::<Result<_, _>>()?;
    let root = server.root.clone();
    blocking(move || {
        let mut result = Err(Failure::not_found("there is no such file"));
        for path in paths {
            result = act(&root, &path).map_err(|errno| Failure::of(errno, &path.shown()));
            if result.as_ref().err().is_none_or(|failure| failure.code != Code::NotFound) {
                break;
            }
        }
        result
    })
    .await
}

/// This contract denies paths that lead out, where the other stays inside.
fn confined(path: &[u8]) -> Result<Inside, Failure> {
    let inside = Inside::parse(path)?;
    if inside.climbed() {
        return Err(Failure::new(Code::PermissionDenied, "Access denied"));
    }
    Ok(inside)
}

fn missing(message: &str) -> Reply {
    answer::json(StatusCode::NOT_FOUND, &Message { message: message.to_owned() })
}

fn refused(failure: &Failure, not_found: &str) -> Reply {
    let message = match failure.code {
        Code::PermissionDenied => "Access denied",
        Code::NotFound => not_found,
        _ => &failure.message,
    };
    answer::json(answer::status(failure.code), &Message { message: message.to_owned() })
}
