//! The committed files that are generated from the code: writes them, and finds those that have drifted.
//! What they say belongs to the crates that know it; this module only knows where they lie.

mod release;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{command, terminal, workspace};

macro_rules! definition {
    ($folder:literal, $name:literal) => {
        Generated {
            path: concat!("deploy/", $folder, "/", $name, ".yaml"),
            contents: || example("asb-types", "crds", $name),
        }
    };
}

macro_rules! role {
    ($path:literal, $name:literal) => {
        Generated {
            path: concat!("deploy/", $path, ".yaml"),
            contents: || example("asb-types", "roles", $name),
        }
    };
}

/// What a person runs when a generated file has drifted.
pub(crate) const COMMAND: &str = "cargo xtask generate";

/// Every generated file of the repository. What is made from others comes after them.
const GENERATED: &[Generated] = &[
    definition!("crds", "sandboxclaims.extensions.agents.x-k8s.io"),
    definition!("crds", "sandboxes.agents.x-k8s.io"),
    definition!("crds", "sandboxtemplates.extensions.agents.x-k8s.io"),
    definition!("crds", "sandboxwarmpools.extensions.agents.x-k8s.io"),
    definition!("documents/crds", "sandboxclaims.agents.x-k8s.io"),
    definition!("documents/crds", "sandboxtemplates.agents.x-k8s.io"),
    definition!("documents/crds", "sandboxwarmpools.agents.x-k8s.io"),
    Generated { path: "docs/pod-fields.md", contents: || example("asb-core", "pod_fields", "") },
    role!("operator/cluster-role", "sandboxes"),
    role!("operator/role", "own-namespace"),
    role!("extensions/cluster-role", "extensions"),
    role!("documents/cluster-role", "documents"),
    role!("router/cluster-role", "routes"),
    role!("router/role", "tunnels"),
    Generated { path: "deploy/release/sandbox.yaml", contents: release::sandbox },
    Generated { path: "deploy/release/extensions.yaml", contents: release::extensions },
    Generated {
        path: "deploy/release/sandbox-with-extensions.yaml",
        contents: release::sandbox_with_extensions,
    },
    Generated { path: "deploy/release/documents.yaml", contents: release::documents },
    Generated { path: "deploy/release/router.yaml", contents: release::router },
];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only say which files have drifted; write nothing.
    #[arg(long)]
    check: bool,
}

/// One generated file.
pub(crate) struct Generated {
    /// From the root of the checkout.
    pub path: &'static str,
    pub contents: fn() -> Result<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if !arguments.check {
        return written(&workspace::root(), GENERATED).map(|paths| say("wrote", &paths));
    }
    let drifted = drift()?;
    say("has drifted:", &drifted);
    if drifted.is_empty() { Ok(()) } else { bail!("generated files have drifted; run `{COMMAND}`") }
}

/// The generated files whose committed text is missing or is not what the code says now.
pub(crate) fn drift() -> Result<Vec<&'static str>> {
    drifted(&workspace::root(), GENERATED)
}

fn drifted(root: &Path, table: &[Generated]) -> Result<Vec<&'static str>> {
    let mut paths = Vec::new();
    for generated in table {
        if is_drifted(root, generated, &fresh(generated)?)? {
            paths.push(generated.path);
        }
    }
    Ok(paths)
}

/// Writes what has drifted and leaves the rest untouched, so that builds see no change where there is none. One after the
/// other, because some are made from those before them.
fn written(root: &Path, table: &[Generated]) -> Result<Vec<&'static str>> {
    let mut paths = Vec::new();
    for generated in table {
        let fresh = fresh(generated)?;
        if is_drifted(root, generated, &fresh)? {
            write(&root.join(generated.path), &fresh)?;
            paths.push(generated.path);
        }
    }
    Ok(paths)
}

fn is_drifted(root: &Path, generated: &Generated, fresh: &str) -> Result<bool> {
    Ok(committed(&root.join(generated.path))?.as_deref() != Some(fresh))
}

/// What an example program of a crate prints: the crate knows the contents, and this program stays quick to build.
fn example(package: &str, name: &str, argument: &str) -> Result<String> {
    let arguments = ["run", "--quiet", "--package", package, "--example", name, "--", argument];
    command::output(&workspace::root(), "cargo", &arguments)
}

fn fresh(generated: &Generated) -> Result<String> {
    (generated.contents)().with_context(|| format!("generating {}", generated.path))
}

fn committed(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().expect("a file under the root has a folder");
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn say(what: &str, paths: &[&str]) {
    for path in paths {
        terminal::note(&format!("{what} {path}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Generated] = &[
        Generated { path: "deploy/one.yaml", contents: || Ok("one\n".to_owned()) },
        Generated { path: "deploy/two.yaml", contents: || Ok("two\n".to_owned()) },
    ];

    #[test]
    fn a_file_that_was_never_written_has_drifted() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(drifted(root.path(), TABLE).unwrap(), ["deploy/one.yaml", "deploy/two.yaml"]);
    }

    #[test]
    fn what_was_written_has_not_drifted() {
        let root = tempfile::tempdir().unwrap();
        written(root.path(), TABLE).unwrap();
        assert!(drifted(root.path(), TABLE).unwrap().is_empty());
    }

    #[test]
    fn only_the_file_edited_by_hand_is_written_again() {
        let root = tempfile::tempdir().unwrap();
        written(root.path(), TABLE).unwrap();
        fs::write(root.path().join("deploy/two.yaml"), "2\n").unwrap();
        assert_eq!(written(root.path(), TABLE).unwrap(), ["deploy/two.yaml"]);
        assert_eq!(fs::read_to_string(root.path().join("deploy/two.yaml")).unwrap(), "two\n");
    }

    #[test]
    fn a_generator_that_fails_names_its_file() {
        let root = tempfile::tempdir().unwrap();
        let broken = [Generated { path: "crd.yaml", contents: || bail!("no schema") }];
        let error = drifted(root.path(), &broken).unwrap_err();
        assert_eq!(format!("{error:#}"), "generating crd.yaml: no schema");
    }

    #[test]
    fn no_file_has_two_generators() {
        let mut paths: Vec<_> = GENERATED.iter().map(|generated| generated.path).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), GENERATED.len());
    }
}
