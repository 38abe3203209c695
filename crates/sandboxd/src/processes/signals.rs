//! Signals by name and number.

use rustix::process::Signal;

use crate::wire::processes::SignalName;

const NAMES: &[(&str, Signal)] = &[
    ("HUP", Signal::HUP),
    ("INT", Signal::INT),
    ("QUIT", Signal::QUIT),
    ("ILL", Signal::ILL),
    ("TRAP", Signal::TRAP),
    ("ABRT", Signal::ABORT),
    ("BUS", Signal::BUS),
    ("FPE", Signal::FPE),
    ("KILL", Signal::KILL),
    ("USR1", Signal::USR1),
    ("SEGV", Signal::SEGV),
    ("USR2", Signal::USR2),
    ("PIPE", Signal::PIPE),
    ("ALRM", Signal::ALARM),
    ("TERM", Signal::TERM),
    ("STKFLT", Signal::STKFLT),
    ("CHLD", Signal::CHILD),
    ("CONT", Signal::CONT),
    ("STOP", Signal::STOP),
    ("TSTP", Signal::TSTP),
    ("TTIN", Signal::TTIN),
    ("TTOU", Signal::TTOU),
    ("URG", Signal::URG),
    ("XCPU", Signal::XCPU),
    ("XFSZ", Signal::XFSZ),
    ("VTALRM", Signal::VTALARM),
    ("PROF", Signal::PROF),
    ("WINCH", Signal::WINCH),
    ("IO", Signal::IO),
    ("PWR", Signal::POWER),
    ("SYS", Signal::SYS),
];

pub(crate) fn find(wanted: &SignalName) -> Option<Signal> {
    let matches = |(name, signal): &&(&str, Signal)| match wanted {
        SignalName::Number(number) => signal.as_raw() == *number,
        SignalName::Name(text) => {
            let text = text.to_ascii_uppercase();
            text.strip_prefix("SIG").unwrap_or(&text) == *name
        }
    };
    NAMES.iter().find(matches).map(|(_, signal)| *signal)
}

/// `SIGTERM`, or `SIG40` for one without a name.
pub(crate) fn name(number: i32) -> String {
    let known = NAMES.iter().find(|(_, signal)| signal.as_raw() == number);
    known.map_or_else(|| format!("SIG{number}"), |(name, _)| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_has_a_number_and_two_names() {
        for wanted in [
            SignalName::Number(15),
            SignalName::Name("TERM".to_owned()),
            SignalName::Name("sigterm".to_owned()),
        ] {
            assert_eq!(find(&wanted), Some(Signal::TERM));
        }
        assert_eq!(name(9), "SIGKILL");
        assert_eq!(name(40), "SIG40");
    }

    #[test]
    fn what_is_no_signal_is_none() {
        for wanted in
            [SignalName::Number(0), SignalName::Number(-1), SignalName::Name("SIGSIGTERM".to_owned())]
        {
            assert_eq!(find(&wanted), None);
        }
    }

    #[test]
    fn no_number_has_two_names() {
        let mut numbers: Vec<i32> = NAMES.iter().map(|(_, signal)| signal.as_raw()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=31).collect::<Vec<_>>());
    }
}
