//! Signals by the names that images and Pods use.

pub(super) const TERM: i32 = libc::SIGTERM;

const NAMES: [(&str, i32); 31] = [
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("ILL", libc::SIGILL),
    ("TRAP", libc::SIGTRAP),
    ("ABRT", libc::SIGABRT),
    ("BUS", libc::SIGBUS),
    ("FPE", libc::SIGFPE),
    ("KILL", libc::SIGKILL),
    ("USR1", libc::SIGUSR1),
    ("SEGV", libc::SIGSEGV),
    ("USR2", libc::SIGUSR2),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("STKFLT", libc::SIGSTKFLT),
    ("CHLD", libc::SIGCHLD),
    ("CONT", libc::SIGCONT),
    ("STOP", libc::SIGSTOP),
    ("TSTP", libc::SIGTSTP),
    ("TTIN", libc::SIGTTIN),
    ("TTOU", libc::SIGTTOU),
    ("URG", libc::SIGURG),
    ("XCPU", libc::SIGXCPU),
    ("XFSZ", libc::SIGXFSZ),
    ("VTALRM", libc::SIGVTALRM),
    ("PROF", libc::SIGPROF),
    ("WINCH", libc::SIGWINCH),
    ("IO", libc::SIGIO),
    ("PWR", libc::SIGPWR),
    ("SYS", libc::SIGSYS),
];
const LAST: i32 = 64;

/// `SIGTERM`, `TERM`, `15`, `SIGRTMIN+3` or `SIGRTMAX-1`.
pub(super) fn number(text: &str) -> Option<i32> {
    if let Ok(number) = text.parse() {
        return (1..=LAST).contains(&number).then_some(number);
    }
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    known.or_else(|| real_time(name)).filter(|number| (1..=LAST).contains(number))
}

fn real_time(name: &str) -> Option<i32> {
    if let Some(rest) = name.strip_prefix("RTMIN") {
        let above = rest.strip_prefix('+').map_or(Some(0), |rest| rest.parse().ok())?;
        return libc::SIGRTMIN().checked_add(above).filter(|_| rest.is_empty() || rest.starts_with('+'));
    }
    let rest = name.strip_prefix("RTMAX")?;
    let below = rest.strip_prefix('-').map_or(Some(0), |rest| rest.parse().ok())?;
    libc::SIGRTMAX().checked_sub(below).filter(|_| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names_and_numbers() {
        for (text, expected) in [
            ("SIGTERM", Some(15)),
            ("term", Some(15)),
            ("9", Some(9)),
            ("SIGRTMIN+3", Some(37)),
            ("SIGRTMAX-1", Some(63)),
            ("RTMIN", Some(34)),
            ("RTMINX", None),
            ("0", None),
            ("65", None),
            ("SIGNOTHING", None),
            ("RTMAX-40", Some(24)),
            ("RTMAX-99", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
