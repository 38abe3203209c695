//! A real control plane with a disk it waits for: what it takes to have one, beside which ours will stand.

use std::time::Instant;

use anyhow::Result;

use super::{Row, memory};
use crate::kube::{self, Options, Process};
use crate::terminal;

/// Where it does not settle, the smaller of a few starts is nearest to what the machine can do.
const STARTS: usize = 3;

pub(super) fn measure() -> Result<Vec<Row>> {
    let name = format!("bench-{}", std::process::id());
    let options = Options { name, node: false, durable: true, use_existing: false };
    kube::prepare(&options)?;
    let mut fastest = f64::INFINITY;
    let mut memory = Vec::new();
    for _ in 0..STARTS {
        let start = Instant::now();
        let cluster = kube::borrow(&options)?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
        memory = kube::processes(&cluster.name)?
            .iter()
            .filter_map(|it| resident(it).transpose())
            .collect::<Result<_>>()?;
    }
    terminal::note(&format!("best of {STARTS} starts"));
    let mut rows = vec![Row::new(
        "etcd + control plane, start to ready with our definitions",
        format!("{fastest:.1} s"),
    )];
    rows.extend(memory);
    Ok(rows)
}

/// Resident memory of a component; nothing for helpers of xtask's own.
fn resident(process: &Process) -> Result<Option<Row>> {
    if process.program == "xtask" {
        return Ok(None);
    }
    let mebibytes = memory::of(process.pid)? / 1024;
    Ok(Some(Row::new(format!("{}, resident memory", process.program), format!("{mebibytes} MiB"))))
}
