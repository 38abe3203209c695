//! One long-running program of a cluster: its name and its command line.

use std::path::PathBuf;

use anyhow::Result;

use super::description::Description;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Component {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
}

impl Component {
    /// `options` are `name=value` without the dashes, as Kubernetes' documentation spells them.
    pub(crate) fn new(cluster: &Description, name: &'static str, options: &[String]) -> Result<Self> {
        let arguments = options.iter().map(|option| format!("--{option}")).collect();
        Ok(Self { name, program: cluster.program(name)?.to_owned(), arguments })
    }
}
