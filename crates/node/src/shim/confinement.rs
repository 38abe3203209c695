//! The last steps before a program of a container runs, the same for its first process and for those executed in it later:
//! who it is, what it may do, and nothing else that it could hold on to.

use std::convert::Infallible;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::execve;
use rustix::fs::Mode;
use rustix::io::Errno as SystemError;
use rustix::process::{DumpableBehavior, chdir, getcwd, set_dumpable_behavior, umask};
use rustix::thread::{
    CapabilitySets, Gid, Uid, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_keep_capabilities, set_no_new_privs,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::plan::{Process, Seccomp, User};
use super::{capabilities, seccomp};
use crate::sys::processes as sys;

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot {0}")]
    Step(&'static str, #[source] io::Error),
    #[error(transparent)]
    Capability(#[from] capabilities::Unknown),
    #[error(transparent)]
    Seccomp(#[from] seccomp::Error),
    #[error("the working directory {0} is outside of the container")]
    Outside(PathBuf),
    #[error("the working directory {path} cannot be entered")]
    WorkingDirectory { path: PathBuf, source: io::Error },
    #[error("exec: {program:?}: {problem}")]
    Execute { program: String, problem: String },
}

impl Error {
    /// The Pod asked for a program or place that is not there, and not: isolation failed.
    pub(super) fn is_the_programs(&self) -> bool {
        matches!(self, Error::Execute { .. } | Error::WorkingDirectory { .. } | Error::Outside(_))
    }

    /// With all that led to it.
    pub(super) fn full(&self) -> String {
        crate::error::full(self)
    }
}

/// The number of the descriptor that is left open beyond the three: who waits for the start reads from its other end.
const REPORT: i32 = 3;

/// Becomes the process of the plan. Returns only if that fails, with the descriptor to tell it through.
pub(super) fn become_program(process: &Process, report: &impl AsFd) -> (Error, Option<OwnedFd>) {
    match sys::move_descriptor(report, REPORT) {
        Err(source) => (Error::Step("keep the descriptor for reports", source), None),
        Ok(report) => match confined(process) {
            Err(error) => (error, Some(report)),
            Ok(never) => match never {},
        },
    }
}

fn confined(process: &Process) -> Result<Infallible, Error> {
    // Nobody in the container may look into us before we are one of them.
    step("become undumpable", set_dumpable_behavior(DumpableBehavior::NotDumpable))?;
    // Before the working directory is entered: a path through /proc/self/fd must not find a way out.
    sys::close_from(REPORT + 1).map_err(|error| Error::Step("close descriptors", error))?;
    for limit in &process.rlimits {
        sys::set_limit(limit.resource, limit.soft, limit.hard)
            .map_err(|error| Error::Step("set a resource limit", error))?;
    }
    leave_keys()?;
    let entered = chdir(&process.cwd);
    drop_privileges(process)?;
    enter(&process.cwd, entered)?;
    umask(Mode::from_raw_mode(0o022));
    confine(process)?;
    sys::reset_signals().map_err(|error| Error::Step("reset signals", error))?;
    execute(process)
}

fn leave_keys() -> Result<(), Error> {
    match sys::new_session_keyring() {
        // A kernel without keys has none to leak.
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
        other => other.map_err(|error| Error::Step("leave the session's keys", error)),
    }
}

/// Users and groups, with all capabilities kept until the filter is in force.
fn drop_privileges(process: &Process) -> Result<(), Error> {
    let allowed = capabilities::set(&process.capabilities)?;
    for capability in capabilities::each().filter(|capability| !allowed.contains(*capability)) {
        match remove_capability_from_bounding_set(capability) {
            // Beyond what this kernel knows.
            Err(SystemError::INVAL) => {}
            other => step("shrink the bounding set", other)?,
        }
    }
    let User { uid, gid, groups } = &process.user;
    let (uid, gid) = (Uid::from_raw(*uid), Gid::from_raw(*gid));
    let groups: Vec<Gid> = groups.iter().copied().map(Gid::from_raw).collect();
    step("keep capabilities for a moment", set_keep_capabilities(true))?;
    step("set the groups", set_thread_groups(&groups))?;
    step("set the group", set_thread_res_gid(gid, gid, gid))?;
    step("set the user", set_thread_res_uid(uid, uid, uid))?;
    step("let go of capabilities", set_keep_capabilities(false))?;
    step("clear ambient capabilities", clear_ambient_capability_set())
}

/// As root of the container if that works, else as the user: either may be the one who can.
fn enter(directory: &Path, entered: Result<(), SystemError>) -> Result<(), Error> {
    if entered.is_err() {
        chdir(directory)
            .map_err(|error| Error::WorkingDirectory { path: directory.to_owned(), source: error.into() })?;
    }
    let outside = || Error::Outside(directory.to_owned());
    // The kernel says `(unreachable)` of what the root does not contain.
    match getcwd(Vec::new()) {
        Ok(path) if path.as_bytes().starts_with(b"/") => Ok(()),
        _ => Err(outside()),
    }
}

/// No new privileges, the filter, and the capabilities, so that each is there before the right to set it goes.
fn confine(process: &Process) -> Result<(), Error> {
    let allowed = capabilities::set(&process.capabilities)?;
    if process.no_new_privileges {
        step("forbid new privileges", set_no_new_privs(true))?;
    }
    if process.seccomp == Seccomp::Default {
        let permitted = step("read capabilities", capabilities(None))?.permitted;
        let raised = CapabilitySets { effective: permitted, permitted, inheritable: permitted & !permitted };
        step("raise capabilities for the filter", set_capabilities(None, raised))?;
        seccomp::confine(allowed)?;
    }
    let none = allowed & !allowed;
    let last = CapabilitySets { effective: allowed, permitted: allowed, inheritable: none };
    step("set capabilities", set_capabilities(None, last))
}

fn execute(process: &Process) -> Result<Infallible, Error> {
    let program = process.args.first().map_or("", String::as_str);
    let failed = |problem: &str| Error::Execute { program: program.to_owned(), problem: problem.to_owned() };
    let arguments = strings(&process.args).ok_or_else(|| failed("arguments contain a zero byte"))?;
    let environment = with_home(&process.env, process.user.uid);
    let environment = strings(&environment).ok_or_else(|| failed("the environment contains a zero byte"))?;
    let mut problem = if program.contains('/') {
        "no such file or directory"
    } else {
        "executable file not found in $PATH"
    };
    for candidate in candidates(program, &process.env) {
        let Ok(path) = CString::new(candidate) else { continue };
        problem = match execve(&path, &arguments, &environment) {
            Ok(never) => return Ok(never),
            Err(Errno::ENOENT | Errno::ENOTDIR) => continue,
            Err(Errno::EACCES) => "permission denied",
            Err(Errno::ENOEXEC) => "exec format error",
            Err(other) => return Err(failed(other.desc())),
        };
    }
    Err(failed(problem))
}

fn strings(texts: &[String]) -> Option<Vec<CString>> {
    texts.iter().map(|text| CString::new(text.as_str()).ok()).collect()
}

/// Where the program may be: as it is named, or along the container's PATH.
fn candidates(program: &str, environment: &[String]) -> Vec<String> {
    if program.is_empty() {
        return Vec::new();
    }
    if program.contains('/') {
        return vec![program.to_owned()];
    }
    let path = environment.iter().rev().find_map(|variable| variable.strip_prefix("PATH="));
    path.unwrap_or(DEFAULT_PATH).split(':').map(|directory| format!("{directory}/{program}")).collect()
}

const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// As engines do: the user's home of the container's own list of users.
fn with_home(environment: &[String], uid: u32) -> Vec<String> {
    let mut environment = environment.to_vec();
    if !environment.iter().any(|variable| variable.starts_with("HOME=")) {
        let mut users = String::new();
        // A list that is not text, not there or too long knows nobody.
        let _ = File::open("/etc/passwd").and_then(|file| file.take(1 << 20).read_to_string(&mut users));
        environment.push(format!("HOME={}", home(&users, uid).unwrap_or("/")));
    }
    environment
}

fn home(users: &str, uid: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        (fields.next()?.parse() == Ok(uid)).then(|| fields.nth(2)).flatten()
    })
}

fn step<T>(what: &'static str, result: Result<T, SystemError>) -> Result<T, Error> {
    result.map_err(|error| Error::Step(what, error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_looked_for_along_the_last_path() {
        let environment = ["PATH=/a".to_owned(), "X=1".to_owned(), "PATH=/b:/c".to_owned()];
        assert_eq!(candidates("tool", &environment), ["/b/tool", "/c/tool"]);
        assert_eq!(candidates("./tool", &environment), ["./tool"]);
        assert!(candidates("", &environment).is_empty());
    }

    #[test]
    fn the_home_is_the_one_of_the_users_line() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nme:x:1000:1000::/home/user:/bin/sh\n";
        assert_eq!(home(users, 1000), Some("/home/user"));
        assert_eq!(home(users, 7), None);
    }
}
