//! `kill -9` of a process that writes: what it said was stored is stored.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use asb_apiserver::store::{Scope, Store};
use tempfile::TempDir;

/// Builds the writer; Cargo puts examples beside the folder of test programs.
fn writer() -> PathBuf {
    let arguments = ["build", "--quiet", "--package", "asb-apiserver", "--example", "store_writer"];
    let built = Command::new(env!("CARGO")).args(arguments).status().expect("cargo starts");
    assert!(built.success(), "cargo build failed");
    let test = env::current_exe().expect("this test program");
    test.ancestors().nth(2).expect("target/…/deps").join("examples/store_writer")
}

/// Kills a writer once it has acknowledged so many writes, and returns all it acknowledged.
fn killed_after(program: &Path, path: &Path, writes: usize) -> usize {
    let mut child =
        Command::new(program).arg(path).stdout(Stdio::piped()).spawn().expect("the writer starts");
    let mut said = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let before = said.by_ref().take(writes).count();
    child.kill().expect("SIGKILL");
    let after = said.count();
    child.wait().expect("its end");
    before + after
}

#[test]
fn what_was_acknowledged_survives_sigkill() {
    let program = writer();
    for writes in [0, 1, 2, 7, 40, 150] {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("store");
        let acknowledged = killed_after(&program, &path, writes);
        let store = Store::open(&path).expect("the file opens again");
        let found = store.list(&Scope::namespace("configmaps", "default")).entries.len();
        // At most the one write that was under way is there beyond what was said.
        assert!(
            (acknowledged..=acknowledged + 1).contains(&found),
            "{acknowledged} acknowledged, {found} found"
        );
        assert_eq!(store.revision().0, found as u64);
    }
}
