//! What tells this node from others on the same machine, chosen at its first start and kept: two nodes with data directories
//! of their own do not touch each other's links, rules and cgroups.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use asb_core::network::cidr::Cidr;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Identity {
    /// Four digits: 3f2c.
    pub tag: String,
    /// The addresses of Pods, once chosen.
    #[serde(default)]
    pub pods: Option<Cidr>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot {0} the node's identity")]
pub struct IdentityError(&'static str, #[source] io::Error);

const FILE: &str = "identity.json";

impl Identity {
    /// The one that is kept in a directory, or a new one. Blocks.
    pub fn of(root: &Path) -> Result<Self, IdentityError> {
        match fs::read(root.join(FILE)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| IdentityError("read", error.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::choose(root),
            Err(error) => Err(IdentityError("read", error)),
        }
    }

    /// Whether one is kept there.
    pub fn is_known(root: &Path) -> bool {
        root.join(FILE).exists()
    }

    fn choose(root: &Path) -> Result<Self, IdentityError> {
        let random = uuid::Uuid::new_v4().simple().to_string();
        let identity = Self { tag: random[..4].to_owned(), pods: None };
        identity.save(root)?;
        Ok(identity)
    }

    pub fn save(&self, root: &Path) -> Result<(), IdentityError> {
        let saved = || {
            fs::create_dir_all(root)?;
            let beside = root.join("identity.new");
            fs::write(&beside, serde_json::to_vec(self)?)?;
            fs::File::open(&beside)?.sync_all()?;
            fs::rename(&beside, root.join(FILE))
        };
        saved().map_err(|error| IdentityError("keep", error))
    }

    /// How the names of links begin.
    pub fn links(&self) -> String {
        format!("a{}", self.tag)
    }

    /// The name of our table of rules for packets.
    pub fn table(&self) -> String {
        format!("agent-sandbox-{}", self.tag)
    }

    /// Below which Pods have their cgroups, relative to the root of each hierarchy.
    pub fn cgroup(&self) -> String {
        self.table()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_stays_who_it_is() {
        let root = tempfile::tempdir().unwrap();
        let mut first = Identity::of(root.path()).unwrap();
        assert_eq!(first.links().len(), 5);
        first.pods = Some("10.1.0.0/16".parse().unwrap());
        first.save(root.path()).unwrap();
        assert_eq!(Identity::of(root.path()).unwrap(), first);
    }
}
