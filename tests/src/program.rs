//! The `asb` program that this workspace built, run as a person runs it.

use std::env;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

/// Runs `asb` and returns what it printed.
pub async fn asb(arguments: &[&str]) -> Result<String> {
    let program = program()?;
    let output = Command::new(&program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .await
        .with_context(|| format!("starting {}; `cargo build -p asb` makes it", program.display()))?;
    ensure!(
        output.status.success(),
        "asb {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).context("asb prints text")
}

/// Cargo puts programs beside the folder of test programs. `ASB_TEST_PROGRAM` is one with a mistake, which tests should notice.
pub fn program() -> Result<PathBuf> {
    if let Some(planted) = env::var_os("ASB_TEST_PROGRAM").filter(|path| !path.is_empty()) {
        return Ok(planted.into());
    }
    let test = env::current_exe().context("finding this test program")?;
    let folder =
        test.parent().and_then(|deps| deps.parent()).context("test programs lie in target/…/deps")?;
    Ok(folder.join("asb"))
}
