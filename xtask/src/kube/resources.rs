//! Installs our own kinds from `deploy/crds`, as a person does: `kubectl apply -f`.

use anyhow::Result;

use super::kubectl::Kubectl;
use crate::{terminal, workspace};

/// Names of definitions whose conversion is at an address, one a line.
const AT_AN_ADDRESS: &str =
    r#"jsonpath={range .items[?(@.spec.conversion.webhook.clientConfig.url)]}{.metadata.name}{"\n"}{end}"#;

const NO_CONVERSION: &str = r#"{"spec":{"conversion":{"strategy":"None","webhook":null}}}"#;

pub(crate) fn install(kubectl: &Kubectl) -> Result<()> {
    let folder = workspace::root().join("deploy/crds").display().to_string();
    terminal::step("install the resource definitions in deploy/crds", || {
        forget_addresses(kubectl, &folder)?;
        kubectl.run(&["apply", "-f", &folder])?;
        kubectl.run(&["wait", "--for=condition=Established", "--timeout=60s", "-f", &folder])?;
        Ok(())
    })
}

/// The suites put the conversion at an address of their own, and `apply` cannot change that into a Service.
fn forget_addresses(kubectl: &Kubectl, folder: &str) -> Result<()> {
    let changed = kubectl.run(&["get", "-f", folder, "--ignore-not-found", "-o", AT_AN_ADDRESS])?;
    for name in changed.lines() {
        terminal::note(&format!("{name} was converted at an address; now at its Service again"));
        kubectl.run(&["patch", "crd", name, "--type=merge", "-p", NO_CONVERSION])?;
    }
    Ok(())
}
