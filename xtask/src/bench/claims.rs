//! Our operator beside upstream's controller: the same claims, one after the other, on a real kube-apiserver with an etcd
//! that waits for the disk, and on our own server. Pods are pretended, so that only operators and servers are measured.

mod arrivals;
mod bout;
mod budgets;
mod contender;
mod exposition;
mod figure;
mod generator;
mod looks;
mod ring;
mod sample;
mod scale;
mod scenario;
mod scores;
mod writes;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::folder::Folder;
use super::{BUDGETS, Table, disk};
use crate::kube::{self, Options};
use crate::terminal;
use bout::{Bout, Outcome};
use contender::{Side, flags};
use figure::Figure;
use ring::{Ground, Programs, Ring};
use scale::Scale;
use scenario::Scenario;
use scores::Scores;

#[derive(clap::Args)]
#[command(next_help_heading = "Claims")]
pub(super) struct Wishes {
    /// Only these scenarios of `claims`, such as `a,b`
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LETTERS")]
    only: Vec<Scenario>,
    /// `claims` on these API servers only
    #[arg(long, value_enum, value_delimiter = ',')]
    on: Vec<Ground>,
    /// A flag for our operator on Kubernetes in `claims`, instead of the one it shares with upstream's, such as
    /// `--our-flag=--api-connections=1`
    #[arg(long = "our-flag", value_name = "FLAG")]
    our_flags: Vec<String>,
    /// How often `claims` measures each; the middle one counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

const HEADS: [(Ground, &[&str]); 2] = [
    (Ground::Kubernetes, &["on kube-apiserver and etcd", "upstream", "ours", "ours / upstream"]),
    (Ground::Embedded, &["on `asb up`", "upstream", "ours, in its process", "ours / upstream"]),
];
const SHARES: &[&str] = &[
    "who used the processors, in percent of one",
    "on",
    "operator",
    "load average",
    "API server",
    "etcd",
    "operator",
    "fake kubelet",
    "load",
    "rest of the machine",
];
const SHARED: [&str; 5] = ["server", "etcd", "operator", "kubelet", "load"];
const FAILURES: &[&str] = &["what failed, and is not in the tables from there on", "why"];

/// What is between the disk and a claim, in milliseconds.
const FSYNC: &str = "write and fsync 4 KiB, p50";

pub(super) fn measure(wishes: &Wishes, quick: bool) -> Result<Vec<Table>> {
    let plan = Plan::of(wishes, quick);
    let programs = Programs::obtain(flags(&wishes.our_flags))?;
    if plan.grounds.contains(&Ground::Kubernetes) {
        kube::prepare(&Options { name: "race".to_owned(), node: false, durable: true, use_existing: false })?;
    }
    let folder = Folder::create()?;
    let mut scores = Scores::default();
    let fsync = disk::median()?;
    for ground in &plan.grounds {
        for side in Side::BOTH {
            scores.add(*ground, side, Figure::milliseconds(FSYNC, fsync));
        }
    }
    terminal::note(&format!("upstream gets {}", flags(&[]).join(" ")));
    terminal::note(&format!("ours gets {}", flags(&wishes.our_flags).join(" ")));
    for (number, pair) in plan.matches().into_iter().enumerate() {
        pair.fight(&programs, &folder.0.join(number.to_string()), &mut scores);
    }
    Ok(tables(&plan, &scores, fsync))
}

fn tables(plan: &Plan, scores: &Scores, fsync: Duration) -> Vec<Table> {
    let measured = HEADS.into_iter().filter(|(ground, _)| plan.grounds.contains(ground));
    let mut tables: Vec<Table> =
        measured.map(|(ground, head)| Table { head, rows: scores.rows(ground) }).collect();
    tables.push(Table { head: SHARES, rows: scores.share_rows(&SHARED) });
    tables.push(Table { head: BUDGETS, rows: budgets::rows(scores, Some(fsync.as_secs_f64() * 1000.0)) });
    tables.push(Table { head: FAILURES, rows: scores.failure_rows() });
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// What is to be measured.
struct Plan {
    grounds: Vec<Ground>,
    scenarios: Vec<Scenario>,
    scale: &'static Scale,
    rounds: u32,
}

/// One scenario with one operator on one API server.
struct Match {
    ground: Ground,
    scenario: Scenario,
    side: Side,
    scale: &'static Scale,
    title: String,
}

impl Plan {
    fn of(wishes: &Wishes, quick: bool) -> Self {
        let grounds = [Ground::Kubernetes, Ground::Embedded];
        let wanted = |ground: &Ground| wishes.on.is_empty() || wishes.on.contains(ground);
        let asked = |scenario: &Scenario| wishes.only.is_empty() || wishes.only.contains(scenario);
        Self {
            grounds: grounds.into_iter().filter(wanted).collect(),
            scenarios: Scenario::ALL.into_iter().filter(asked).collect(),
            scale: if quick { &scale::QUICK } else { &scale::FULL },
            rounds: wishes.rounds,
        }
    }

    /// One operator right after the other, so that both meet the same neighbours.
    fn matches(&self) -> Vec<Match> {
        let mut matches = Vec::new();
        for round in 1..=self.rounds {
            for ground in &self.grounds {
                for scenario in &self.scenarios {
                    matches.extend(Side::BOTH.map(|side| self.pair(round, *ground, *scenario, side)));
                }
            }
        }
        matches
    }

    fn pair(&self, round: u32, ground: Ground, scenario: Scenario, side: Side) -> Match {
        let round =
            if self.rounds > 1 { format!(" (round {round} of {})", self.rounds) } else { String::new() };
        let title = format!("{}, {}, on {}{round}", scenario.name(), side.name(), ground.name());
        Match { ground, scenario, side, scale: self.scale, title }
    }
}

impl Match {
    /// A bout that fails is told, and the others go on.
    fn fight(&self, programs: &Programs, folder: &Path, scores: &mut Scores) {
        let mut outcome = Outcome::default();
        let result = terminal::step(&self.title, || {
            let mut ring = Ring::open(programs, folder, self.ground, self.side)?;
            Bout { ring: &mut ring, scale: self.scale, outcome: &mut outcome }.run(self.scenario)
        });
        if let Err(error) = result {
            terminal::note(&format!("{}: {error:#}", self.title));
            last_words(folder);
            scores.add_failure(&self.title, format!("{error:#}"));
        }
        for figure in outcome.figures {
            scores.add(self.ground, self.side, figure);
        }
        for (what, shares) in outcome.shares {
            scores.add_shares(self.ground, self.side, what, shares);
        }
    }
}

/// Shows the end of what everybody said.
fn last_words(folder: &Path) {
    for name in ["operator.log", "kubelet.log", "load.log"] {
        let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        for line in &lines[lines.len().saturating_sub(5)..] {
            terminal::note(&format!("{name}: {}", line.chars().take(400).collect::<String>()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(wishes: &Wishes) -> Vec<String> {
        Plan::of(wishes, true).matches().into_iter().map(|it| it.title).collect()
    }

    #[test]
    fn operators_follow_each_other_scenario_by_scenario() {
        let only = vec![Scenario::Burst, Scenario::Rates];
        let wishes = Wishes { only, on: vec![Ground::Kubernetes], our_flags: vec![], rounds: 1 };
        assert_eq!(
            titles(&wishes),
            [
                "a: rates, upstream, on kube-apiserver",
                "a: rates, ours, on kube-apiserver",
                "b: burst, upstream, on kube-apiserver",
                "b: burst, ours, on kube-apiserver",
            ]
        );
    }

    #[test]
    fn without_wishes_everything_is_measured() {
        let wishes = Wishes { only: vec![], on: vec![], our_flags: vec![], rounds: 2 };
        assert_eq!(titles(&wishes).len(), 2 * 2 * 6 * 2);
    }
}
