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
    let mut directives =
        vec!["rerun-if-changed=build.rs".to_owned(), format!("rerun-if-env-changed={COMMIT}")];
    directives.push(format!("rerun-if-env-changed={EPOCH}"));
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = env::var(COMMIT).ok().or_else(|| git(&["rev-parse", "HEAD"]).filter(|_| is_release));
    let epoch = env::var(EPOCH).ok().or_else(|| git(&["show", "-s", "--format=%ct"]).filter(|_| is_release));
    if is_release {
        let places = ["HEAD", "logs/HEAD"].map(|file| git(&["rev-parse", "--git-path", file]));
        directives.extend(places.into_iter().flatten().map(|path| format!("rerun-if-changed={path}")));
    }
    directives.extend(commit.map(|commit| format!("rustc-env=ASB_BUILD_COMMIT={commit}")));
    directives.extend(epoch.map(|epoch| format!("rustc-env=ASB_BUILD_EPOCH={epoch}")));
    let mut output = io::stdout();
    directives.iter().try_for_each(|directive| writeln!(output, "cargo::{directive}"))
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}
