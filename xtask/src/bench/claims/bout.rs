//! One scenario with one operator: what is done, and which numbers come of it.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::arrivals::{self, Offsets};
use super::figure::{Figure, Unit};
use super::generator::{Run, Settled};
use super::ring::Ring;
use super::scale::Scale;
use super::scenario::Scenario;
use super::writes::Writes;
use crate::bench::processor::Shares;
use crate::terminal;

/// What one bout gave.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) figures: Vec<Figure>,
    /// Who used the processors during which part.
    pub(super) shares: Vec<(String, Shares)>,
}

/// What a claim costs beside what its pool says of itself, which is promised on its own.
pub(super) const BESIDE_THE_POOL: &str = "writes per claim, without the pool's status";

const POOL: &str = "warm";

/// What claims may take before they are given up.
const PATIENCE: u64 = 60;

/// What a pool may take to be full, and everything else to be written.
const LONG_PATIENCE: u64 = 300;

/// A second at p99 is more than users wait for gladly.
const TOO_LONG: f64 = 1000.0;

pub(super) struct Bout<'a> {
    pub(super) ring: &'a mut Ring,
    pub(super) scale: &'a Scale,
    /// What was measured before something went wrong is kept.
    pub(super) outcome: &'a mut Outcome,
}

impl Bout<'_> {
    pub(super) fn run(&mut self, scenario: Scenario) -> Result<()> {
        match scenario {
            Scenario::Rates => self.rates(),
            Scenario::Burst => self.burst(),
            Scenario::Rising => self.rising(),
            Scenario::Fill => self.fill(),
            Scenario::Idle => self.idle(),
            Scenario::Writes => self.writes(),
        }
    }

    fn rates(&mut self) -> Result<()> {
        let most = self.scale.rates.iter().max().copied().unwrap_or_default();
        let size = most * self.scale.seconds + most;
        self.ring.generator.pool(POOL, size, LONG_PATIENCE)?;
        for rate in self.scale.rates {
            self.settle(size)?;
            let what = format!("{rate} claims/s");
            let run =
                self.claims(&what, &arrivals::strangers(*rate, self.scale.seconds, u64::from(*rate)))?;
            self.percentiles(&what, &run, &[50, 99]);
            self.note(
                format!("{what}: claim created, p50"),
                Unit::Milliseconds,
                run.until_made().percentile(50),
            );
        }
        Ok(())
    }

    fn burst(&mut self) -> Result<()> {
        let size = self.scale.burst;
        self.ring.generator.pool(POOL, size, LONG_PATIENCE)?;
        self.settle(size)?;
        let what = format!("burst of {size}");
        let run = self.claims(&what, &arrivals::crowd(size as usize))?;
        self.percentiles(&what, &run, &[50, 90, 99]);
        let settled = self.settle(size)?;
        self.note(
            format!("{what}: pool full again, nothing left to write"),
            Unit::Seconds,
            run.seconds + settled.seconds,
        );
        Ok(())
    }

    fn rising(&mut self) -> Result<()> {
        let (size, seconds) = (self.scale.rising_pool, self.scale.rising_seconds);
        self.ring.generator.pool(POOL, size, LONG_PATIENCE)?;
        let mut sustained = (0.0, 0.0);
        for rate in arrivals::rising(self.scale.rising_first, size / seconds) {
            self.settle(size)?;
            let run = self
                .claims(&format!("rising, {rate}/s"), &arrivals::strangers(rate, seconds, u64::from(rate)))?;
            let sample = run.until_ready();
            terminal::note(&format!("{rate}/s: p99 {}", Unit::Milliseconds.written(sample.percentile(99))));
            if sample.percentile(99) > TOO_LONG {
                let finished = f64::from(u32::try_from(sample.len() - sample.missing)?) / run.seconds;
                self.note("ready per second at the rate that was too much", Unit::PerSecond, finished);
                break;
            }
            let settled = self.settle(size)?;
            let all = f64::from(rate * seconds) / (run.seconds + settled.seconds);
            sustained = (f64::from(rate), all);
        }
        self.note("claims per second with p99 under 1 s", Unit::PerSecond, sustained.0);
        self.note("the same, counting until their pool is full again", Unit::PerSecond, sustained.1);
        Ok(())
    }

    fn fill(&mut self) -> Result<()> {
        let size = self.scale.fill;
        let (seconds, shares) = self.ring.measured(|ring| ring.generator.pool(POOL, size, LONG_PATIENCE))?;
        self.outcome.shares.push(("fill".to_owned(), shares));
        self.note(format!("fill a pool of {size}"), Unit::Seconds, seconds);
        Ok(())
    }

    fn idle(&mut self) -> Result<()> {
        let count = self.scale.idle;
        let (seconds, shares) = self.ring.measured(|ring| ring.generator.sandboxes(count, 1200))?;
        self.outcome.shares.push((format!("make {count} Sandboxes"), shares));
        self.note(format!("make {count} Sandboxes"), Unit::Seconds, seconds);
        self.ring.generator.settle(None, LONG_PATIENCE)?;
        let ((), shares) = self.ring.measured(|_| {
            thread::sleep(Duration::from_secs(self.scale.idle_seconds));
            Ok(())
        })?;
        let operator =
            ["operator", "server"].iter().find_map(|name| shares.processes.iter().find(|it| it.0 == *name));
        let idle = operator.map_or(0.0, |it| it.1);
        self.outcome.shares.push((format!("{count} idle"), shares));
        self.note(format!("{count} idle Sandboxes: resident memory"), Unit::Mebibytes, self.ring.memory()?);
        self.note(format!("{count} idle Sandboxes: processor"), Unit::Percent, idle);
        self.touch(count)
    }

    fn touch(&mut self, count: u32) -> Result<()> {
        let before = self.ring.looks()?;
        self.ring.generator.touch(self.scale.touched)?;
        self.ring.generator.settle(None, LONG_PATIENCE)?;
        let after = self.ring.looks()?;
        let median = before.zip(after).and_then(|(before, after)| after.since(&before).median());
        if let Some(median) = median {
            self.note(format!("{count} Sandboxes: a look at one, p50"), Unit::Milliseconds, median);
        }
        Ok(())
    }

    fn writes(&mut self) -> Result<()> {
        let (rate, seconds) = (self.scale.writes_rate, self.scale.seconds);
        let (count, size) = (rate * seconds, rate * seconds + rate);
        self.ring.generator.pool(POOL, size, LONG_PATIENCE)?;
        let before = (self.settle(size)?, self.counted(), self.ring.looks()?);
        self.claims("writes", &arrivals::strangers(rate, seconds, u64::from(rate)))?;
        let after = (self.settle(size)?, self.counted(), self.ring.looks()?);
        let mut each = |what: String, sum: f64| self.note(what, Unit::Count, sum / f64::from(count));
        if let Some((before, after)) = before.1.zip(after.1) {
            let writes = after.since(&before);
            each("writes per claim".to_owned(), writes.total());
            each(BESIDE_THE_POOL.to_owned(), writes.beside("sandboxwarmpools/status"));
            each("writes per claim: of these refused".to_owned(), writes.refused);
            writes.by_resource.iter().for_each(|(name, sum)| each(format!("writes per claim: {name}"), *sum));
        }
        let stored = u32::try_from(after.0.version - before.0.version).context("too many writes to count")?;
        each("changes stored per claim, bindings and leases among them".to_owned(), f64::from(stored));
        if let Some((before, after)) = before.2.zip(after.2) {
            after
                .since(&before)
                .counts
                .iter()
                .for_each(|(name, sum)| each(format!("looks per claim: {name}"), *sum));
        }
        Ok(())
    }

    /// What the API server counts; nothing where it does not.
    fn counted(&mut self) -> Option<Writes> {
        let text = self.ring.generator.get("/metrics").ok()?;
        Some(Writes::read(&text)).filter(|writes| writes.total() > 0.0)
    }

    fn settle(&mut self, size: u32) -> Result<Settled> {
        self.ring.generator.settle(Some((POOL, size)), LONG_PATIENCE)
    }

    fn claims(&mut self, what: &str, offsets: &Offsets) -> Result<Run> {
        let prefix = what.replace(|character: char| !character.is_ascii_alphanumeric(), "-");
        let start = Instant::now();
        let claims = |ring: &mut Ring| ring.generator.claims(POOL, &prefix.to_lowercase(), offsets, PATIENCE);
        let (run, shares) = self.ring.measured(claims)?;
        complain(what, &run, start.elapsed());
        self.outcome.shares.push((what.to_owned(), shares));
        Ok(run)
    }

    fn percentiles(&mut self, what: &str, run: &Run, percents: &[usize]) {
        let sample = run.until_ready();
        for percent in percents {
            self.note(format!("{what}: p{percent}"), Unit::Milliseconds, sample.percentile(*percent));
        }
        if run.cold > 0 {
            self.note(
                format!("{what}: without a warm Sandbox"),
                Unit::Count,
                f64::from(u32::try_from(run.cold).unwrap_or(u32::MAX)),
            );
        }
    }

    fn note(&mut self, what: impl Into<String>, unit: Unit, value: f64) {
        self.outcome.figures.push(Figure::new(what, unit, value));
    }
}

/// Says what makes the numbers worth less.
fn complain(what: &str, run: &Run, took: Duration) {
    let sample = run.until_ready();
    let late = run.lateness.unwrap_or_default() / 1000;
    let reasons = [
        (sample.missing, "never became ready"),
        (run.refused, "were refused"),
        (run.cold, "got no warm Sandbox"),
        (usize::try_from(late).unwrap_or(usize::MAX), "ms late was the load itself"),
    ];
    let said = reasons.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let said = said.collect::<Vec<_>>().join(", ");
    let colon = if said.is_empty() { "" } else { ": " };
    terminal::note(&format!("{what}: {} claims in {}{colon}{said}", sample.len(), terminal::seconds(took)));
}
