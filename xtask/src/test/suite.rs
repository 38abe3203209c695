//! The suites: what each needs, and how it is run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Effort;
use super::embedded::{self, Embedded, Pods};
use super::leftovers::Traces;
use super::monitoring;
use super::own_node;
use super::own_package;
use super::residue::Residue;
use crate::image::{self, Profile};
use crate::kube::{self, Cluster, Options};
use crate::parts::{self, clients, debian};
use crate::{deny, terminal, tidy, workspace};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Suite {
    /// Source formatting
    Format,
    /// Clippy, with warnings denied
    Lint,
    /// Layers, house style, documents, links, generated files
    Tidy,
    /// Licences, sources and versions of what we depend on
    Dependencies,
    /// Everything that needs nothing but Rust
    Unit,
    /// The alerting rules, tried with Prometheus' promtool
    Monitoring,
    /// The embedded API server, tried with kubectl and the client libraries of Go, Python and Rust
    Clients,
    /// The embedded API server: the answers of a real one, recorded, and the suites that run on any
    Embedded,
    /// Pulling images from a real registry; needs root
    Images,
    /// Our own node: real containers for the operator's suite and for people's sessions; needs root
    OwnNode,
    /// SDKs and tools against `asb up`: those that people already use, unmodified, and our own; needs root
    Sdks,
    /// The node of `asb up`: what Pods say, seen in containers that run; needs root
    Pods,
    /// Attacks from inside of Pods on the node of `asb up`, each of which must fail; needs root
    Escapes,
    /// The node of `asb up`: killed at random moments, rebooted, and short of disk, memory and processes; needs root
    Torture,
    /// Our definitions and the test support against a real kube-apiserver
    Kubernetes,
    /// A real node: Pods, DNS, volumes, webhooks, gVisor, and the operator installed on it
    Node,
}

impl Suite {
    /// In the order in which they run.
    pub(super) const ALL: [Self; 16] = [
        Self::Format,
        Self::Lint,
        Self::Tidy,
        Self::Dependencies,
        Self::Unit,
        Self::Monitoring,
        Self::Clients,
        Self::Embedded,
        Self::Images,
        Self::OwnNode,
        Self::Sdks,
        Self::Pods,
        Self::Escapes,
        Self::Torture,
        Self::Kubernetes,
        Self::Node,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Lint => "lint",
            Self::Tidy => "tidy",
            Self::Dependencies => "dependencies",
            Self::Unit => "unit",
            Self::Monitoring => "monitoring",
            Self::Clients => "clients",
            Self::Embedded => "embedded",
            Self::Images => "images",
            Self::OwnNode => "own-node",
            Self::Sdks => "sdks",
            Self::Pods => "pods",
            Self::Escapes => "escapes",
            Self::Torture => "torture",
            Self::Kubernetes => "kubernetes",
            Self::Node => "node",
        }
    }

    /// Obtains what the suite needs from outside. An error means that it cannot be had here.
    pub(super) fn prepare(self) -> Result<()> {
        match self {
            Self::Dependencies => deny::program().map(drop),
            Self::Monitoring => monitoring::promtool().map(drop),
            Self::Clients => clients::obtain().map(drop),
            Self::Kubernetes => clients::python()
                .and_then(|_| kube::prepare(&self.cluster()))
                .and_then(|()| part("helm"))
                .map(drop),
            Self::Node => clients::obtain()
                .and_then(|_| sdks())
                .and_then(|_| kube::prepare(&self.cluster()))
                .and_then(|()| part("helm"))
                .map(drop),
            Self::Embedded => part("kubectl").and_then(|_| clients::python()).map(drop),
            Self::Images => registry().map(drop),
            Self::OwnNode => {
                own_node::prepare().and_then(|()| clients::obtain()).and_then(|_| part("runsc")).map(drop)
            }
            Self::Sdks => own_node::prepare().and_then(|()| sdks()).map(drop),
            Self::Pods | Self::Escapes => own_node::prepare().and_then(|()| part("kubectl")).map(drop),
            Self::Torture => own_node::prepare(),
            Self::Format | Self::Lint | Self::Tidy | Self::Unit => Ok(()),
        }
    }

    pub(super) fn run(self, effort: Effort) -> Result<()> {
        match self {
            Self::Format => cargo(&["fmt", "--all", "--check"]),
            Self::Lint => {
                clippy(&["--workspace"])?;
                // Without what can be left out: nothing else builds the program so.
                clippy(&["--package", "asb", "--no-default-features"])
            }
            Self::Tidy => tidy::run(),
            Self::Dependencies => deny::settled(),
            Self::Unit => {
                tests(&["--workspace", "--exclude", "asb-tests"], effort, &[])?;
                tests(&["--package", "asb-tests", "--lib"], effort, &[])
            }
            Self::Monitoring => monitoring::run(),
            Self::Clients => self.against_the_embedded(effort, &clients::obtain()?),
            Self::Embedded => {
                let programs =
                    [("ASB_TEST_KUBECTL", part("kubectl")?), ("ASB_TEST_PYTHON", clients::python()?)];
                self.against_the_embedded(effort, &programs)
            }
            Self::Images => self.test(effort, &[("ASB_TEST_REGISTRY", registry()?)]),
            Self::OwnNode => self.against_our_node(effort),
            Self::Sdks => self.against_all_of_it(effort),
            Self::Pods | Self::Escapes => self.on_a_node_of_ours(effort),
            Self::Torture => self.torture(effort),
            Self::Kubernetes | Self::Node => self.against_a_cluster(effort),
        }
    }

    /// Named after this process, so that runs side by side do not meet.
    fn cluster(self) -> Options {
        let name = format!("{}-{}", self.name(), std::process::id());
        Options { name, node: self == Self::Node, durable: false, use_existing: false }
    }

    /// The test programs of the `asb-tests` package that this suite is made of.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Clients => &["kubectl", "libraries", "streaming"],
            Self::Embedded => &[
                "commands",
                "definitions",
                "differential",
                "documents",
                "fake_kubelet",
                "hostile",
                "lifecycle",
                "operator",
                "rights",
                "subresources",
                "traces",
            ],
            Self::Images => &["images"],
            Self::OwnNode => &["operator", "sessions"],
            Self::Sdks => &["sdks"],
            Self::Pods => &["pods"],
            Self::Escapes => &["escapes"],
            Self::Torture => &["torture"],
            Self::Kubernetes => &[
                "conversion",
                "definitions",
                "differential",
                "documents",
                "fake_kubelet",
                "installation",
                "manifests",
                "operator",
                "replicas",
                "rights",
                "subresources",
            ],
            Self::Node => &["in_cluster", "node", "sessions"],
            _ => &[],
        }
    }

    /// A cluster of the suite's own must leave nothing behind; one that was given stays as it is.
    fn against_a_cluster(self, effort: Effort) -> Result<()> {
        cargo(&["build", "--locked", "--quiet", "--package", "asb"])?;
        let cluster = kube::borrow(&self.cluster())?;
        let tested = self.against(&cluster, effort);
        if !cluster.is_borrowed() {
            return tested;
        }
        let traces = Traces::of(&cluster.name, &cluster.kubeconfig)?;
        drop(cluster);
        // What was left behind matters even more where the tests failed.
        traces.must_be_gone().and(tested)
    }

    fn against_the_embedded(self, effort: Effort, programs: &[(&'static str, PathBuf)]) -> Result<()> {
        cargo(&["build", "--locked", "--quiet", "--package", "asb"])?;
        let server = Embedded::start(&embedded::program(), Pods::Left)?;
        let tested = self.test(effort, &[server.environment().as_slice(), programs].concat());
        // How it ends matters too, unless it was a test that brought it down.
        tested.and_then(|()| server.stop())
    }

    /// When the last test is over nothing of its Pods may be left on the machine.
    fn against_our_node(self, effort: Effort) -> Result<()> {
        cargo(&["build", "--locked", "--quiet", "--package", "asb"])?;
        let program = embedded::program();
        let server = Embedded::start(&program, Pods::Run { gvisor: &part("runsc")? })?;
        own_node::load_images(&program, server.directory())?;
        let mut environment = server.environment().to_vec();
        environment.extend(clients::obtain()?);
        environment.push(("ASB_TEST_CONTAINERS", server.directory().to_owned()));
        let tested = self.test(effort, &environment);
        let cleared = Residue::of(server.directory())?.must_go();
        // What was left behind matters even more where the tests failed.
        cleared.and(tested).and_then(|()| server.stop())
    }

    /// As people have it: the operator, the router and the node of `asb up`.
    fn against_all_of_it(self, effort: Effort) -> Result<()> {
        cargo(&["build", "--locked", "--quiet", "--package", "asb"])?;
        let program = embedded::program();
        let server = Embedded::start(&program, Pods::Whole)?;
        own_node::load_images(&program, server.directory())?;
        own_node::load_execd(&program, server.directory())?;
        own_node::load_package(&program, server.directory())?;
        let mut environment = server.environment().to_vec();
        environment.extend(sdks()?);
        environment.push(("ASB_TEST_DATA_DIR", server.directory().to_owned()));
        let program = ["--package", "asb-tests", "--test", self.name(), "--", "--skip", "cluster::"];
        let tested = tests(&program, effort, &environment);
        let cleared = Residue::of(server.directory())?.must_go();
        cleared.and(tested).and_then(|()| server.stop())
    }

    /// Once as it comes, once with everything allowed, and once for what would disturb others. A machine has one node at a
    /// time.
    fn on_a_node_of_ours(self, effort: Effort) -> Result<()> {
        cargo(&["build", "--locked", "--quiet", "--package", "asb"])?;
        let kubectl = [("ASB_TEST_KUBECTL", part("kubectl")?)];
        let rounds = if self == Self::Pods { &ROUNDS[..] } else { &ROUNDS[..2] };
        for round in rounds {
            let server = Embedded::start(&embedded::program(), Pods::Told(round.node))?;
            let environment = [server.environment().as_slice(), &kubectl].concat();
            let program = ["--package", "asb-tests", "--test", self.name(), "--"];
            let chosen = [&program, round.chosen, &["--test-threads", round.threads]].concat();
            tests(&chosen, effort, &environment).and_then(|()| server.stop())?;
        }
        Ok(())
    }

    /// One test at a time: each is about a whole machine. Whoever wants the same chances again names the seed.
    fn torture(self, effort: Effort) -> Result<()> {
        cargo(&["build", "--locked", "--quiet", "--package", "asb"])?;
        let seed = std::env::var("ASB_TEST_SEED").ok().filter(|seed| !seed.is_empty()).unwrap_or_else(seed);
        terminal::note(&format!("ASB_TEST_SEED={seed}"));
        let environment = [("ASB_TEST_SEED", seed.into()), ("ASB_TEST_DEBIAN", debian::NODE.obtain()?)];
        let arguments = ["--package", "asb-tests", "--test", self.programs()[0], "--", "--test-threads", "1"];
        tests(&arguments, effort, &environment)
    }

    fn against(self, cluster: &Cluster, effort: Effort) -> Result<()> {
        if self == Self::Node {
            let gvisor = ["--package", "asb-node", "--test", "shim", "--", "gvisor"];
            tests(&gvisor, effort, &[("ASB_TEST_RUNSC", part("runsc")?)])?;
            load_image(cluster)?;
        }
        let mut environment = cluster.environment().to_vec();
        environment.push(("ASB_TEST_HELM", part("helm")?));
        match self {
            Self::Kubernetes => environment.push(("ASB_TEST_PYTHON", clients::python()?)),
            _ => environment.extend(clients::obtain()?),
        }
        self.test(effort, &environment)?;
        if self == Self::Node { on_a_cluster(cluster, effort, environment) } else { Ok(()) }
    }

    fn test(self, effort: Effort, environment: &[(&str, PathBuf)]) -> Result<()> {
        let mut arguments = vec!["--package", "asb-tests"];
        arguments.extend(self.programs().iter().flat_map(|program| ["--test", program]));
        tests(&arguments, effort, environment)
    }
}

/// All that takes a layer of isolation away.
const ALLOWED: [&str; 4] = [
    "--node-name",
    "localhost",
    "--allow",
    "privileged,privilege-escalation,capabilities,host-network,host-ipc,host-path,seccomp-unconfined,unmasked-proc,\
     unsafe-sysctls",
];

/// Tests name the Node.
pub(crate) const NAMED: [&str; 2] = ["--node-name", "localhost"];

/// Tokens are replaced before anybody gets tired of waiting for it.
const HASTY: [&str; 4] = ["--node-name", "localhost", "--renew-tokens-after", "3s"];

/// Most of the time these tests wait.
pub(crate) const THREADS: &str = "8";

/// Tests that want the same of their node.
struct Round {
    node: &'static [&'static str],
    chosen: &'static [&'static str],
    threads: &'static str,
}

const ROUNDS: [Round; 3] = [
    Round { node: &NAMED, chosen: &["--skip", "allowed::", "--skip", "alone::"], threads: THREADS },
    Round { node: &ALLOWED, chosen: &["allowed::"], threads: THREADS },
    Round { node: &HASTY, chosen: &["alone::"], threads: "1" },
];

/// Another one for each run.
fn seed() -> String {
    std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id()).to_string()
}

/// What the SDKs need: themselves, what our own needs, and kubectl, which they call.
fn sdks() -> Result<[(&'static str, PathBuf); 6]> {
    Ok([
        ("ASB_TEST_KUBECTL", part("kubectl")?),
        ("ASB_TEST_SDK", clients::sdk()?),
        ("ASB_TEST_SDK_0_4", clients::sdk_0_4()?),
        ("ASB_TEST_GO_SDK", clients::go_sdk()?),
        ("ASB_TEST_OPENSANDBOX", clients::opensandbox()?),
        ("ASB_TEST_OWN_SDK", clients::own_sdk()?),
    ])
}

/// The SDKs once more. Those whose tunnel looks for a router beside the claim find none there; what takes the router away from others
/// comes last.
fn on_a_cluster(
    cluster: &Cluster,
    effort: Effort,
    mut environment: Vec<(&'static str, PathBuf)>,
) -> Result<()> {
    give(cluster, own_package::write)?;
    environment.extend(sdks()?);
    let program = ["--package", "asb-tests", "--test", "sdks", "--"];
    let most = ["python::every_public", "go::every_public_method_works_by", "own::every_public", "rights::"];
    tests(&[&program, &most[..]].concat(), effort, &environment)?;
    tests(&[&program, &["cluster::"][..]].concat(), effort, &environment)
}

/// A program at its pinned version.
pub(crate) fn part(name: &str) -> Result<PathBuf> {
    parts::obtain(&[name])?.remove(name).with_context(|| format!("{name} was asked for"))
}

/// A registry, which Debian has as a program.
fn registry() -> Result<PathBuf> {
    Ok(debian::REGISTRY.obtain()?.join("usr/bin/docker-registry"))
}

/// Gives the node the image of the operator, built as quickly as it can be.
fn load_image(cluster: &Cluster) -> Result<()> {
    give(cluster, |archive| image::build(Profile::Dev, archive).map(drop))
}

/// Gives the node an image, from the archive that `write` makes.
fn give(cluster: &Cluster, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let folder = workspace::cache()?.join("images");
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let archive = folder.join(format!("{}.tar", cluster.name));
    write(&archive)?;
    let loaded = kube::load(&cluster.name, &archive);
    fs::remove_file(&archive).with_context(|| format!("remove {}", archive.display()))?;
    loaded
}

fn tests(arguments: &[&str], effort: Effort, environment: &[(&str, PathBuf)]) -> Result<()> {
    let mut command = Command::new("cargo");
    command.args(["test", "--locked", "--quiet", "--no-fail-fast"]).args(arguments);
    command.env("PROPTEST_CASES", effort.cases()).envs(environment.iter().map(|(name, value)| (name, value)));
    finish(command)
}

fn clippy(packages: &[&str]) -> Result<()> {
    let rest = ["--all-targets", "--locked", "--quiet", "--", "-D", "warnings"];
    cargo(&[&["clippy"][..], packages, &rest].concat())
}

fn cargo(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("cargo");
    command.args(arguments);
    finish(command)
}

fn finish(mut command: Command) -> Result<()> {
    let status = command.current_dir(workspace::root()).status().context("starting cargo")?;
    ensure!(status.success(), "cargo failed ({status})");
    Ok(())
}
