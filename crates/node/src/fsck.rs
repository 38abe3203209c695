//! Compares what is on the machine with what ought to be there: things that belong to nobody, and Pods that lack something.
//! Asking the machine and the API server is left to others; the comparison is pure.

pub mod machine;
pub mod repair;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use asb_core::network::ruleset::OF_EVERY_POD;
use serde::Serialize;

use crate::driver::owned_by;

/// What there is of a node on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    pub pods: Vec<PodOnDisk>,
    /// Below the node's own, relative to the root of each hierarchy.
    pub cgroups: BTreeSet<PathBuf>,
    /// Interfaces by the names that Pods' links have.
    pub links: BTreeSet<String>,
    /// Directories, each named by namespace, name and uid of a Pod.
    pub logs: BTreeSet<String>,
    pub volumes: BTreeSet<String>,
    /// Within the node's directory and seen by everybody. There ought to be none.
    pub mounts: BTreeSet<PathBuf>,
    /// Processes that say that they hold a Pod of this node, with its uid.
    pub shims: BTreeMap<i32, String>,
    /// The uids of Pods whose packets rules know, with the sets that have them.
    pub rules: BTreeMap<String, BTreeSet<String>>,
    /// For whom images are kept: a Pod and a container each.
    pub pins: BTreeSet<String>,
    /// Nodes of this machine whose data directories are gone, by their tags.
    pub lost: BTreeSet<String>,
    /// How the names of links begin.
    pub prefix: String,
}

/// The directory of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodOnDisk {
    pub uid: String,
    /// Whether its shim lives.
    pub lives: bool,
    /// What its plan names, once there is one.
    pub cgroup: Option<PathBuf>,
}

/// What ought to be there, as the API server has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub pods: Vec<WantedPod>,
    /// Persistent volumes.
    pub volumes: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedPod {
    pub uid: String,
    pub namespace: String,
    pub name: String,
    /// It is said to run, on this node.
    pub runs: bool,
    pub host_network: bool,
}

/// Something that belongs to nobody.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Stray {
    /// A directory, with all that runs in it.
    Pod {
        uid: String,
        lives: bool,
    },
    Cgroup {
        path: PathBuf,
    },
    Link {
        interface: String,
    },
    Mount {
        path: PathBuf,
    },
    Logs {
        name: String,
    },
    Volume {
        name: String,
    },
    /// One that holds a Pod whose directory is gone.
    Process {
        pid: i32,
        uid: String,
    },
    /// What rules for packets say of a Pod.
    Rules {
        uid: String,
    },
    Pin {
        owner: String,
    },
    /// All that a node of this machine left.
    Node {
        tag: String,
    },
}

/// A Pod that is said to run, and what it has not got.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lack {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub what: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    Directory,
    Shim,
    Link,
    Rules,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub strays: BTreeSet<Stray>,
    pub lacks: BTreeSet<Lack>,
}

impl Report {
    /// What another look says as well: what was only on its way is left out.
    #[must_use]
    pub fn confirmed_by(&self, later: &Self) -> Self {
        Self {
            strays: self.strays.intersection(&later.strays).cloned().collect(),
            lacks: self.lacks.intersection(&later.lacks).cloned().collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.strays.is_empty() && self.lacks.is_empty()
    }
}

impl fmt::Display for Stray {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod { uid, lives: true } => write!(formatter, "Pod {uid}, which runs"),
            Self::Pod { uid, lives: false } => write!(formatter, "the directory of Pod {uid}"),
            Self::Cgroup { path } => write!(formatter, "the cgroup {}", path.display()),
            Self::Link { interface } => write!(formatter, "the link {interface}"),
            Self::Mount { path } => write!(formatter, "the mount on {}", path.display()),
            Self::Logs { name } => write!(formatter, "the logs {name}"),
            Self::Volume { name } => write!(formatter, "the volume {name}"),
            Self::Process { pid, uid } => write!(formatter, "process {pid}, which held Pod {uid}"),
            Self::Rules { uid } => write!(formatter, "what rules for packets say of Pod {uid}"),
            Self::Pin { owner } => write!(formatter, "the image that is kept for {owner}"),
            Self::Node { tag } => {
                write!(formatter, "what node {tag} left on this machine, whose data directory is gone")
            }
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Directory => "directory on this machine",
            Self::Shim => "process that holds it",
            Self::Link => "link to the network",
            Self::Rules => "rules for its packets",
        })
    }
}

pub fn compare(machine: &Machine, wanted: &Wanted) -> Report {
    Report { strays: strays(machine, wanted).collect(), lacks: lacks(machine, wanted).collect() }
}

fn strays(machine: &Machine, wanted: &Wanted) -> impl Iterator<Item = Stray> {
    let uids: BTreeSet<&str> = wanted.pods.iter().map(|pod| pod.uid.as_str()).collect();
    let folders: BTreeSet<&str> = machine.pods.iter().map(|pod| pod.uid.as_str()).collect();
    // What a Pod's directory accounts for goes with that.
    let known: BTreeSet<&str> = uids.union(&folders).copied().collect();
    let is_held = |path: &Path| {
        let mut held = machine.pods.iter().filter_map(|pod| pod.cgroup.as_ref());
        held.any(|cgroup| cgroup.starts_with(path))
    };
    let links: BTreeSet<String> = known.iter().map(|uid| link(&machine.prefix, uid)).collect();
    let mut strays = Vec::new();
    let pods = machine.pods.iter().filter(|pod| !uids.contains(pod.uid.as_str()));
    strays.extend(pods.map(|pod| Stray::Pod { uid: pod.uid.clone(), lives: pod.lives }));
    let cgroups = machine.cgroups.iter().filter(|path| !is_held(path));
    strays.extend(cgroups.map(|path| Stray::Cgroup { path: path.clone() }));
    let loose = machine.links.iter().filter(|interface| !links.contains(*interface));
    strays.extend(loose.map(|interface| Stray::Link { interface: interface.clone() }));
    strays.extend(machine.mounts.iter().map(|path| Stray::Mount { path: path.clone() }));
    let logs = machine.logs.iter().filter(|name| !uids.contains(owner(name)));
    strays.extend(logs.map(|name| Stray::Logs { name: name.clone() }));
    let volumes = machine.volumes.difference(&wanted.volumes);
    strays.extend(volumes.map(|name| Stray::Volume { name: name.clone() }));
    let homeless = machine.shims.iter().filter(|(_, uid)| !folders.contains(uid.as_str()));
    strays.extend(homeless.map(|(pid, uid)| Stray::Process { pid: *pid, uid: uid.clone() }));
    let unknown = machine.rules.keys().filter(|uid| !known.contains(uid.as_str()));
    strays.extend(unknown.map(|uid| Stray::Rules { uid: uid.clone() }));
    let pins = machine.pins.iter().filter(|owner| !known.contains(owned_by(owner)));
    strays.extend(pins.map(|owner| Stray::Pin { owner: owner.clone() }));
    strays.extend(machine.lost.iter().map(|tag| Stray::Node { tag: tag.clone() }));
    strays.into_iter()
}

fn lacks(machine: &Machine, wanted: &Wanted) -> impl Iterator<Item = Lack> {
    wanted.pods.iter().filter(|pod| pod.runs).filter_map(|pod| {
        let on_disk = machine.pods.iter().find(|it| it.uid == pod.uid);
        let what = match on_disk {
            None => Part::Directory,
            Some(on_disk) if !on_disk.lives => Part::Shim,
            Some(_) if pod.host_network => return None,
            Some(_) if !machine.links.contains(&link(&machine.prefix, &pod.uid)) => Part::Link,
            Some(_) if !has_rules(machine, &pod.uid) => Part::Rules,
            Some(_) => return None,
        };
        let WantedPod { namespace, name, uid, .. } = pod.clone();
        Some(Lack { namespace, name, uid, what })
    })
}

/// One that rules know by half can do less than it ought to, or more.
fn has_rules(machine: &Machine, uid: &str) -> bool {
    let sets = machine.rules.get(uid);
    sets.is_some_and(|sets| OF_EVERY_POD.iter().all(|set| sets.contains(*set)))
}

fn link(prefix: &str, uid: &str) -> String {
    asb_core::network::member::interface(prefix, &uid.into())
}

/// The uid is what comes last; neither it nor names have an underscore.
fn owner(logs: &str) -> &str {
    logs.rsplit('_').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_disk(uid: &str, lives: bool) -> PodOnDisk {
        PodOnDisk { uid: uid.to_owned(), lives, cgroup: Some(format!("node/{uid}").into()) }
    }

    fn pod(uid: &str) -> WantedPod {
        let (namespace, name) = ("team".to_owned(), format!("pod-{uid}"));
        WantedPod { uid: uid.to_owned(), namespace, name, runs: true, host_network: false }
    }

    fn sets(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// One Pod with all that belongs to it.
    fn machine() -> Machine {
        Machine {
            pods: vec![on_disk("u1", true)],
            cgroups: ["node/u1".into()].into(),
            links: [link("a1", "u1")].into(),
            logs: ["team_pod-u1_u1".to_owned()].into(),
            volumes: ["pv-1".to_owned()].into(),
            mounts: BTreeSet::new(),
            shims: [(7, "u1".to_owned())].into(),
            rules: [("u1".to_owned(), sets(&OF_EVERY_POD))].into(),
            pins: ["u1.main".to_owned()].into(),
            lost: BTreeSet::new(),
            prefix: "a1".to_owned(),
        }
    }

    fn wanted() -> Wanted {
        Wanted { pods: vec![pod("u1")], volumes: ["pv-1".to_owned()].into() }
    }

    #[test]
    fn a_machine_with_what_it_ought_to_have_is_sound() {
        assert!(compare(&machine(), &wanted()).is_empty());
        assert!(compare(&Machine::default(), &Wanted::default()).is_empty());
    }

    #[test]
    fn everything_of_a_pod_that_nobody_knows_is_found() {
        let strays = compare(&machine(), &Wanted::default()).strays;
        let said: Vec<_> = strays.iter().map(ToString::to_string).collect();
        // Its processes, cgroup, link, rules and images go with its directory.
        assert_eq!(said, ["Pod u1, which runs", "the logs team_pod-u1_u1", "the volume pv-1"]);
    }

    #[test]
    fn what_has_lost_its_directory_is_found_by_itself() {
        let lost = Machine { pods: Vec::new(), mounts: ["/data/x".into()].into(), ..machine() };
        let report = compare(&lost, &Wanted { pods: Vec::new(), ..wanted() });
        let said: Vec<_> = report.strays.iter().map(ToString::to_string).collect();
        let link = format!("the link {}", link("a1", "u1"));
        let rest = [
            "process 7, which held Pod u1",
            "what rules for packets say of Pod u1",
            "the image that is kept for u1.main",
        ];
        let first = ["the cgroup node/u1", &link, "the mount on /data/x", "the logs team_pod-u1_u1"];
        assert_eq!(said, [&first[..], &rest].concat());
    }

    #[test]
    fn a_node_whose_directory_is_gone_is_found() {
        let left = Machine { lost: ["3f2c".to_owned()].into(), ..machine() };
        assert_eq!(compare(&left, &wanted()).strays, [Stray::Node { tag: "3f2c".to_owned() }].into());
    }

    #[test]
    fn a_pod_that_runs_only_on_paper_is_found() {
        let lacking = |machine: &Machine| compare(machine, &wanted()).lacks.first().map(|lack| lack.what);
        assert_eq!(lacking(&machine()), None);
        assert_eq!(lacking(&Machine { links: BTreeSet::new(), ..machine() }), Some(Part::Link));
        assert_eq!(lacking(&Machine { rules: BTreeMap::new(), ..machine() }), Some(Part::Rules));
        let half = [("u1".to_owned(), sets(&OF_EVERY_POD[1..]))];
        assert_eq!(lacking(&Machine { rules: half.into(), ..machine() }), Some(Part::Rules));
        assert_eq!(lacking(&Machine { pods: vec![on_disk("u1", false)], ..machine() }), Some(Part::Shim));
        assert_eq!(lacking(&Machine { pods: Vec::new(), ..machine() }), Some(Part::Directory));
    }

    #[test]
    fn a_pod_that_has_not_begun_or_shares_the_hosts_network_lacks_nothing() {
        let bare = Machine { pods: Vec::new(), ..machine() };
        let waiting = Wanted { pods: vec![WantedPod { runs: false, ..pod("u1") }], ..wanted() };
        assert!(compare(&bare, &waiting).lacks.is_empty());
        let unlinked = Machine { links: BTreeSet::new(), rules: BTreeMap::new(), ..machine() };
        let on_host = Wanted { pods: vec![WantedPod { host_network: true, ..pod("u1") }], ..wanted() };
        assert!(compare(&unlinked, &on_host).is_empty());
    }

    #[test]
    fn what_a_second_look_does_not_see_was_on_its_way() {
        let first = compare(&machine(), &Wanted::default());
        assert!(first.confirmed_by(&compare(&machine(), &wanted())).is_empty());
        assert_eq!(first.confirmed_by(&first), first);
    }
}
