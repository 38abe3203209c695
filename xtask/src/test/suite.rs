//! The suites: what each needs, and how it is run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Effort;
use super::embedded::{self, Embedded};
use super::leftovers::Traces;
use crate::image::{self, Profile};
use crate::kube::{self, Cluster, Options};
use crate::parts::{self, clients};
use crate::{deny, tidy, workspace};

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
    /// The embedded API server, tried with kubectl and the client libraries of Go, Python and Rust
    Clients,
    /// The embedded API server: the answers of a real one, recorded, and the suites that run on any
    Embedded,
    /// Our definitions and the test support against a real kube-apiserver
    Kubernetes,
    /// A real node: Pods, DNS, volumes, webhooks, gVisor, and the operator installed on it
    Node,
}

impl Suite {
    pub(super) const ALL: [Self; 9] = [
        Self::Format,
        Self::Lint,
        Self::Tidy,
        Self::Dependencies,
        Self::Unit,
        Self::Clients,
        Self::Embedded,
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
            Self::Clients => "clients",
            Self::Embedded => "embedded",
            Self::Kubernetes => "kubernetes",
            Self::Node => "node",
        }
    }

    /// Obtains what the suite needs from outside. An error means that it cannot be had here.
    pub(super) fn prepare(self) -> Result<()> {
        match self {
            Self::Dependencies => deny::program().map(drop),
            Self::Clients => clients::obtain().map(drop),
            Self::Kubernetes | Self::Node => kube::prepare(&self.cluster()).and(part("helm")).map(drop),
            Self::Embedded => part("kubectl").map(drop),
            Self::Format | Self::Lint | Self::Tidy | Self::Unit => Ok(()),
        }
    }

    pub(super) fn run(self, effort: Effort) -> Result<()> {
        match self {
            Self::Format => cargo(&["fmt", "--all", "--check"]),
            Self::Lint => cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--locked",
                "--quiet",
                "--",
                "-D",
                "warnings",
            ]),
            Self::Tidy => tidy::run(),
            Self::Dependencies => deny::settled(),
            Self::Unit => {
                tests(&["--workspace", "--exclude", "asb-tests"], effort, &[])?;
                tests(&["--package", "asb-tests", "--lib"], effort, &[])
            }
            Self::Clients => self.against_the_embedded(effort, &clients::obtain()?),
            Self::Embedded => self.against_the_embedded(effort, &[("ASB_TEST_KUBECTL", part("kubectl")?)]),
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
                "definitions",
                "differential",
                "fake_kubelet",
                "hostile",
                "lifecycle",
                "operator",
                "rights",
                "subresources",
            ],
            Self::Kubernetes => &[
                "conversion",
                "definitions",
                "differential",
                "fake_kubelet",
                "installation",
                "manifests",
                "operator",
                "replicas",
                "rights",
                "subresources",
            ],
            Self::Node => &["in_cluster", "node"],
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
        let server = Embedded::start(&embedded::program())?;
        let tested = self.test(effort, &[server.environment().as_slice(), programs].concat());
        // How it ends matters too, unless it was a test that brought it down.
        tested.and_then(|()| server.stop())
    }

    fn against(self, cluster: &Cluster, effort: Effort) -> Result<()> {
        if self == Self::Node {
            load_image(cluster)?;
        }
        let helm = [("ASB_TEST_HELM", part("helm")?)];
        self.test(effort, &[cluster.environment().as_slice(), &helm].concat())
    }

    fn test(self, effort: Effort, environment: &[(&str, PathBuf)]) -> Result<()> {
        let mut arguments = vec!["--package", "asb-tests"];
        arguments.extend(self.programs().iter().flat_map(|program| ["--test", program]));
        tests(&arguments, effort, environment)
    }
}

/// A program at its pinned version.
fn part(name: &str) -> Result<PathBuf> {
    parts::obtain(&[name])?.remove(name).with_context(|| format!("{name} was asked for"))
}

/// Gives the node the image of the operator, built as quickly as it can be.
fn load_image(cluster: &Cluster) -> Result<()> {
    let folder = workspace::cache()?.join("images");
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let archive = folder.join(format!("{}.tar", cluster.name));
    image::build(Profile::Dev, &archive)?;
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
