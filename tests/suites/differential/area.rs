//! Runs the cases of an area side by side, and compares what was said with the goldens or records it.

use std::collections::BTreeSet;
use std::env;

use anyhow::{Result, anyhow, ensure};
use asb_tests::Cluster;
use asb_tests::conversion::serve_conversion;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::case::{self, Case, File};
use crate::deviation::Deviations;
use crate::difference::differences;
use crate::golden::{self, Goldens};
use crate::normal::{Given, normalise};
use crate::play::Stage;
use crate::report::Report;
use crate::variables::Variables;

const SIDE_BY_SIDE: usize = 8;
/// Only cases whose area, file or name contains this.
const FILTER: &str = "ASB_CASES";
/// `true` writes the goldens instead of comparing with them.
const RECORD: &str = "ASB_RECORD";

/// Fails with everything that differs, after all cases have run.
pub(crate) async fn check(cluster: Cluster, area: &str) -> Result<()> {
    let (real, recording) =
        (cluster.is_original().await, env::var(RECORD).is_ok_and(|record| record == "true"));
    ensure!(real || !recording, "only what the real server answers is recorded");
    if real {
        // Before any area begins: a changed definition ends the watches of its kind. Ours converts by itself.
        serve_conversion(&cluster).await?;
    }
    let deviations = if real { Deviations::none() } else { Deviations::read()? };
    let mut report = Report::new(recording);
    for file in case::read_area(area)? {
        check_file(&cluster, &file, &deviations, &mut report).await?;
    }
    report.conclude(area)
}

async fn check_file(cluster: &Cluster, file: &File, known: &Deviations, report: &mut Report) -> Result<()> {
    let wanted: Vec<_> = file.contents.cases.iter().filter(|case| is_wanted(&file.id(case))).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let played = play_all(cluster, file, &wanted).await;
    if report.recording {
        record(file, &wanted, played, report)
    } else {
        judge(file, &wanted, played, known, report)
    }
}

/// Compares with the goldens.
fn judge(
    file: &File,
    cases: &[&Case],
    played: Vec<Result<Vec<Value>>>,
    known: &Deviations,
    report: &mut Report,
) -> Result<()> {
    let mut goldens = golden::read(file)?;
    for (case, answers) in cases.iter().zip(played) {
        report.add(&file.id(case), verdict(&file.id(case), goldens.remove(&case.name), answers, known));
    }
    if goldens.keys().any(|name| !file.contents.cases.iter().any(|case| &case.name == name)) {
        report.add(&file.name, vec!["    there are goldens of cases that are gone: record again".to_owned()]);
    }
    Ok(())
}

fn is_wanted(id: &str) -> bool {
    env::var(FILTER).map_or(true, |filter| id.contains(&filter))
}

/// What was said in each case. If the file cannot begin, none of its cases can.
async fn play_all(cluster: &Cluster, file: &File, cases: &[&Case]) -> Vec<Result<Vec<Value>>> {
    let mut stage = Stage::of_file(cluster);
    let played = match stage.prepare(&file.contents.setup).await {
        Ok(()) => {
            let plays = cases.iter().map(|case| play(cluster, case, stage.variables.clone()));
            stream::iter(plays).buffered(SIDE_BY_SIDE).collect().await
        }
        Err(error) => cases.iter().map(|_| Err(anyhow!("cannot set the file up: {error:#}"))).collect(),
    };
    stage.leave().await;
    played
}

async fn play(cluster: &Cluster, case: &Case, variables: Variables) -> Result<Vec<Value>> {
    let mut stage = Stage::of_case(cluster, case, variables).await?;
    let played = match stage.prepare(&case.setup).await {
        Ok(()) => stage.perform(&case.steps).await,
        Err(error) => Err(error.context("cannot set the case up")),
    };
    let variables = stage.variables.clone();
    stage.leave().await;
    let names = [("ns", "<ns>"), ("unique", "<unique>"), ("file", "<file>")];
    let names = names.iter().filter_map(|(name, alias)| Some((variables.get(name)?, *alias))).collect();
    Ok(normalise(played?, &Given { names, source: &case.source() }))
}

/// What is wrong, in lines; nothing if the case agrees.
fn verdict(id: &str, golden: Option<Value>, answers: Result<Vec<Value>>, known: &Deviations) -> Vec<String> {
    let answers = match answers {
        Ok(answers) => answers,
        Err(error) => return vec![format!("    {error:#}")],
    };
    let Some(Value::Array(golden)) = golden else { return vec!["    no golden: record it".to_owned()] };
    let (mut complaints, mut used) = (Vec::new(), BTreeSet::new());
    for step in 0..golden.len().max(answers.len()) {
        let (expected, got) =
            (golden.get(step).unwrap_or(&Value::Null), answers.get(step).unwrap_or(&Value::Null));
        let mut found = differences(expected, got);
        known.excuse(id, step + 1, &mut found, &mut used);
        if !found.is_empty() {
            complaints.push(format!("  step {}: {}", step + 1, got["request"].as_str().unwrap_or("(none)")));
        }
        complaints.extend(found.iter().map(ToString::to_string));
    }
    complaints.extend(known.idle(id, &used));
    complaints
}

/// Replaces the goldens of the cases that ran; others stay unless their case is gone.
fn record(file: &File, cases: &[&Case], played: Vec<Result<Vec<Value>>>, report: &mut Report) -> Result<()> {
    let mut goldens: Goldens = golden::read(file)?;
    goldens.retain(|name, _| file.contents.cases.iter().any(|case| &case.name == name));
    for (case, answers) in cases.iter().zip(played) {
        let complaints = match answers {
            Ok(answers) => {
                goldens.insert(case.name.clone(), json!(answers));
                Vec::new()
            }
            Err(error) => vec![format!("    cannot record: {error:#}")],
        };
        report.add(&file.id(case), complaints);
    }
    golden::write(file, &goldens)
}
