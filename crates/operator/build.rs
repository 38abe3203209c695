//! Finds out what is being built: from what the packager says, or for a release from git. A build for development does not
//! ask, since it would be made anew with each commit.

use std::env;
use std::io::{self, Write};
use std::process::Command;

/// Said by packagers that build without the repository at hand.
const COMMIT: &str = "ASB_GIT_COMMIT";
/// Seconds since 1970 that stand for the time of the build, see <https://reproducible-builds.org>.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

fn main() -> io::Result<()> {
    let asks_git = env::var("PROFILE").is_ok_and(|profile| profile == "release") && is_repository();
    let from_git = |arguments: &[&str]| if asks_git { git(arguments) } else { None };
    let commit = env::var(COMMIT).ok().or_else(|| from_git(&["rev-parse", "HEAD"]));
    let epoch = env::var(EPOCH).ok().or_else(|| from_git(&["show", "-s", "--format=%ct"]));
    let places = ["HEAD", "logs/HEAD"].map(|file| from_git(&["rev-parse", "--git-path", file]));
    let directives = [
        Some("rerun-if-changed=build.rs".to_owned()),
        Some(format!("rerun-if-env-changed={COMMIT}")),
        Some(format!("rerun-if-env-changed={EPOCH}")),
        commit.map(|commit| format!("rustc-env=ASB_BUILD_COMMIT={commit}")),
        epoch.map(|epoch| format!("rustc-env=ASB_BUILD_EPOCH={epoch}")),
    ];
    let places = places.into_iter().flatten().map(|path| format!("rerun-if-changed={path}"));
    let mut output = io::stdout();
    let mut directives = directives.into_iter().flatten().chain(places);
    directives.try_for_each(|directive| writeln!(output, "cargo::{directive}"))
}

/// Whether git knows this file. One that was unpacked into somebody's repository is not theirs.
fn is_repository() -> bool {
    git(&["ls-files", "--error-unmatch", "build.rs"]).is_some()
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}
