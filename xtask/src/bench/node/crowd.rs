//! Many idle Sandboxes: what they hold, what they cost, and a node that is killed and comes back to them.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::{Node, alone};
use crate::bench::memory;
use crate::terminal;

/// How long the idle are watched.
const WATCHED: Duration = Duration::from_secs(10);

pub(super) fn measure(mut node: Node, size: usize) -> Result<Vec<Vec<String>>> {
    let before = available()?;
    let mut rows =
        terminal::step(&format!("gather {size} Sandboxes"), || node.play(&format!("crowd={size}")))?;
    let each = |kibibytes: u64| {
        format!("{:.2} MiB", mebibytes(kibibytes) / f64::from(u32::try_from(size).unwrap_or(1)))
    };
    let held = Held::by(&node)?;
    rows.push(alone("shim of one idle Sandbox, PSS", each(held.shims)));
    rows.push(alone("what runs in one idle Sandbox, PSS", each(held.inside)));
    rows.push(alone(
        "memory of the machine that one idle Sandbox takes",
        each(before.saturating_sub(available()?)),
    ));
    let resident = mebibytes(memory::of(node.server().id())?);
    rows.push(alone(format!("`asb up` with {size} idle Sandboxes, resident"), format!("{resident:.0} MiB")));
    rows.push(terminal::step("watch them idle", || idle(&node, &held))?);
    let start = Instant::now();
    terminal::step("kill asb and start it again", || node.restart())?;
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

/// What of the machine's memory could still be had, in kibibytes.
fn available() -> Result<u64> {
    let said = fs::read_to_string("/proc/meminfo")?;
    let amount = |line: &str| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse().ok();
    said.lines().find_map(amount).context("a machine without MemAvailable")
}

/// Memory of processes, shared parts divided by who shares them; in kibibytes.
struct Held {
    shims: u64,
    inside: u64,
    processes: Vec<u32>,
}

impl Held {
    fn by(node: &Node) -> Result<Self> {
        let pods = node.data.join("node/pods").display().to_string();
        let mut held = Self { shims: 0, inside: 0, processes: vec![node.server().id()] };
        for process in processes()? {
            if is_shim(process, &pods) {
                held.shims += share(process);
                held.processes.push(process);
                for child in descendants(process) {
                    held.inside += share(child);
                    held.processes.push(child);
                }
            }
        }
        Ok(held)
    }
}

fn processes() -> Result<Vec<u32>> {
    let entries = fs::read_dir("/proc")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

fn is_shim(process: u32, pods: &str) -> bool {
    fs::read(format!("/proc/{process}/cmdline"))
        .is_ok_and(|line| String::from_utf8_lossy(&line).contains(pods))
}

fn descendants(process: u32) -> Vec<u32> {
    let said = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let children = said.split_whitespace().filter_map(|child| child.parse().ok());
    children.flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

/// Nothing for one that has ended meanwhile.
fn share(process: u32) -> u64 {
    let said = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let amount = |line: &str| line.strip_prefix("Pss:")?.trim().strip_suffix(" kB")?.parse().ok();
    said.lines().find_map(amount).unwrap_or_default()
}

/// Processor time of all of them while nobody asks anything.
fn idle(node: &Node, held: &Held) -> Result<Vec<String>> {
    let spent = || held.processes.iter().map(|process| ticks(*process)).sum::<u64>();
    let (server, all) = (ticks(node.server().id()), spent());
    sleep(WATCHED);
    let (server, all) = (ticks(node.server().id()) - server, spent().saturating_sub(all));
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

fn mebibytes(kibibytes: u64) -> f64 {
    f64::from(u32::try_from(kibibytes).unwrap_or(u32::MAX)) / 1024.0
}
