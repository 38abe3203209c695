//! The manifests that a release is installed with, put together from the pieces under `deploy/`. What the pieces say is
//! theirs; this module knows which go into which manifest.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::workspace;

const CRD: &str = "deploy/crds/sandboxes.agents.x-k8s.io.yaml";
const OPERATOR: &[&str] = &[
    "deploy/operator/service-account.yaml",
    "deploy/operator/cluster-role.yaml",
    "deploy/operator/role.yaml",
    "deploy/operator/bindings.yaml",
    "deploy/operator/services.yaml",
    "deploy/operator/network-policy.yaml",
];
const EXTENSION_CRDS: &[&str] = &[
    "deploy/crds/sandboxtemplates.extensions.agents.x-k8s.io.yaml",
    "deploy/crds/sandboxwarmpools.extensions.agents.x-k8s.io.yaml",
    "deploy/crds/sandboxclaims.extensions.agents.x-k8s.io.yaml",
];
const EXTENSIONS: &[&str] = &["deploy/extensions/cluster-role.yaml", "deploy/extensions/binding.yaml"];
const DOCUMENTS: &[&str] = &[
    "deploy/documents/crds/sandboxtemplates.agents.x-k8s.io.yaml",
    "deploy/documents/crds/sandboxwarmpools.agents.x-k8s.io.yaml",
    "deploy/documents/crds/sandboxclaims.agents.x-k8s.io.yaml",
    "deploy/documents/cluster-role.yaml",
    "deploy/documents/binding.yaml",
];
const ROUTER: &[&str] = &[
    "deploy/router/service-account.yaml",
    "deploy/router/cluster-role.yaml",
    "deploy/router/role.yaml",
    "deploy/router/bindings.yaml",
    "deploy/router/service.yaml",
    "deploy/router/network-policy.yaml",
];
const ROUTER_DEPLOYMENT: &str = "deploy/router/deployment.yaml";
const DEPLOYMENT: &str = "deploy/operator/deployment.yaml";

/// Where a piece leaves room for the version, and after which of its lines the extensions are turned on.
const VERSION: &str = ":VERSION\n";
const LAST_ARGUMENT: &str = "        - --leader-elect=true\n";
const EXTENSIONS_ARGUMENT: &str = "        - --extensions\n";

const HEADER: &str =
    "# Written by `cargo xtask generate` from the pieces under deploy/. Change those, not this file.\n";
const HEADERS: &str = "# Written by ";

/// Sandboxes alone.
pub(super) fn sandbox() -> Result<String> {
    let pieces = [&["deploy/operator/namespace.yaml", CRD], OPERATOR].concat();
    Ok(Assembly::at(&workspace::root()).all(&pieces)?.deployment()?.finish())
}

/// What is applied after [`sandbox`] for claims, templates and pools; the Deployment takes the place of the first.
pub(super) fn extensions() -> Result<String> {
    let pieces = [EXTENSION_CRDS, EXTENSIONS].concat();
    Ok(Assembly::at(&workspace::root()).all(&pieces)?.extended_deployment()?.finish())
}

/// Both in one.
pub(super) fn sandbox_with_extensions() -> Result<String> {
    let pieces = [&["deploy/operator/namespace.yaml", CRD], EXTENSION_CRDS, OPERATOR, EXTENSIONS].concat();
    Ok(Assembly::at(&workspace::root()).all(&pieces)?.extended_deployment()?.finish())
}

/// What is applied on top for claims, templates and pools in their short spellings.
pub(super) fn documents() -> Result<String> {
    Ok(Assembly::at(&workspace::root()).all(DOCUMENTS)?.finish())
}

/// What is applied on top for the way into Sandboxes.
pub(super) fn router() -> Result<String> {
    let root = workspace::root();
    let assembly = Assembly::at(&root).all(ROUTER)?;
    Ok(assembly.deployed(ROUTER_DEPLOYMENT)?.finish())
}

struct Assembly<'a> {
    root: &'a Path,
    documents: Vec<String>,
}

impl<'a> Assembly<'a> {
    fn at(root: &'a Path) -> Self {
        Self { root, documents: Vec::new() }
    }

    fn all(mut self, pieces: &[&str]) -> Result<Self> {
        for piece in pieces {
            let text = self.read(piece)?;
            self.documents.push(text);
        }
        Ok(self)
    }

    fn deployment(self) -> Result<Self> {
        self.deployed(DEPLOYMENT)
    }

    fn deployed(mut self, piece: &str) -> Result<Self> {
        let text = released(&self.read(piece)?, env!("CARGO_PKG_VERSION"))?;
        self.documents.push(text);
        Ok(self)
    }

    fn extended_deployment(mut self) -> Result<Self> {
        let text = released(&self.read(DEPLOYMENT)?, env!("CARGO_PKG_VERSION"))?;
        self.documents.push(extended(&text)?);
        Ok(self)
    }

    /// A piece without the line that says how it was made: that is true of the piece, not of the whole.
    fn read(&self, piece: &str) -> Result<String> {
        let text = fs::read_to_string(self.root.join(piece)).with_context(|| format!("read {piece}"))?;
        Ok(text.split_inclusive('\n').skip_while(|line| line.starts_with(HEADERS)).collect())
    }

    fn finish(self) -> String {
        HEADER.to_owned() + &self.documents.join("---\n")
    }
}

fn released(deployment: &str, version: &str) -> Result<String> {
    replaced(deployment, VERSION, &format!(":v{version}\n"))
}

fn extended(deployment: &str) -> Result<String> {
    replaced(deployment, LAST_ARGUMENT, &[LAST_ARGUMENT, EXTENSIONS_ARGUMENT].concat())
}

fn replaced(text: &str, from: &str, to: &str) -> Result<String> {
    let places = text.matches(from).count();
    ensure!(places == 1, "{from:?} is {places} times in a Deployment");
    Ok(text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(manifest: &str) -> Vec<&str> {
        manifest.lines().filter_map(|line| line.strip_prefix("kind: ")).collect()
    }

    #[test]
    fn the_namespace_comes_first_and_the_deployment_last() {
        for manifest in [sandbox().unwrap(), sandbox_with_extensions().unwrap()] {
            let kinds = kinds(&manifest);
            assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("Namespace", "Deployment"));
        }
    }

    #[test]
    fn both_after_each_other_are_as_much_as_both_in_one() {
        let [first, second, both] = [sandbox(), extensions(), sandbox_with_extensions()].map(Result::unwrap);
        // The Deployment is in both halves.
        assert_eq!(kinds(&first).len() + kinds(&second).len(), kinds(&both).len() + 1);
    }

    #[test]
    fn only_with_extensions_are_they_turned_on() {
        assert!(!sandbox().unwrap().contains(EXTENSIONS_ARGUMENT));
        assert!(extensions().unwrap().contains(EXTENSIONS_ARGUMENT));
    }

    #[test]
    fn the_image_is_that_of_the_release() {
        let image = concat!("image: agent-sandbox-controller:v", env!("CARGO_PKG_VERSION"), "\n");
        assert!(sandbox().unwrap().contains(image));
    }

    #[test]
    fn a_deployment_that_was_rewritten_beyond_recognition_is_noticed() {
        assert!(extended("args: []\n").unwrap_err().to_string().contains("0 times"));
    }
}
