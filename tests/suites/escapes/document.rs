//! Holds the document on security to the cases: what it promises is tested, and what is tested is told.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::{Failed, Trial};

use crate::SUBJECTS;
use crate::case::{Case, Layer, Without};

const DOCUMENT: &str = "docs/security.md";

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, check: fn() -> Result<()>| {
        Trial::test(format!("document::{name}"), move || {
            check().map_err(|error| Failed::from(format!("{error:#}")))
        })
    };
    vec![
        trial("every_promise_names_a_test_that_there_is", promises),
        trial("every_layer_has_its_cases", layers),
        trial("every_case_is_told", told),
        trial("there_are_enough_of_them", enough),
    ]
}

fn text() -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(DOCUMENT);
    fs::read_to_string(path).with_context(|| format!("read {DOCUMENT}"))
}

fn cases() -> impl Iterator<Item = (&'static str, &'static Case)> {
    SUBJECTS.iter().flat_map(|(subject, cases)| cases.iter().map(move |case| (*subject, case)))
}

/// Lines of the table under a heading, without its own two.
fn table<'a>(text: &'a str, heading: &str) -> Result<Vec<&'a str>> {
    let (_, rest) = text.split_once(heading).with_context(|| format!("{DOCUMENT} has no {heading:?}"))?;
    let lines =
        rest.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    Ok(lines.skip(2).collect())
}

/// Links to cases: `[name](../tests/suites/escapes/subject.rs)`.
fn links(line: &str) -> Vec<(&str, &str)> {
    let pieces = line.split("](../tests/suites/escapes/");
    let names =
        pieces.clone().map(|piece| piece.rsplit_once('[').map_or("", |(_, name)| name.trim_matches('`')));
    let files = pieces.skip(1).map(|piece| piece.split_once(".rs)").map_or("", |(file, _)| file));
    names.zip(files).collect()
}

fn promises() -> Result<()> {
    let text = text()?;
    let known: BTreeSet<_> = cases().map(|(subject, case)| (case.name, subject)).collect();
    for line in text.lines() {
        let unknown: Vec<_> = links(line).into_iter().filter(|link| !known.contains(link)).collect();
        ensure!(unknown.is_empty(), "{DOCUMENT} names cases that there are not: {unknown:?}");
    }
    for heading in ["## What is promised", "## Layers"] {
        let rows = table(&text, heading)?;
        ensure!(rows.len() >= 8, "{heading} has {} rows", rows.len());
        let bare: Vec<_> =
            rows.into_iter().filter(|row| links(row).is_empty() && !row.contains("](../")).collect();
        ensure!(bare.is_empty(), "rows without a test: {bare:?}");
    }
    Ok(())
}

fn layers() -> Result<()> {
    let text = text()?;
    let rows = table(&text, "## Layers")?;
    for layer in Layer::ALL {
        let row = rows.iter().find(|row| row.starts_with(&format!("| {} |", layer.word())));
        let row = row.with_context(|| format!("the layers in {DOCUMENT} lack {:?}", layer.word()))?;
        let shown: Vec<_> = links(row).into_iter().map(|(name, _)| name).collect();
        let is_one =
            |name: &&str| cases().any(|(_, case)| case.name == *name && case.layers.contains(&layer));
        ensure!(
            !shown.is_empty() && shown.iter().all(is_one),
            "{:?} is not what stops {shown:?}",
            layer.word()
        );
    }
    Ok(())
}

/// As the document has it.
fn row(subject: &str, case: &Case) -> String {
    let layers: Vec<_> = case.layers.iter().map(|layer| layer.word()).collect();
    let without = match case.without {
        None => "",
        Some(Without::Machine) => "on the bare machine",
        Some(Without::Container(_) | Without::Pod(_)) => "with it taken away",
        Some(Without::Otherwise(how)) => how,
    };
    let link = format!("[{}](../tests/suites/escapes/{subject}.rs)", case.name);
    format!("| {link} | {} | {} | {without} |", case.hole, layers.join(", "))
}

fn told() -> Result<()> {
    let text = text()?;
    let told: BTreeSet<_> = table(&text, "## The attacks")?.into_iter().map(str::to_owned).collect();
    let expected: BTreeSet<_> = cases().map(|(subject, case)| row(subject, case)).collect();
    let lacking: Vec<_> = expected.difference(&told).cloned().collect();
    let surplus: Vec<_> = told.difference(&expected).cloned().collect();
    ensure!(
        lacking.is_empty() && surplus.is_empty(),
        "the table of attacks in {DOCUMENT} lacks\n{}\nand has what is not so\n{}",
        lacking.join("\n"),
        surplus.join("\n")
    );
    Ok(())
}

fn enough() -> Result<()> {
    let (all, names) = (cases().count(), cases().map(|(_, case)| case.name).collect::<BTreeSet<_>>());
    ensure!(all >= 40 && names.len() == all, "{all} cases, {} names", names.len());
    let shown = cases().filter(|(_, case)| case.without.is_some()).count();
    ensure!(shown >= 10, "only {shown} attacks were seen to succeed without their layer");
    Ok(())
}
