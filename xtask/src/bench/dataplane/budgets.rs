//! What we promised, and whether it holds.

use super::crowd;
use super::figures::{Figures, Side};
use super::race::get_name;

/// Of what nginx does.
const SHARE: f64 = 0.7;
/// Requests a second that upstream says its router does, on machines of its own.
const UPSTREAM: f64 = 5_000.0;
/// Mebibytes.
const IDLE: f64 = 6.0;

/// Budget, measured, holds or missed. What was not measured is left out.
pub(super) fn rows(figures: &Figures) -> Vec<Vec<String>> {
    let shares =
        [1, 64].into_iter().flat_map(|kib| [1, 32, 128].map(|connections| share(figures, kib, connections)));
    shares.chain([upstream(figures), idle(figures)]).flatten().collect()
}

fn share(figures: &Figures, kib: u64, connections: usize) -> Option<Vec<String>> {
    let what = format!("{}: per second", get_name(kib, connections));
    let ratio = figures.value(&what, Side::Ours)? / figures.value(&what, Side::Theirs)?;
    Some(row(format!("{what}: at least {SHARE} × nginx's"), format!("{ratio:.2}"), ratio >= SHARE))
}

fn upstream(figures: &Figures) -> Option<Vec<String>> {
    let what = format!("{}: per second", get_name(1, 32));
    let rate = figures.value(&what, Side::Ours)?;
    let says = format!("{what}: more than upstream's router, about {UPSTREAM:.0}");
    Some(row(says, format!("{rate:.0}"), rate > UPSTREAM))
}

fn idle(figures: &Figures) -> Option<Vec<String>> {
    let [machine, processes] = [crowd::OF_THE_MACHINE, crowd::OF_PROCESSES];
    let taken = figures.value(machine, Side::Ours)?.max(figures.value(processes, Side::Ours)?);
    let says = format!("an idle sandbox with sandboxd takes at most {IDLE:.0} MiB");
    Some(row(says, format!("{taken:.2} MiB"), taken <= IDLE))
}

fn row(says: String, measured: String, holds: bool) -> Vec<String> {
    vec![says, measured, if holds { "holds" } else { "missed" }.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::super::figures::Unit;
    use super::*;

    fn verdicts(figures: &Figures) -> Vec<(String, String)> {
        rows(figures).into_iter().map(|row| (row[1].clone(), row[2].clone())).collect()
    }

    fn verdict(measured: &str, verdict: &str) -> (String, String) {
        (measured.to_owned(), verdict.to_owned())
    }

    #[test]
    fn the_router_is_judged_by_nginx_and_by_upstreams() {
        let with = |ours| {
            let mut figures = Figures::default();
            let what = format!("{}: per second", get_name(1, 32));
            figures.add(what.clone(), Unit::PerSecond, Side::Theirs, 10_000.0);
            figures.add(what, Unit::PerSecond, Side::Ours, ours);
            figures
        };
        assert_eq!(verdicts(&with(7_000.0)), [verdict("0.70", "holds"), verdict("7000", "holds")]);
        assert_eq!(verdicts(&with(4_000.0)), [verdict("0.40", "missed"), verdict("4000", "missed")]);
    }

    #[test]
    fn an_idle_sandbox_takes_what_the_machine_lacks_or_its_processes_hold() {
        let with = |machine, processes| {
            let mut figures = Figures::default();
            figures.add(crowd::OF_THE_MACHINE, Unit::Mebibytes, Side::Ours, machine);
            figures.add(crowd::OF_PROCESSES, Unit::Mebibytes, Side::Ours, processes);
            figures
        };
        assert_eq!(verdicts(&with(6.0, 2.0)), [verdict("6.00 MiB", "holds")]);
        assert_eq!(verdicts(&with(6.1, 2.0)), [verdict("6.10 MiB", "missed")]);
        assert_eq!(verdicts(&with(-9.0, 6.2)), [verdict("6.20 MiB", "missed")]);
    }
}
