//! `cargo xtask tidy`: what the compiler does not check. Each rule is a module of its own, a pure function from
//! text or metadata to findings; this one gathers what they read and says everything at once.

mod attributes;
mod documents;
mod finding;
mod layering;
mod links;
mod machine;
mod macros;
mod names;
mod purity;
mod registries;
mod rust;
mod shape;
mod sleeps;
mod tree;
mod unsafety;

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::{command, generate, terminal, workspace};
use finding::Finding;
use layering::Metadata;
use rust::Rust;
use tree::{Text, Tree};

pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    let tree = Tree::read(&root)?;
    let mut findings = check_files(&tree);
    findings.extend(documents::check(&tree));
    findings.extend(links::check(&tree));
    findings.extend(check_crates(&root)?);
    findings.extend(check_generated()?);
    report(findings)
}

fn check_files(tree: &Tree) -> Vec<Finding> {
    let names = tree.paths.iter().flat_map(|path| names::check(path));
    let texts = tree
        .texts
        .iter()
        .flat_map(|file| [shape::check(file), machine::check(file), registries::check(file)].concat());
    let sources = tree.with_extension("rs").flat_map(check_source);
    names.chain(texts).chain(sources).collect()
}

fn check_source(file: &Text) -> Vec<Finding> {
    let rules = [attributes::check, macros::check, purity::check_source, sleeps::check, unsafety::check];
    match Rust::parse(file) {
        Ok(rust) => rules.iter().flat_map(|rule| rule(&rust)).collect(),
        Err(error) => {
            let line = error.span().start().line;
            vec![Finding::fault(&file.path, line, "it does not read as Rust", "make it compile")]
        }
    }
}

fn check_crates(root: &Path) -> Result<Vec<Finding>> {
    let question = ["metadata", "--format-version", "1", "--no-deps", "--locked"];
    let answer = command::output(root, "cargo", &question)?;
    let metadata: Metadata =
        serde_json::from_str(&answer).context("reading what cargo says of the workspace")?;
    let mut findings = layering::check(&metadata);
    for package in metadata.packages.iter().filter(|package| purity::is_pure(&package.name)) {
        let answer = command::output(root, "cargo", &purity::question(&package.name))?;
        findings.extend(purity::check_dependencies(metadata.manifest(package), &answer));
    }
    Ok(findings)
}

fn check_generated() -> Result<Vec<Finding>> {
    let remedy = format!("run `{}`", generate::COMMAND);
    let fault = |path| Finding::fault(path, 1, "the generated file has drifted", remedy.as_str());
    Ok(generate::drift()?.into_iter().map(fault).collect())
}

fn report(mut findings: Vec<Finding>) -> Result<()> {
    findings.sort();
    let (faults, questions): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| finding.is_fault());
    for question in questions {
        terminal::note(&question.to_string());
    }
    for fault in &faults {
        terminal::answer(&fault.to_string());
    }
    ensure!(faults.is_empty(), "tidy: {} to mend", faults.len());
    Ok(())
}
