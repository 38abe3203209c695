//! Random Pods on a random machine: whatever fails, dies or is deleted, and whenever, the rules hold at every step and in
//! the end everything is as it should be.

mod machine;
mod rules;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::fixtures::container;
use crate::pod::observed::Cause;
use crate::pod::status::Phase;
use machine::Machine;

/// A container of random habits.
fn some_container(name: String, role: &'static str) -> impl Strategy<Value = Value> {
    (any::<[bool; 5]>(), 0..3_usize).prop_map(move |([start, stop, startup, ready, alive], pull)| {
        let mut container = container(&name);
        let command = json!({"exec": {"command": ["true"]}});
        container["imagePullPolicy"] = json!(["Always", "IfNotPresent", "Never"][pull]);
        if start && role != "init" {
            container["lifecycle"]["postStart"] = command.clone();
        }
        if stop && role != "init" {
            container["lifecycle"]["preStop"] = command.clone();
        }
        if role == "sidecar" {
            container["restartPolicy"] = json!("Always");
        }
        let probes = [("startupProbe", startup), ("readinessProbe", ready), ("livenessProbe", alive)];
        for (probe, _) in probes.into_iter().filter(|(_, wanted)| *wanted && role != "init") {
            container[probe] = command.clone();
        }
        container
    })
}

fn init_containers() -> impl Strategy<Value = Vec<Value>> {
    let one = |number: usize| {
        let role = prop_oneof![Just("init"), Just("sidecar")];
        role.prop_flat_map(move |role| some_container(format!("i{number}"), role))
    };
    (0..4_usize).prop_flat_map(move |count| (0..count).map(one).collect::<Vec<_>>())
}

fn main_containers() -> impl Strategy<Value = Vec<Value>> {
    let one = |number: usize| some_container(format!("c{number}"), "main");
    (1..4_usize).prop_flat_map(move |count| (0..count).map(one).collect::<Vec<_>>())
}

fn some_pod() -> impl Strategy<Value = Value> {
    let policy = prop_oneof![Just("Always"), Just("OnFailure"), Just("Never")];
    (policy, init_containers(), main_containers(), 0..40_i64, prop::option::weighted(0.2, 30..600_i64))
        .prop_map(|(policy, init, main, grace, deadline)| {
            json!({
                "restartPolicy": policy, "initContainers": init, "containers": main,
                "terminationGracePeriodSeconds": grace, "activeDeadlineSeconds": deadline,
            })
        })
}

/// More than enough for everything that is left to happen once luck has turned.
const PATIENCE: usize = 600;

proptest! {
    #[test]
    fn a_pod_comes_to_run_or_to_its_end_whatever_happens(
        spec in some_pod(), luck in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut machine = Machine::new(spec, luck);
        for _ in 0..machine.luck_left() + PATIENCE {
            machine.step();
        }
        let phase = machine.phase();
        if phase.is_terminal() {
            prop_assert!(!machine.case.observed.is_live() && machine.is_cleared(), "{}", machine.story());
        } else {
            prop_assert!(phase == Phase::Running && machine.is_settled(), "{phase:?} {}", machine.story());
        }
    }

    #[test]
    fn a_deleted_pod_is_gone_when_its_grace_is_over(
        spec in some_pod(), luck in prop::collection::vec(any::<u8>(), 0..300),
        lived in 0..120_usize, grace in 0..40_i64,
    ) {
        let mut machine = Machine::new(spec, luck);
        machine.keeps_time = true;
        for _ in 0..lived {
            machine.step();
        }
        machine.delete(grace);
        for _ in 0..machine.luck_left() + PATIENCE {
            machine.step();
        }
        prop_assert!(machine.is_deleted || grace == 0 && machine.is_cleared(), "{}", machine.story());
        prop_assert!(machine.case.observed.ending.is_some());
    }

    #[test]
    fn clocks_that_jump_break_nothing(
        spec in some_pod(), luck in prop::collection::vec(any::<u8>(), 0..300), jumps in prop::collection::vec(-100_000..100_000_i64, 1..6),
    ) {
        let mut machine = Machine::new(spec, luck);
        for jump in jumps {
            machine.jump(jump);
            for _ in 0..30 {
                machine.step();
            }
        }
        machine.delete(30);
        for _ in 0..machine.luck_left() + PATIENCE {
            machine.step();
        }
        prop_assert!(machine.is_deleted, "{}", machine.story());
    }
}

#[test]
fn a_quiet_machine_runs_a_pod_until_somebody_deletes_it() {
    let spec = json!({"initContainers": [container("i")], "containers": [container("a")]});
    let mut machine = Machine::new(spec, Vec::new());
    for _ in 0..60 {
        machine.step();
    }
    assert!(machine.is_ready() && machine.phase() == Phase::Running, "{}", machine.story());
    machine.delete(5);
    for _ in 0..60 {
        machine.step();
    }
    assert!(machine.is_deleted && machine.phase() == Phase::Succeeded, "{}", machine.story());
    assert_eq!(machine.case.observed.ending.unwrap().cause, Cause::Deleted);
}
