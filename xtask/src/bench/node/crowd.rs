//! Many idle Sandboxes: what they hold, what they cost, and a node that is killed and comes back to them.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Node, alone};
use crate::bench::held::{self, Held, available, mebibytes};
use crate::bench::memory;
use crate::terminal;

/// How long the idle are watched.
const WATCHED: Duration = Duration::from_secs(10);

pub(super) fn measure(mut node: Node, size: usize) -> Result<Vec<Vec<String>>> {
    let before = available()?;
    let mut rows =
        terminal::step(&format!("gather {size} Sandboxes"), || node.play(&format!("crowd={size}")))?;
    let each = |kibibytes: u64| format!("{:.2} MiB", held::each(kibibytes, size));
    let held = Held::by(&node.machine)?;
    rows.push(alone("shim of one idle Sandbox, PSS", each(held.shims)));
    rows.push(alone("what runs in one idle Sandbox, PSS", each(held.inside)));
    rows.push(alone(
        "memory of the machine that one idle Sandbox takes",
        each(before.saturating_sub(available()?)),
    ));
    let resident = mebibytes(memory::of(node.machine.server().id())?);
    rows.push(alone(format!("`asb up` with {size} idle Sandboxes, resident"), format!("{resident:.0} MiB")));
    rows.push(terminal::step("watch them idle", || idle(&node, &held))?);
    let start = Instant::now();
    terminal::step("kill asb and start it again", || node.machine.restart())?;
    let ready = start.elapsed();
    node.play(&format!("reach={size}"))?;
    let (ready, all) = (ready.as_secs_f64(), start.elapsed().as_secs_f64());
    rows.push(alone(
        format!("start of `asb up` after a kill, {size} Sandboxes: ready"),
        format!("{ready:.2} s"),
    ));
    rows.push(alone("the same, and ten of them have answered", format!("{all:.2} s")));
    Ok(rows)
}

/// Processor time of all of them while nobody asks anything.
fn idle(node: &Node, held: &Held) -> Result<Vec<String>> {
    let spent = || held.processes.iter().map(|process| ticks(*process)).sum::<u64>();
    let (server, all) = (ticks(node.machine.server().id()), spent());
    sleep(WATCHED);
    let (server, all) = (ticks(node.machine.server().id()) - server, spent().saturating_sub(all));
    let percent = |ticks: u64| {
        let spent = f64::from(u32::try_from(ticks)?) / rate();
        anyhow::Ok(format!("{:.1} %", 100.0 * spent / WATCHED.as_secs_f64()))
    };
    Ok(alone(
        "processor time while all are idle, of one core: all of it (`asb up`)",
        format!("{} ({})", percent(all)?, percent(server)?),
    ))
}

/// User and system time, in ticks of the clock.
fn ticks(process: u32) -> u64 {
    let said =
        fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat")).unwrap_or_default();
    let fields = said.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Ticks in a second: what Linux tells programs on every machine that we know of.
fn rate() -> f64 {
    100.0
}
