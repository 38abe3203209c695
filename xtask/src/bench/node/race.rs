//! `echo` in a new container: ours through the API and with everything a Sandbox has, theirs bare.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::stopwatch::{Life, life};
use super::{Bundle, Node};
use crate::bench::disk::percentile;
use crate::kube::images::BUSYBOX;

const ROUNDS: usize = 30;

/// In turn, so that what disturbs the machine disturbs all.
pub(super) fn run(node: &Node, bundle: &Bundle) -> Result<Vec<Vec<String>>> {
    let mut lives: [Vec<Life>; 3] = Default::default();
    for round in 0..ROUNDS {
        let name = format!("race-{}-{round}", std::process::id());
        let asb = node.machine.command(&["run", "--rm", "--image", BUSYBOX, "--", "echo", "hi"]);
        let commands: [Command; 3] = [asb, bundle.runc(&name), bundle.runsc(&name)];
        for (mut command, lives) in commands.into_iter().zip(&mut lives) {
            lives.push(life(&mut command)?);
        }
    }
    let words = |percent| lives.each_ref().map(|lives| of(lives, |life| life.word, percent));
    let wholes = |percent| lives.each_ref().map(|lives| of(lives, |life| life.whole, percent));
    Ok(vec![
        row("`run` of `echo` → first byte, p50", words(50)),
        row("`run` of `echo` → first byte, p90", words(90)),
        row("`run` of `echo`, whole life until it is gone, p50", wholes(50)),
        row("`run` of `echo`, whole life until it is gone, p90", wholes(90)),
    ])
}

/// In milliseconds.
fn of(lives: &[Life], part: fn(&Life) -> Duration, percent: usize) -> f64 {
    let mut times: Vec<Duration> = lives.iter().map(part).collect();
    times.sort_unstable();
    percentile(&times, percent).as_secs_f64() * 1000.0
}

fn row(what: &str, times: [f64; 3]) -> Vec<String> {
    let [asb, runc, _] = times;
    let mut row = vec![what.to_owned()];
    row.extend(times.map(|time| format!("{time:.1} ms")));
    row.push(format!("{:.2}", asb / runc));
    row
}
