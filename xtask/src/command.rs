//! Asks other programs (git, cargo) what they know, and takes their standard output.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

pub(crate) fn output(folder: &Path, program: &str, arguments: &[&str]) -> Result<String> {
    let said = || format!("`{program} {}`", arguments.join(" "));
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.with_context(|| format!("starting {}", said()))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed ({}): {}", said(), output.status, complaint.trim());
    String::from_utf8(output.stdout).with_context(|| format!("reading what {} said", said()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_repeats_the_command_and_its_complaint() {
        let error = output(Path::new("."), "git", &["no-such-command"]).unwrap_err().to_string();
        assert!(error.starts_with("`git no-such-command` failed"), "{error}");
        assert!(error.contains("not a git command"), "{error}");
    }
}
