//! The conditions of the Node, in a kubelet's words. Those of others are kept. Pure.

use asb_core::conditions::whole_seconds;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::NodeCondition;

use super::machine::{MEMORY_KEPT, Machine};

/// Pressure that is over is believed to be after this long.
const RELIEF: SignedDuration = SignedDuration::from_mins(5);

/// What a condition says when it holds, and when it does not: reason and message.
struct Wording {
    type_: &'static str,
    holds: (&'static str, &'static str),
    fails: (&'static str, &'static str),
}

pub(super) const OWN: [&str; 4] = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];

const WORDINGS: [Wording; 4] = [
    Wording {
        type_: OWN[0],
        holds: ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
        fails: ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    },
    Wording {
        type_: OWN[1],
        holds: ("KubeletHasDiskPressure", "kubelet has disk pressure"),
        fails: ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    },
    Wording {
        type_: OWN[2],
        holds: ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
        fails: ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    },
    Wording {
        type_: OWN[3],
        holds: ("KubeletReady", "kubelet is posting ready status"),
        fails: ("KubeletNotReady", "kubelet is not ready"),
    },
];

/// Ours in their places, and after them those of others.
pub(super) fn conditions(machine: &Machine, known: &[NodeCondition], now: Timestamp) -> Vec<NodeCondition> {
    let disk = &machine.disk;
    let measured = [
        machine.available < MEMORY_KEPT,
        disk.free < disk.bytes / 10 || disk.inodes_free < disk.inodes / 20,
        machine.pids.taken > machine.pids.most / 10 * 9,
        true,
    ];
    let own = WORDINGS.iter().zip(measured).map(|(wording, holds)| condition(wording, holds, known, now));
    let others = known.iter().filter(|known| !OWN.contains(&known.type_.as_str())).cloned();
    own.chain(others).collect()
}

fn condition(wording: &Wording, holds: bool, known: &[NodeCondition], now: Timestamp) -> NodeCondition {
    let known = known.iter().find(|known| known.type_ == wording.type_);
    let since = known.and_then(|known| known.last_transition_time.as_ref());
    let held = known.is_some_and(|known| known.status == "True");
    // What is yet to come was told by a clock that has been set since: nobody knows how long ago it was.
    let is_recent = since.is_some_and(|time| time.0 <= now && now.duration_since(time.0) < RELIEF);
    let holds = holds || (held && is_recent);
    let status = if holds { "True" } else { "False" };
    let (reason, message) = if holds { wording.holds } else { wording.fails };
    let kept = since.filter(|_| known.is_some_and(|known| known.status == status)).cloned();
    NodeCondition {
        type_: wording.type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_heartbeat_time: Some(whole_seconds(now)),
        last_transition_time: Some(kept.unwrap_or_else(|| whole_seconds(now))),
    }
}

pub(super) fn timeless(conditions: &[NodeCondition]) -> Vec<NodeCondition> {
    conditions.iter().map(|known| NodeCondition { last_heartbeat_time: None, ..known.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::machine::Disk;
    use super::super::machine::fixture::machine;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn pressure_is_told_at_once_and_relief_after_a_while() {
        let full = Machine { available: 0, disk: Disk { free: 0, ..machine().disk }, ..machine() };
        let status = |machine: &Machine, known: &[NodeCondition], second| {
            let all = conditions(machine, known, at(second));
            let line = all.iter().map(|known| known.status.clone()).collect::<Vec<_>>().join(" ");
            (all, line)
        };
        let (known, line) = status(&full, &[], 100);
        assert_eq!(line, "True True False True");
        let (known, line) = status(&machine(), &known, 300);
        assert_eq!(line, "True True False True");
        let (known, line) = status(&machine(), &known, 400);
        assert_eq!(
            (line.as_str(), known[0].last_transition_time.as_ref().unwrap().0),
            ("False False False True", at(400))
        );
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_keep_relief_from_coming() {
        let known = conditions(&Machine { available: 0, ..machine() }, &[], at(100));
        assert_eq!(conditions(&machine(), &known, at(99))[0].status, "False");
    }

    #[test]
    fn conditions_of_others_are_kept() {
        let foreign = NodeCondition {
            type_: "NetworkUnavailable".into(),
            status: "False".into(),
            ..NodeCondition::default()
        };
        let all = conditions(&machine(), std::slice::from_ref(&foreign), at(1));
        assert_eq!((all.len(), all.last()), (5, Some(&foreign)));
    }
}
