//! Installs our own kinds from `deploy/crds`, as a person does: `kubectl apply -f`.

use anyhow::Result;

use super::kubectl::Kubectl;
use crate::{terminal, workspace};

pub(crate) fn install(kubectl: &Kubectl) -> Result<()> {
    let folder = workspace::root().join("deploy/crds").display().to_string();
    terminal::step("install the resource definitions in deploy/crds", || {
        kubectl.run(&["apply", "-f", &folder])?;
        kubectl.run(&["wait", "--for=condition=Established", "--timeout=60s", "-f", &folder])?;
        Ok(())
    })
}
