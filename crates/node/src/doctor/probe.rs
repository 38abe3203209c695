//! The process that tries: it makes namespaces, mounts, cgroups and rules as for a Pod, all of which end with it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use asb_core::network::cidr::Cidr;
use asb_core::network::ruleset::{self, Snapshot, compile};
use asb_core::object::Uid;
use nix::sched::{CloneFlags, unshare};

use super::{Check, Finding};
use crate::error::full;
use crate::network::{Kernel, Options};
use crate::shim::trial::{self, Namespaces};

/// What follows the name of the program, for this.
pub const WORD: &str = "probe";

/// What is tried here.
pub const CHECKS: [Check; 5] =
    [Check::Namespaces, Check::Layers, Check::Cgroups, Check::Seccomp, Check::Network];

/// Tries everything in the directory that the argument names, and writes what came of it. To be called before any thread
/// exists.
pub fn main(arguments: impl IntoIterator<Item = String>) -> ExitCode {
    let Some(folder) = arguments.into_iter().next() else { return ExitCode::from(2) };
    let findings = findings(Path::new(&folder));
    let written = serde_json::to_vec(&findings).map_err(io::Error::from);
    match written.and_then(|bytes| io::stdout().write_all(&bytes)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn findings(folder: &Path) -> Vec<Finding> {
    let namespaces = trial::namespaces();
    let none = |_: &io::Error| "needs a user namespace, and none can be made".to_owned();
    let held = namespaces.as_ref().map_err(none);
    // The network last: what speaks with the kernel about it has threads.
    vec![
        finding(Check::Cgroups, trial::limits().map(|()| cgroups()).map_err(|error| full(&error))),
        finding(
            Check::Seccomp,
            trial::filter()
                .map(|()| "the filter of system calls holds".to_owned())
                .map_err(|error| full(&error)),
        ),
        finding(Check::Layers, held.clone().and_then(|namespaces| layers(folder, namespaces))),
        finding(Check::Network, held.and_then(network)),
        finding(
            Check::Namespaces,
            namespaces
                .as_ref()
                .map(|_| "each Pod can have users of its own".to_owned())
                .map_err(|error| full(error)),
        ),
    ]
}

fn finding(check: Check, tried: Result<String, String>) -> Finding {
    Finding::of(check, tried)
}

fn cgroups() -> String {
    let kind = if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        "version 2"
    } else if Path::new("/sys/fs/cgroup/unified").exists() {
        "version 1 beside version 2"
    } else {
        "version 1"
    };
    format!("cpu, memory and pids can be limited ({kind})")
}

fn layers(folder: &Path, namespaces: &Namespaces) -> Result<String, String> {
    let trial =
        Trial::begin(folder).map_err(|error| format!("cannot write to {}: {error}", folder.display()))?;
    trial::layers(&trial.0, namespaces).map_err(|error| full(&error))?;
    Ok(format!("layers with mapped ids can be stacked in {}", folder.display()))
}

/// A directory that goes with this value.
struct Trial(PathBuf);

impl Trial {
    fn begin(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!(".asb-trial-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        // It is empty but for a few directories; there is nobody to tell.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A link and rules as a Pod has them, in network namespaces that nobody else is in.
fn network(namespaces: &Namespaces) -> Result<String, String> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| format!("cannot make a network namespace: {error}"))?;
    let node = Ipv4Addr::new(10, 0, 0, 1);
    let options = Options { table: "asb-trial".to_owned(), prefix: "atry".to_owned(), node };
    let settings = ruleset::Settings {
        prefix: options.prefix.clone(),
        ..ruleset::Settings::new(Cidr::new(node, 24), node)
    };
    let snapshot = Snapshot {
        settings: &settings,
        members: &[],
        namespaces: &BTreeMap::new(),
        policies: &[],
        frontends: &[],
    };
    let mut kernel = Kernel::open(options).map_err(|error| full(&error))?;
    kernel.prepare().map_err(|error| full(&error))?;
    kernel.apply(compile(snapshot).rules).map_err(|error| full(&error))?;
    let pod = namespaces.network.try_clone().map_err(|error| full(&error))?;
    kernel.attach(&Uid::from("trial"), Ipv4Addr::new(10, 0, 0, 2), &pod).map_err(|error| full(&error))?;
    Ok("links, nf_tables rules and address translation can be made".to_owned())
}
