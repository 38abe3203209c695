//! Dependencies between our crates point inward: a crate knows only crates of layers before its own, and
//! crates of one layer do not know each other. Tests may look at anything, so dev-dependencies are free.

use serde::Deserialize;

use super::finding::Finding;

/// The house from the inside out. A new crate gets its place here and in ARCHITECTURE.md.
const LAYERS: &[&[&str]] = &[
    &["asb-types"],
    &["asb-core"],
    &[
        "asb-apiserver",
        "asb-client",
        "asb-fake-kubelet",
        "asb-node",
        "asb-operator",
        "asb-router",
        "asb-sandboxd",
        "asb-tasks",
    ],
    &["asb"],
];

/// Test support knows everybody, and only tests know it.
const TESTS: &str = "asb-tests";
/// What measures is part of nothing.
const OUTSIDE: &[&str] = &["asb-load", TESTS, "xtask"];

/// What `cargo metadata --no-deps` says about the workspace.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub packages: Vec<Package>,
    workspace_root: String,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub name: String,
    dependencies: Vec<Dependency>,
    manifest_path: String,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Nothing for a normal dependency.
    kind: Option<String>,
}

impl Metadata {
    /// The manifest of a package, from the root of the checkout.
    pub(crate) fn manifest<'a>(&self, package: &'a Package) -> &'a str {
        let inside = package.manifest_path.strip_prefix(&self.workspace_root);
        inside.map_or(&package.manifest_path, |path| path.trim_start_matches('/'))
    }
}

pub(crate) fn check(metadata: &Metadata) -> Vec<Finding> {
    metadata.packages.iter().flat_map(|package| check_package(metadata, package)).collect()
}

fn check_package(metadata: &Metadata, package: &Package) -> Vec<Finding> {
    let fault = |(wrong, remedy)| Finding::fault(metadata.manifest(package), 1, wrong, remedy);
    let is_ours = |name: &str| metadata.packages.iter().any(|package| package.name == name);
    let known = package.dependencies.iter().filter(|known| is_ours(&known.name) && !is_dev(known));
    let complaints = known.filter_map(|known| complaint(&package.name, &known.name));
    homeless(&package.name).into_iter().chain(complaints).map(fault).collect()
}

fn is_dev(dependency: &Dependency) -> bool {
    dependency.kind.as_deref() == Some("dev")
}

fn homeless(name: &str) -> Option<(String, &'static str)> {
    let remedy = "give it one in xtask/src/tidy/layering.rs and ARCHITECTURE.md";
    (layer(name).is_none() && !OUTSIDE.contains(&name)).then(|| (format!("`{name}` has no layer"), remedy))
}

fn complaint(name: &str, known: &str) -> Option<(String, &'static str)> {
    let wrong = format!("`{name}` depends on `{known}`");
    match (layer(name), layer(known)) {
        _ if known == TESTS => Some((wrong, "make it a dev-dependency: only tests know test support")),
        (Some(own), Some(other)) if own == other => Some((wrong, "move what they share to an inner crate")),
        (Some(own), Some(other)) if own < other => Some((wrong, "turn it around: dependencies point inward")),
        (Some(_), None) => Some((wrong, "depend on crates of the house only")),
        _ => None,
    }
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::finding::lines;
    use super::*;

    fn package(name: &str, dependencies: &[Value]) -> Value {
        json!({"name": name, "manifest_path": format!("/x/crates/{name}/Cargo.toml"), "dependencies": dependencies})
    }

    fn normal(name: &str) -> Value {
        json!({"name": name, "kind": null})
    }

    fn found(packages: &[Value]) -> Vec<String> {
        let metadata = serde_json::from_value(json!({"packages": packages, "workspace_root": "/x"}));
        lines(&check(&metadata.unwrap()))
    }

    #[test]
    fn dependencies_that_point_inward_pass() {
        let core = package("asb-core", &[normal("asb-types"), normal("serde")]);
        let node = package("asb-node", &[normal("asb-core"), normal("asb-types")]);
        assert_eq!(found(&[package("asb-types", &[]), core, node]), [""; 0]);
    }

    #[test]
    fn a_dependency_that_points_outward_is_found() {
        let core = package("asb-core", &[normal("asb-node")]);
        let expected = "crates/asb-core/Cargo.toml:1: `asb-core` depends on `asb-node`; \
                        turn it around: dependencies point inward";
        assert_eq!(found(&[core, package("asb-node", &[])]), [expected]);
    }

    #[test]
    fn apiserver_and_operator_know_each_other_only_in_tests() {
        let dev = json!({"name": "asb-apiserver", "kind": "dev"});
        let apiserver = package("asb-apiserver", &[normal("asb-operator")]);
        let expected = "crates/asb-apiserver/Cargo.toml:1: `asb-apiserver` depends on `asb-operator`; \
                        move what they share to an inner crate";
        assert_eq!(found(&[apiserver, package("asb-operator", &[dev])]), [expected]);
    }

    #[test]
    fn only_tests_know_test_support() {
        let dev = package("asb-core", &[json!({"name": "asb-tests", "kind": "dev"})]);
        let tool = package("xtask", &[normal("asb-tests"), normal("asb-types")]);
        let expected = "crates/xtask/Cargo.toml:1: `xtask` depends on `asb-tests`; \
                        make it a dev-dependency: only tests know test support";
        assert_eq!(found(&[package("asb-tests", &[]), package("asb-types", &[]), dev, tool]), [expected]);
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        let expected = "crates/asb-extra/Cargo.toml:1: `asb-extra` has no layer; \
                        give it one in xtask/src/tidy/layering.rs and ARCHITECTURE.md";
        assert_eq!(found(&[package("asb-extra", &[])]), [expected]);
    }
}
