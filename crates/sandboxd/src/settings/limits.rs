//! How much of everything: one table of what can be set, so that no limit is without a flag and a word about it.

use std::time::Duration;

use crate::processes::Bounds;

/// What can be set, and what it is if nobody does.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) processes: u64,
    pub(crate) argument_bytes: u64,
    pub(crate) output_kept: u64,
    pub(crate) output_bytes: u64,
    pub(crate) finished_kept: u64,
    pub(crate) finished_seconds: u64,
    pub(crate) execute_seconds: u64,
    pub(crate) kill_seconds: u64,
    pub(crate) connections: u64,
    pub(crate) streams: u64,
    pub(crate) header_bytes: u64,
    pub(crate) request_bytes: u64,
    pub(crate) upload_bytes: u64,
    pub(crate) idle_seconds: u64,
    pub(crate) stall_seconds: u64,
    pub(crate) transfers: u64,
    pub(crate) archive_entries: u64,
    pub(crate) entries: u64,
    pub(crate) watchers: u64,
    pub(crate) watched: u64,
}

pub(crate) struct Limit {
    pub(crate) flag: &'static str,
    default: u64,
    meaning: &'static str,
    field: fn(&mut Limits) -> &mut u64,
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

#[rustfmt::skip]
pub(crate) const TABLE: &[Limit] = &[
    Limit { flag: "--max-processes", default: 256, meaning: "processes that run at a time", field: |limits| &mut limits.processes },
    Limit { flag: "--max-argument-bytes", default: MIB, meaning: "arguments and variables of one process", field: |limits| &mut limits.argument_bytes },
    Limit { flag: "--output-kept", default: MIB, meaning: "bytes of its output that a process keeps for those who come late", field: |limits| &mut limits.output_kept },
    Limit { flag: "--max-output-bytes", default: 16 * MIB, meaning: "output of a command that is answered at once", field: |limits| &mut limits.output_bytes },
    Limit { flag: "--finished-kept", default: 32, meaning: "processes that are remembered after their end", field: |limits| &mut limits.finished_kept },
    Limit { flag: "--finished-seconds", default: 600, meaning: "how long they are", field: |limits| &mut limits.finished_seconds },
    Limit { flag: "--execute-seconds", default: 300, meaning: "how long POST /execute runs a command that says nothing else", field: |limits| &mut limits.execute_seconds },
    Limit { flag: "--kill-seconds", default: 2, meaning: "between SIGTERM and SIGKILL when sandboxd ends", field: |limits| &mut limits.kill_seconds },
    Limit { flag: "--max-connections", default: 256, meaning: "connections at a time", field: |limits| &mut limits.connections },
    Limit { flag: "--max-streams", default: 64, meaning: "requests at a time on one connection of HTTP/2", field: |limits| &mut limits.streams },
    Limit { flag: "--max-header-bytes", default: 32 * KIB, meaning: "the head of a request", field: |limits| &mut limits.header_bytes },
    Limit { flag: "--max-request-bytes", default: 4 * MIB, meaning: "a body of JSON, or a message of gRPC", field: |limits| &mut limits.request_bytes },
    Limit { flag: "--max-upload-bytes", default: 4 * GIB, meaning: "a file or an archive that is written", field: |limits| &mut limits.upload_bytes },
    Limit { flag: "--idle-seconds", default: 60, meaning: "until a connection must have sent the head of its next request", field: |limits| &mut limits.idle_seconds },
    Limit { flag: "--stall-seconds", default: 60, meaning: "until the next bytes of a body must have come", field: |limits| &mut limits.stall_seconds },
    Limit { flag: "--max-transfers", default: 8, meaning: "archives, copies and removals at a time", field: |limits| &mut limits.transfers },
    Limit { flag: "--max-archive-entries", default: 1_000_000, meaning: "entries of an archive that is written", field: |limits| &mut limits.archive_entries },
    Limit { flag: "--max-entries", default: 50_000, meaning: "entries of a directory that are listed", field: |limits| &mut limits.entries },
    Limit { flag: "--max-watchers", default: 32, meaning: "watches at a time", field: |limits| &mut limits.watchers },
    Limit { flag: "--max-watched", default: 2048, meaning: "directories of one watch", field: |limits| &mut limits.watched },
];

impl Default for Limits {
    fn default() -> Self {
        let mut limits = Self {
            processes: 0,
            argument_bytes: 0,
            output_kept: 0,
            output_bytes: 0,
            finished_kept: 0,
            finished_seconds: 0,
            execute_seconds: 0,
            kill_seconds: 0,
            connections: 0,
            streams: 0,
            header_bytes: 0,
            request_bytes: 0,
            upload_bytes: 0,
            idle_seconds: 0,
            stall_seconds: 0,
            transfers: 0,
            archive_entries: 0,
            entries: 0,
            watchers: 0,
            watched: 0,
        };
        for limit in TABLE {
            *(limit.field)(&mut limits) = limit.default;
        }
        limits
    }
}

impl Limits {
    pub(super) fn set(&mut self, flag: &str, value: &str) -> Result<(), String> {
        let Some(limit) = TABLE.iter().find(|limit| limit.flag == flag) else {
            return Err(format!("`{flag}` is no limit"));
        };
        let number = value.parse().ok().filter(|number: &u64| *number > 0);
        *(limit.field)(self) = number.ok_or_else(|| format!("`{flag}` is a number from 1, not {value:?}"))?;
        Ok(())
    }

    pub(crate) fn processes(&self) -> Bounds {
        Bounds {
            running: size(self.processes),
            output: size(self.output_kept),
            finished: size(self.finished_kept),
            finished_for: Duration::from_secs(self.finished_seconds),
        }
    }
}

pub(crate) fn size(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// A line for each.
pub(crate) fn help() -> String {
    let line = |limit: &Limit| format!("  {:<24} {} [{}]\n", limit.flag, limit.meaning, limit.default);
    TABLE.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_a_field_of_its_own() {
        for limit in TABLE {
            let mut limits = Limits::default();
            limits.set(limit.flag, "77").unwrap();
            let mut changed = 0;
            let mut defaults = Limits::default();
            for other in TABLE {
                changed += usize::from(*(other.field)(&mut limits) != *(other.field)(&mut defaults));
            }
            assert_eq!((*(limit.field)(&mut limits), changed), (77, 1), "{}", limit.flag);
        }
    }

    #[test]
    fn no_limit_is_left_at_nothing() {
        let mut limits = Limits::default();
        assert!(TABLE.iter().all(|limit| *(limit.field)(&mut limits) > 0));
    }
}
