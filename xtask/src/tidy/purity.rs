//! `types` and `core` decide and touch nothing: no crate that does I/O below them, and no clock, file,
//! socket, process or environment of the standard library in them.

use super::finding::Finding;
use super::rust::{Rust, Token};

/// The crates that are pure, and where their sources lie.
const PURE: &[(&str, &str)] = &[("asb-types", "crates/types/src/"), ("asb-core", "crates/core/src/")];

/// Crates by which code reaches a clock, a socket, a disk, the kernel or a source of randomness. `kube` is
/// not among them: with `derive` alone it is macros and plain types.
const IMPURE: &[&str] = &[
    "async-std",
    "axum",
    "fastrand",
    "getrandom",
    "h2",
    "hyper",
    "hyper-util",
    "kube-client",
    "kube-runtime",
    "mio",
    "native-tls",
    "nix",
    "notify",
    "oci-client",
    "openssl",
    "quinn",
    "rand",
    "redb",
    "reqwest",
    "rtnetlink",
    "rustix",
    "rustls",
    "smol",
    "socket2",
    "tempfile",
    "tokio",
    "tokio-rustls",
    "tonic",
    "ureq",
];

const IMPURE_MODULES: &[&str] = &["env", "fs", "os", "process", "thread"];
/// By name, because the rest of `std::net` is plain addresses.
const SOCKETS: &[&str] = &["TcpListener", "TcpStream", "UdpSocket"];
const CLOCKS: &[&str] = &["Instant", "SystemTime", "Timestamp", "Zoned"];

pub(crate) fn is_pure(package: &str) -> bool {
    PURE.iter().any(|(name, _)| *name == package)
}

/// The arguments of cargo for what a package alone depends on. `cargo metadata` would not do: it unites the
/// features of the whole workspace, and test support asks `kube` for its client.
pub(crate) fn question(package: &str) -> [&str; 8] {
    ["tree", "--package", package, "--edges", "normal,no-proc-macro", "--prefix", "depth", "--locked"]
}

/// Reads the answer to [`question`].
pub(crate) fn check_dependencies(manifest: &str, answer: &str) -> Vec<Finding> {
    let mut chain = Vec::new();
    let mut findings = Vec::new();
    for (depth, name) in answer.lines().filter_map(entry) {
        chain.truncate(depth);
        let seen_above = chain.iter().any(|above| IMPURE.contains(above));
        chain.push(name);
        if IMPURE.contains(&name) && !seen_above {
            findings.push(reached(manifest, &chain));
        }
    }
    findings.sort();
    findings.dedup();
    findings
}

/// `2tokio v1.0.0 (*)` is `tokio` at depth 2.
fn entry(line: &str) -> Option<(usize, &str)> {
    let name = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let depth = line[..line.len() - name.len()].parse().ok()?;
    Some((depth, name.split(' ').next()?))
}

fn reached(manifest: &str, chain: &[&str]) -> Finding {
    let wrong = format!("a pure crate reaches I/O: {}", chain.join(" → "));
    Finding::fault(manifest, 1, wrong, "drop the dependency or the feature that brings it in")
}

/// What the standard library and `jiff` offer in a pure crate's own code, tests aside.
pub(crate) fn check_source(rust: &Rust) -> Vec<Finding> {
    if !PURE.iter().any(|(_, folder)| rust.path.starts_with(folder)) {
        return Vec::new();
    }
    let modules = IMPURE_MODULES.iter().flat_map(|module| uses(rust, &["std", ":", ":", module]));
    let clocks = CLOCKS.iter().flat_map(|clock| uses(rust, &[clock, ":", ":", "now"]));
    let sockets = SOCKETS.iter().flat_map(|socket| uses(rust, &[socket]));
    modules.chain(grouped(rust)).chain(clocks).chain(sockets).collect()
}

/// The modules of `use std::{fs, io}`.
fn grouped(rust: &Rust) -> Vec<Finding> {
    let groups = rust.positions(&["std", ":", ":", "{"]).map(|at| members(&rust.tokens[at + 3..]));
    let impure =
        groups.flatten().filter(|token| !token.test && IMPURE_MODULES.contains(&token.text.as_str()));
    impure.map(|token| used(rust, token, &format!("std::{}", token.text))).collect()
}

/// The first word of every member of the group that the tokens open with.
fn members(tokens: &[Token]) -> Vec<&Token> {
    let mut depth = 0;
    let mut members = Vec::new();
    for pair in tokens.windows(2) {
        match pair[0].text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        match (depth, pair[0].text.as_str()) {
            (0, _) => break,
            (1, "{" | ",") => members.push(&pair[1]),
            _ => {}
        }
    }
    members
}

fn uses(rust: &Rust, row: &[&str]) -> Vec<Finding> {
    let tokens = rust.rows(row).filter(|token| !token.test);
    tokens.map(|token| used(rust, token, &row.concat())).collect()
}

fn used(rust: &Rust, token: &Token, what: &str) -> Finding {
    Finding::fault(rust.path, token.line, format!("a pure crate uses `{what}`"), "make it an argument")
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::super::rust::with;
    use super::*;

    const TYPES: &str = "crates/types/src/crd.rs";

    #[test]
    fn the_way_to_an_impure_crate_is_shown() {
        let answer =
            "0asb-core v0.1.0 (/x)\n1serde v1.0.0\n1kube v5.0.0\n2kube-client v5.0.0\n3tokio v1.0.0\n";
        let expected = "Cargo.toml:1: a pure crate reaches I/O: asb-core → kube → kube-client; \
                        drop the dependency or the feature that brings it in";
        assert_eq!(lines(&check_dependencies("Cargo.toml", answer)), [expected]);
    }

    #[test]
    fn macros_and_plain_types_of_kube_are_pure() {
        let answer = "0asb-types v0.1.0 (/x)\n1kube v5.0.0\n2kube-core v5.0.0\n3http v1.5.0\n";
        assert_eq!(check_dependencies("Cargo.toml", answer), []);
    }

    #[test]
    fn a_clock_in_a_pure_crate_is_found() {
        let findings = with("crates/core/src/plan.rs", "fn f() {\n jiff::Timestamp::now() }", check_source);
        let expected = "crates/core/src/plan.rs:2: a pure crate uses `Timestamp::now`; make it an argument";
        assert_eq!(lines(&findings), [expected]);
    }

    #[test]
    fn a_module_imported_in_a_group_is_found() {
        let text =
            "use std::{\n    collections::{env, BTreeMap},\n    fs,\n    os::fd};\nuse other::{process};";
        let say =
            |(line, name)| format!("{TYPES}:{line}: a pure crate uses `std::{name}`; make it an argument");
        assert_eq!(lines(&with(TYPES, text, check_source)), [(3, "fs"), (4, "os")].map(say));
    }

    #[test]
    fn addresses_are_pure_and_sockets_are_not() {
        let found = |text| with(TYPES, text, check_source).len();
        assert_eq!(found("use std::net::IpAddr;"), 0);
        assert_eq!(found("use std::net::{IpAddr, TcpStream};"), 1);
    }

    #[test]
    fn tests_of_a_pure_crate_and_other_crates_may_read_files() {
        let found = |path, text| with(path, text, check_source).len();
        assert_eq!(found(TYPES, "#[cfg(test)] mod tests { use std::fs; }"), 0);
        assert_eq!(found("crates/node/src/shim.rs", "use std::fs;"), 0);
        assert_eq!(found(TYPES, "use std::fs;"), 1);
    }
}
