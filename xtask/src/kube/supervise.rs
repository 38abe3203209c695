//! The process that is a cluster: it starts the components in order and keeps them. When it ends, they end.

use std::path::Path;

use anyhow::Result;

use super::control_plane;
use super::crew::Crew;
use super::description::Description;
use super::kubectl::Kubectl;

pub(crate) fn supervise(directory: &Path) -> Result<()> {
    let cluster = Description::load(directory)?;
    let kubectl = Kubectl::of(&cluster)?;
    let mut crew = Crew::new(cluster.directory.clone())?;
    for component in control_plane::foundation(&cluster)? {
        crew.start(component)?;
    }
    crew.until("the API server", || kubectl.answers(&["get", "--raw=/readyz"]))?;
    for component in control_plane::controllers(&cluster)? {
        crew.start(component)?;
    }
    crew.forever()
}
