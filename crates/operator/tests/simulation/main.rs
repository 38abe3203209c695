//! The operator as it is shipped, over a simulated cluster: caches lag, writes fail, conflict, get no answer though they took
//! effect or take effect too late; one process or two die, are stopped or cut off; nodes vanish; and users act meanwhile.
//! Everything that happens follows from a seed.
//!
//! Each schedule checks after every write what may never happen (see [`invariants`]), and in the calm at its end that all
//! is as the users asked (see [`calm`]), that nothing more is written, that a line of claims is served in its order (see
//! [`line`](mod@line)), and that nothing is remembered once all is gone.

mod agenda;
mod call;
mod calm;
mod chance;
mod clock;
mod cluster;
mod fate;
mod invariants;
mod lease;
mod line;
mod nodes;
mod object;
mod panics;
mod planted;
mod processes;
mod schedule;
mod seeds;
mod solo;
mod store;
mod strangers;
mod transcript;
mod transport;
mod trouble;
mod users;
mod watching;
mod witness;
mod world;

use planted::Planted;
use seeds::{Seeds, first_failure};

#[test]
fn schedules_keep_the_invariants_and_converge() {
    if let Some(failure) = first_failure(Seeds::asked(), Planted::NOTHING) {
        panic!("{failure}");
    }
}

#[test]
fn a_seed_repeats_its_schedule() {
    for seed in 0..20 {
        let [one, other] = [0, 1].map(|_| schedule::run(seed, Planted::NOTHING).transcript);
        let first = one.lines().zip(other.lines()).find(|(one, other)| one != other);
        assert_eq!((first, one.len()), (None, other.len()), "seed {seed}");
    }
}

#[test]
fn the_simulation_finds_writes_without_a_version_lock() {
    let found = first_failure(Seeds::up_to(500), Planted::NO_VERSION_LOCK).expect("somebody is robbed");
    let signs = ["is now", "nobody asked for it", "which it did not ask for"];
    let is_robbery = signs.iter().any(|sign| found.violation.contains(sign));
    assert!(is_robbery, "{found}");
}

#[test]
fn the_simulation_finds_caches_that_forget_what_was_written() {
    let found = first_failure(Seeds::up_to(500), Planted::FORGOTTEN_ANSWERS).expect("a pool grows too large");
    assert!(found.violation.contains("which wants"), "{found}");
}

#[test]
fn the_simulation_finds_a_leader_that_goes_on_without_its_lease() {
    let found = first_failure(Seeds::up_to(500), Planted::UNRENEWED).expect("two lead at once");
    assert!(found.violation.contains("does not lead"), "{found}");
}

#[test]
fn the_simulation_finds_a_pod_that_is_forced_off_a_node_that_may_still_run_it() {
    let found = first_failure(Seeds::up_to(1000), Planted::SILENCE_IS_DEATH).expect("two Pods run at once");
    assert!(found.violation.contains("while another of its Sandbox runs"), "{found}");
}
