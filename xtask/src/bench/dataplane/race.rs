//! The same requests through nginx, through our router and straight to what answers them, in turn.

use std::fs;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::json;

use super::figures::{Column, Figures, Side, Unit};
use super::load::{Calls, Load};
use super::nginx::Nginx;
use super::proxies::{Identity, SANDBOX};
use super::router::{Manner, Router, Surroundings};
use super::scale::Scale;
use super::{Stage, Table};
use crate::bench::embedded::{Embedded, Extent};
use crate::bench::held::descendants;
use crate::bench::processor;
use crate::terminal;

const HEAD: &[&str] = &["what", "nginx", "asb router", "ours / nginx", "straight there"];
const COLUMNS: [Column; 4] =
    [Column::Of(Side::Theirs), Column::Of(Side::Ours), Column::Ratio, Column::Of(Side::Direct)];

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// What is asked, how often at a time, and of which router.
struct Case {
    what: String,
    ask: Ask,
    connections: usize,
    manner: Manner,
    is_secure: bool,
}

#[derive(Clone, Copy)]
enum Ask {
    Get(u64),
    Put(u64),
    Echo,
}

pub(super) fn measure(stage: &Stage<'_>, load: &mut Load, figures: &mut Figures) -> Result<Table> {
    let from = figures.len();
    let folder = stage.folder.join("race");
    fs::create_dir_all(&folder).context("making a folder")?;
    let course = terminal::step("start nginx and routers", || Course::open(stage, &folder, load))?;
    for round in 1..=stage.scale.rounds {
        for case in cases(stage.scale) {
            let title = format!("{} (round {round} of {})", case.what, stage.scale.rounds);
            terminal::step(&title, || course.run(&case, stage.scale, load, figures))?;
        }
    }
    Ok(Table { head: HEAD, rows: figures.rows(from, &COLUMNS) })
}

fn cases(scale: &Scale) -> Vec<Case> {
    let plain = |what: String, ask, connections| Case {
        what,
        ask,
        connections,
        manner: Manner::Shipped,
        is_secure: false,
    };
    let mut cases = Vec::new();
    for (size, kib) in [(KIB, 1), (64 * KIB, 64)] {
        for connections in [1, 32, 128] {
            cases.push(plain(get_name(kib, connections), Ask::Get(size), connections));
        }
    }
    let small = |what: &str| plain(format!("{}, {what}", get_name(1, 32)), Ask::Get(KIB), 32);
    cases.push(Case { manner: Manner::Unguarded, ..small("the router lets everybody in") });
    cases.push(Case { manner: Manner::Unlogged, ..small("nobody logs") });
    cases.push(Case { is_secure: true, ..small("TLS") });
    cases.push(plain("PUT of 64 KiB, 32 connections".to_owned(), Ask::Put(64 * KIB), 32));
    for connections in [1, 32] {
        let what = format!("32 bytes back and forth after an upgrade, {}", counted(connections));
        cases.push(plain(what, Ask::Echo, connections));
    }
    cases.push(plain(format!("GET of {} MiB", scale.body), Ask::Get(scale.body * MIB), 1));
    cases.push(plain(format!("PUT of {} MiB", scale.body), Ask::Put(scale.body * MIB), 1));
    cases
}

/// What a case of the budgets is called.
pub(super) fn get_name(kib: u64, connections: usize) -> String {
    format!("GET of {kib} KiB, {}", counted(connections))
}

fn counted(connections: usize) -> String {
    if connections == 1 { "1 connection".to_owned() } else { format!("{connections} connections") }
}

/// Those who take part.
struct Course {
    nginx: Nginx,
    routers: Vec<(Manner, Router)>,
    _api: Embedded,
    backend: SocketAddr,
    identity: Identity,
    token: String,
}

/// What the router knows somebody by.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pass {
    public_key: String,
    token: String,
}

impl Course {
    fn open(stage: &Stage<'_>, folder: &std::path::Path, load: &mut Load) -> Result<Self> {
        let backend = load.backend;
        let identity = Identity::make(folder)?;
        let nginx = Nginx::start(&folder.join("nginx"), backend, &identity)?;
        let api = Embedded::start(stage.asb, &folder.join("data"), Extent::Api)?;
        let work = json!({"work": "pretend", "name": SANDBOX, "address": backend.ip()});
        let pass: Pass = load.sandboxes(&api.kubeconfig(), work).context("making a Sandbox")?;
        let around = Surroundings {
            asb: stage.asb,
            folder,
            kubeconfig: &api.kubeconfig(),
            identity: &identity,
            public_key: &pass.public_key,
        };
        let start = |manner| Ok((manner, Router::start(&around, manner)?));
        let routers = Manner::ALL.into_iter().map(start).collect::<Result<_>>()?;
        Ok(Self { nginx, routers, _api: api, backend, identity, token: pass.token })
    }

    fn run(&self, case: &Case, scale: &Scale, load: &mut Load, figures: &mut Figures) -> Result<()> {
        for side in [Side::Theirs, Side::Ours, Side::Direct] {
            let Some((address, process)) = self.place(case, side) else { continue };
            let calls = self.calls(case, scale, address);
            let processes = process.map(|process| [vec![process], descendants(process)].concat());
            let spent = || processes.as_deref().map(processor::seconds);
            let before = spent();
            let sample = load.calls(&calls).with_context(|| format!("{}, {side:?}", case.what))?;
            let used = spent().zip(before).map(|(after, before)| after - before);
            match case.ask {
                Ask::Get(size) | Ask::Put(size) if size >= MIB => {
                    let rate = sample.mebibytes_per_second;
                    figures.add(&case.what, Unit::MebibytesPerSecond, side, rate);
                }
                _ => figures.add_times(&case.what, side, &sample),
            }
            if let Some(used) = used {
                let (what, amount) = case.amount(sample.requests);
                figures.add(
                    format!("{}: processor time for {what}", case.what),
                    Unit::Seconds,
                    side,
                    used / amount,
                );
            }
        }
        Ok(())
    }

    /// Where to call, and who uses the processor then. Nobody speaks TLS where nobody is between.
    fn place(&self, case: &Case, side: Side) -> Option<(SocketAddr, Option<u32>)> {
        match side {
            Side::Direct => (!case.is_secure).then_some((self.backend, None)),
            Side::Ours => {
                let router = &self.routers.iter().find(|(manner, _)| *manner == case.manner)?.1;
                let doors = router.doors;
                Some((if case.is_secure { doors.secure } else { doors.plain }, Some(router.id())))
            }
            Side::Theirs => {
                let doors = self.nginx.doors;
                let door = match case.manner {
                    Manner::Unlogged => self.nginx.unlogged,
                    _ if case.is_secure => doors.secure,
                    _ => doors.plain,
                };
                Some((door, Some(self.nginx.id())))
            }
        }
    }

    /// The same to everybody.
    fn calls(&self, case: &Case, scale: &Scale, address: SocketAddr) -> Calls {
        let line = match case.ask {
            Ask::Get(size) => format!("GET /bytes/{size} HTTP/1.1"),
            Ask::Put(_) => "PUT /file HTTP/1.1".to_owned(),
            Ask::Echo => "GET /echo HTTP/1.1".to_owned(),
        };
        let mut head = vec![
            line,
            "Host: sandbox.test".to_owned(),
            "User-Agent: load/1".to_owned(),
            format!("X-Sandbox-ID: {SANDBOX}"),
            format!("X-Sandbox-Port: {}", self.backend.port()),
            format!("Authorization: Bearer {}", self.token),
        ];
        let is_echo = matches!(case.ask, Ask::Echo);
        if is_echo {
            head.extend(["Connection: upgrade".to_owned(), "Upgrade: echo".to_owned()]);
        }
        Calls {
            address: address.to_string(),
            certificate: case.is_secure.then(|| self.identity.certificate.clone()),
            head,
            zeros: if let Ask::Put(size) = case.ask { size } else { 0 },
            upgrade: is_echo,
            connections: case.connections,
            warm_up: scale.warm_up,
            measured: scale.measured,
            ..Calls::default()
        }
    }
}

impl Case {
    /// Of what processor time is told, and how much of it so many requests are.
    fn amount(&self, requests: f64) -> (&'static str, f64) {
        match self.ask {
            Ask::Get(size) | Ask::Put(size) if size >= MIB => ("1 GiB", requests * mebibytes(size) / 1024.0),
            Ask::Echo => ("10,000 of them", requests / 10_000.0),
            Ask::Get(_) | Ask::Put(_) => ("10,000 requests", requests / 10_000.0),
        }
    }
}

fn mebibytes(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes / MIB).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::scale::FULL;
    use super::*;

    #[test]
    fn no_two_cases_share_a_name() {
        let mut names: Vec<String> = cases(&FULL).into_iter().map(|case| case.what).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn processor_time_is_told_by_the_amount_that_was_carried() {
        let case = |ask| Case {
            what: String::new(),
            ask,
            connections: 1,
            manner: Manner::Shipped,
            is_secure: false,
        };
        assert_eq!(case(Ask::Put(256 * MIB)).amount(8.0), ("1 GiB", 2.0));
        assert_eq!(case(Ask::Get(KIB)).amount(20_000.0), ("10,000 requests", 2.0));
    }
}
