//! The process that is a cluster: it starts the components in order and keeps them. When it ends, they end.

use std::path::Path;

use anyhow::Result;

use super::component::Component;
use super::crew::Crew;
use super::description::Description;
use super::kubectl::Kubectl;
use super::{control_plane, node};

pub(crate) fn supervise(directory: &Path) -> Result<()> {
    let cluster = Description::load(directory)?;
    let mut crew = Crew::new(cluster.directory.clone())?;
    if cluster.has_node() {
        node::furnish(&cluster)?;
        crew.start(node::runtime(&cluster)?)?;
    }
    for component in control_plane::foundation(&cluster)? {
        crew.start(component)?;
    }
    if cluster.has_node() {
        crew.until("containerd with its images", || node::images::import_all(&cluster).is_ok())?;
    }
    let kubectl = Kubectl::of(&cluster)?;
    crew.until("the API server", || kubectl.is_ready())?;
    for component in dependants(&cluster)? {
        crew.start(component)?;
    }
    crew.forever()
}

/// What ends, or is of no use, without a ready API server.
fn dependants(cluster: &Description) -> Result<Vec<Component>> {
    let mut components = control_plane::controllers(cluster)?.to_vec();
    if cluster.has_node() {
        components.extend(node::agents(cluster)?);
    }
    Ok(components)
}
