//! Every kubectl command that is printed, typed into a shell; and those that cannot be tried here, with the reason.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use asb_types::v1beta1::Sandbox;
use tokio::process::Command;
use tokio::time::timeout;

use crate::stage::Stage;

const DEADLINE: Duration = Duration::from_mins(1);

/// What is typed for what is printed in angle brackets.
const BLANKS: [(&str, &str); 3] =
    [("<name>", "my-sandbox"), ("<uuid>", "7b1d"), ("<node-name>", "fake-computer")];

/// In the order of a session: the command, and something that it says.
const TYPED: [(&str, &str); 14] = [
    ("kubectl apply -f my-sandbox.yaml", "sandbox.agents.x-k8s.io/my-sandbox created"),
    ("kubectl apply -f sandbox.yaml", "sandbox.agents.x-k8s.io/kubectl-ai-sandbox-7b1d created"),
    ("kubectl get sandbox my-sandbox", "my-sandbox"),
    ("kubectl get sandbox", "kubectl-ai-sandbox-7b1d"),
    ("kubectl get sandboxes -n computer", "my-sandbox"),
    ("kubectl describe sandbox my-sandbox", "DependenciesReady"),
    ("kubectl describe sandbox <name>", "Conditions:"),
    ("kubectl describe sandbox kubectl-ai-sandbox-<uuid> -n computer", "DependenciesReady"),
    ("kubectl get runtimeclass", ""),
    ("kubectl describe node <node-name> | grep -i runtime", "Container Runtime Version"),
    ("kubectl auth can-i create sandboxes.agents.x-k8s.io -n computer", "yes"),
    ("kubectl get rolebindings -n computer", ""),
    ("kubectl delete sandbox my-sandbox", "deleted"),
    ("kubectl delete sandbox kubectl-ai-sandbox-<uuid> -n computer", "deleted"),
];

/// What is printed and cannot be typed here, and why.
const OUT_OF_REACH: [(&str, &str); 8] = [
    ("kubectl apply -f https://raw.githubusercontent.com/…/install.yaml", FETCHED),
    ("kubectl apply -f https://github.com/…/releases/download/…/manifest.yaml", FETCHED),
    ("kubectl apply -f https://github.com/…/releases/download/…/extensions.yaml", FETCHED),
    ("kubectl apply -f manifest.yaml", FETCHED),
    ("kubectl apply -k …", "a folder of the reader's own"),
    (
        "kubectl logs -n agent-sandbox-system deployment/agent-sandbox-controller",
        "the operator is no Deployment here",
    ),
    ("kubectl logs <pod>", "nothing runs in a Pod that is pretended; the suites of the node have logs"),
    (
        "kubectl-ai --sandbox=agent-sandbox …",
        "another program; what it asks for is in the suite of client libraries",
    ),
];
const FETCHED: &str = "another project's release; `asb crds` prints what is installed here";

#[tokio::test]
async fn the_commands_that_are_printed_do_what_is_said() -> Result<()> {
    let stage = Stage::computer().await?;
    let folder = tempfile::tempdir()?;
    furnish(folder.path())?;
    for (command, said) in TYPED {
        if command.contains("describe sandbox my") {
            stage.ready::<Sandbox>("my-sandbox").await?;
            stage.ready::<Sandbox>("kubectl-ai-sandbox-7b1d").await?;
        }
        let output = enter(folder.path(), &filled(command)).await.context(command)?;
        assert!(output.contains(said), "{command}:\n{output}");
    }
    stage.finish().await
}

#[test]
fn no_command_is_both_typed_and_out_of_reach() {
    let is_typed = |command: &str| TYPED.iter().any(|(typed, _)| *typed == command);
    assert!(OUT_OF_REACH.iter().all(|(command, why)| !is_typed(command) && !why.is_empty()));
}

fn filled(command: &str) -> String {
    BLANKS.iter().fold(command.to_owned(), |command, (blank, text)| command.replace(blank, text))
}

async fn enter(folder: &Path, line: &str) -> Result<String> {
    let path = env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("exec 2>&1; {line}")])
        .current_dir(folder)
        .env("KUBECONFIG", env::var_os("ASB_TEST_KUBECONFIG").context("the cluster was found by it")?)
        .env("KUBECACHEDIR", folder.join("cache"))
        .env("PATH", format!("{}:{path}", folder.join("bin").display()))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(DEADLINE, shell.output()).await.context("it does not end")??;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{text}");
    Ok(text)
}

/// kubectl, in the printed namespace unless told otherwise, and the files that are spoken of.
fn furnish(folder: &Path) -> Result<()> {
    let program = env::var_os("ASB_TEST_KUBECTL").unwrap_or_else(|| OsString::from("kubectl"));
    let kubectl = folder.join("bin/kubectl");
    fs::create_dir(folder.join("bin"))?;
    fs::write(&kubectl, format!("#!/bin/sh\nexec '{}' --namespace computer \"$@\"\n", program.display()))?;
    fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o700))?;
    let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/documents");
    let text = fs::read_to_string(format!("{manifests}/overview-sandbox-python.yaml"))?;
    fs::write(folder.join("my-sandbox.yaml"), &text)?;
    Ok(fs::write(folder.join("sandbox.yaml"), text.replace("my-sandbox", "kubectl-ai-sandbox-7b1d"))?)
}
