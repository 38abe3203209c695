//! The process that is a cluster: it starts the components in order and keeps them. When it ends, they end.

use std::path::Path;

use anyhow::Result;

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
    control_plane(&mut crew, &cluster)?;
    if cluster.has_node() {
        crew.until("containerd with its images", || node::images::import_all(&cluster).is_ok())?;
        for component in node::agents(&cluster)? {
            crew.start(component)?;
        }
    }
    crew.forever()
}

fn control_plane(crew: &mut Crew, cluster: &Description) -> Result<()> {
    let kubectl = Kubectl::of(cluster)?;
    for component in control_plane::foundation(cluster)? {
        crew.start(component)?;
    }
    crew.until("the API server", || kubectl.answers(&["get", "--raw=/readyz"]))?;
    for component in control_plane::controllers(cluster)? {
        crew.start(component)?;
    }
    Ok(())
}
