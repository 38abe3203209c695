//! What our documents print for Python, run as it is printed.

use anyhow::{Context, Result};
use asb_tests::Cluster;
use tokio::process::Command;

use crate::own;
use crate::stage::{given, path, run};

const README: &str = include_str!("../../../README.md");
const ROUTER: &str = include_str!("../../../docs/router.md");

/// The examples in this language.
pub(crate) fn examples<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let begins = format!("```{language}\n");
    document.split(&begins).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0)).collect()
}

/// By the SDK that it imports.
async fn printed_by(snippet: &str) -> Result<String> {
    let mut command = if snippet.contains("from k8s_agent_sandbox import") {
        let mut command = Command::new(given("ASB_TEST_SDK")?);
        command.env("KUBECONFIG", given("KUBECONFIG")?).env("PATH", path()?);
        command
    } else {
        own::python()?
    };
    command.args(["-c", snippet]);
    run(command).await.with_context(|| snippet.to_owned())
}

#[tokio::test]
async fn the_snippets_in_python_print_what_they_say() -> Result<()> {
    let cluster = Cluster::connect().await?;
    let pool = examples(ROUTER, "yaml")[0];
    cluster.kubectl(&["apply", "-f", "-"], Some(pool)).await?.success()?;
    let full = ["wait", "sandboxwarmpool/python", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=4m"];
    cluster.kubectl(&full, None).await?.success()?;
    let snippets = [examples(README, "python"), examples(ROUTER, "python")].concat();
    assert_eq!(snippets.len(), 3, "{snippets:#?}");
    for snippet in snippets {
        assert_eq!(printed_by(snippet).await?.trim(), "42", "{snippet}");
    }
    cluster.kubectl(&["delete", "-f", "-"], Some(pool)).await?.success()?;
    let claims = ["delete", "sandboxclaims.extensions.agents.x-k8s.io", "--all"];
    cluster.kubectl(&claims, None).await?.success()?;
    Ok(())
}
