//! `/v1/files`, `/v1/directories`, `/v1/move` and `/v1/copy`.

use std::fs::File;
use std::rc::Rc;

use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::{Answer, done, inside, json};
use crate::failure::{Code, Failure};
use crate::files::facts::{Facts, Kind};
use crate::files::list::list;
use crate::files::path::Inside;
use crate::files::root::Root;
use crate::files::upload::FILE_MODE;
use crate::files::{blocking, remove, transfer};
use crate::http::query::Query;
use crate::http::receive::{Writer, form, is_form, raw};
use crate::http::{answer, file};
use crate::server::Server;
use crate::settings::limits::size;
use crate::timestamp;
use crate::wire::files::{Entry, Listing, Transfer};

const DIRECTORY_MODE: u32 = 0o755;

pub(super) async fn read(server: &Rc<Server>, request: &Request<Incoming>, path: &str) -> Answer {
    let (root, inside) = (server.root.clone(), inside(server, path)?);
    let place = inside.clone();
    let (opened, facts) = blocking(move || open(&root, &place)).await?;
    match facts.kind {
        Kind::File => Ok(file::send(request.method(), request.headers(), opened, &facts)),
        Kind::Directory => directory(server, inside).await,
        Kind::Link | Kind::Other => {
            Err(Failure::invalid(format!("{} is neither file nor directory", inside.shown())))
        }
    }
}

fn open(root: &Root, inside: &Inside) -> Result<(File, Facts), Failure> {
    let failed = |errno| Failure::of(errno, &format!("reading {}", inside.shown()));
    // A pipe that nobody writes to would keep us waiting.
    let opened = root.get(inside, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(failed)?;
    let facts = Facts::of(&rustix::fs::fstat(&opened).map_err(failed)?);
    Ok((File::from(opened), facts))
}

async fn directory(server: &Rc<Server>, inside: Inside) -> Answer {
    let (root, most) = (server.root.clone(), size(server.settings.limits.entries));
    let listing = move || {
        let found = list(&root, &inside, most);
        let (entries, truncated) =
            found.map_err(|errno| Failure::of(errno, &format!("listing {}", inside.shown())))?;
        let entries = entries.into_iter().map(|listed| entry(listed.name, &listed.facts)).collect();
        Ok(Listing { path: inside.shown(), entries, truncated })
    };
    blocking(listing).await.map(|listing| answer::ok(&listing))
}

fn entry(name: String, facts: &Facts) -> Entry {
    let modified_at = timestamp::seconds(i64::try_from(facts.modified.as_secs()).unwrap_or(i64::MAX));
    Entry {
        name,
        size: facts.size,
        kind: facts.entry_kind(),
        modified_at,
        mode: format!("{:04o}", facts.mode & 0o777),
    }
}

pub(super) async fn write(
    server: &Rc<Server>,
    request: Request<Incoming>,
    query: &Query,
    path: &str,
) -> Answer {
    let (mode, inside) = (query.mode(FILE_MODE)?, inside(server, path)?);
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
    let chunks = server.large_body(request);
    if is_form(kind.as_deref()) {
        let found =
            form(chunks, &kind.unwrap_or_default(), &server.root, mode, |_| Ok(inside.clone())).await?;
        found.ok_or_else(|| Failure::invalid("the form has no part that is called \"file\""))?;
        return Ok(done());
    }
    let writer = Writer::begin(server.root.clone(), inside, mode).await?;
    raw(chunks, writer).await?;
    Ok(done())
}

pub(super) async fn delete(server: &Rc<Server>, query: &Query, path: &str) -> Answer {
    let (recursive, inside) = (query.flag("recursive")?, inside(server, path)?);
    let _leave = if recursive { Some(server.transfer()?) } else { None };
    let root = server.root.clone();
    let removed = move || {
        remove::remove(&root, &inside, recursive).map_err(|errno| match errno {
            Errno::NOTEMPTY | Errno::EXIST => Failure::new(
                Code::Conflict,
                format!("{} is not empty: add ?recursive=true to delete what is in it", inside.shown()),
            ),
            errno => Failure::of(errno, &format!("deleting {}", inside.shown())),
        })
    };
    blocking(removed).await?;
    Ok(done())
}

pub(super) async fn make(server: &Rc<Server>, query: &Query, path: &str) -> Answer {
    let (mode, inside, root) = (query.mode(DIRECTORY_MODE)?, inside(server, path)?, server.root.clone());
    blocking(move || transfer::make_directory(&root, &inside, mode)).await?;
    Ok(answer::empty(StatusCode::CREATED))
}

pub(super) async fn rename(server: &Rc<Server>, request: Request<Incoming>) -> Answer {
    transferred(server, request, transfer::rename).await
}

pub(super) async fn copy(server: &Rc<Server>, request: Request<Incoming>) -> Answer {
    let _leave = server.transfer()?;
    transferred(server, request, transfer::copy).await
}

async fn transferred(
    server: &Rc<Server>,
    request: Request<Incoming>,
    act: fn(&Root, &Inside, &Inside, bool) -> Result<(), Failure>,
) -> Answer {
    let asked: Transfer = json(server, request).await?;
    let (from, to) = (server.inside(asked.from.as_bytes())?, server.inside(asked.to.as_bytes())?);
    let root = server.root.clone();
    blocking(move || act(&root, &from, &to, asked.overwrite)).await?;
    Ok(done())
}
