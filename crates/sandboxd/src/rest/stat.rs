//! `GET /v1/stat/{path}`: the facts of one path.

use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use super::{Answer, inside};
use crate::failure::Failure;
use crate::files::blocking;
use crate::files::facts::Facts;
use crate::files::stat;
use crate::http::answer;
use crate::http::query::Query;
use crate::server::Server;
use crate::timestamp;
use crate::wire::files::Stat;

pub(super) async fn stat(server: &Rc<Server>, query: &Query, path: &str) -> Answer {
    let (follow, inside) = (query.flag("follow")?, inside(server, path)?);
    let root = server.root.clone();
    let look = move || match stat::stat(&root, &inside, follow) {
        Ok((facts, target)) => Ok(shown(inside.shown(), &facts, target)),
        Err(errno) => Err(Failure::of(errno, &format!("looking at {}", inside.shown()))),
    };
    blocking(look).await.map(|stat| answer::ok(&stat))
}

fn shown(path: String, facts: &Facts, target: Option<String>) -> Stat {
    let moment = |since: Duration| timestamp::milliseconds(UNIX_EPOCH + since);
    Stat {
        path,
        kind: facts.stat_kind(),
        size: facts.size,
        mode: format!("0{:03o}", facts.mode),
        modified_at: moment(facts.modified),
        accessed_at: moment(facts.accessed),
        changed_at: moment(facts.changed),
        target,
    }
}
