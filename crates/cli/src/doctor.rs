//! `asb doctor`: what this machine can and cannot do, and what helps.

mod words;

use std::process::ExitCode;

use anyhow::Result;
use asb_node::doctor::{Finding, Verdict, examine};
use serde_json::{Value, json};

use crate::daemon;
use crate::output::tone::{self, Tone, painted};
use crate::output::{self, Form};
use crate::place::Place;

/// Say what this machine can and cannot do for sandboxes, and how to mend it.
///
/// Everything is tried: namespaces, layers of a root file system, cgroups, the filter of system calls and the network of a
/// Pod are made and removed again. Fails where the machine cannot run Pods.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb doctor
  asb doctor -o json | jq '.findings[] | select(.verdict != \"ok\")'")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,

    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let findings = examine(&daemon::node_root(&arguments.place.directory()?));
    let fails = findings.iter().any(|finding| finding.verdict == Verdict::Fail);
    output::print(&match arguments.output {
        Form::Json => format!("{:#}\n", as_json(&findings, !fails)),
        Form::Text => as_text(&findings, !fails, tone::on_output()),
    })?;
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn as_text(findings: &[Finding], able: bool, colours: bool) -> String {
    let width =
        findings.iter().map(|finding| words::title(finding.check).chars().count()).max().unwrap_or_default();
    let mut lines = Vec::new();
    for finding in findings {
        let (word, tone) = verdict(finding.verdict);
        let gap = " ".repeat(4 - word.len());
        let title = words::title(finding.check);
        lines.push(format!("{}{gap}  {title:width$}  {finding}", painted(word, tone, colours)));
        if let Some(remedy) = remedy(finding) {
            lines.push(format!("      {:width$}  {remedy}", ""));
        }
    }
    let end =
        if able { "This machine can run sandboxes." } else { "This machine cannot run sandboxes as it is." };
    lines.join("\n") + "\n\n" + end + "\n"
}

fn as_json(findings: &[Finding], able: bool) -> Value {
    let shown = |finding: &Finding| {
        let mut shown = json!(finding);
        shown["title"] = words::title(finding.check).into();
        shown["essential"] = finding.check.is_essential().into();
        shown["remedy"] = remedy(finding).into();
        shown
    };
    json!({"able": able, "findings": findings.iter().map(shown).collect::<Vec<_>>()})
}

fn remedy(finding: &Finding) -> Option<&'static str> {
    (finding.verdict != Verdict::Ok).then(|| words::remedy(finding.check))
}

fn verdict(verdict: Verdict) -> (&'static str, Tone) {
    match verdict {
        Verdict::Ok => ("ok", Tone::Good),
        Verdict::Warn => ("warn", Tone::Uncertain),
        Verdict::Fail => ("fail", Tone::Bad),
    }
}

#[cfg(test)]
mod tests {
    use asb_node::doctor::Check;

    use super::*;

    fn finding(check: Check, verdict: Verdict, found: &str) -> Finding {
        Finding { check, verdict, found: found.to_owned() }
    }

    fn findings() -> Vec<Finding> {
        vec![
            finding(Check::Root, Verdict::Ok, "this is root, with all capabilities that are needed"),
            finding(Check::Layers, Verdict::Fail, "the file system of /data cannot map ids (nfs)"),
            finding(
                Check::Quotas,
                Verdict::Warn,
                "sizes of volumes are measured and not enforced: no prjquota",
            ),
        ]
    }

    #[test]
    fn every_finding_has_a_line_and_what_is_wrong_has_a_remedy() {
        insta::assert_snapshot!(as_text(&findings(), false, false));
    }

    #[test]
    fn programs_get_the_same() {
        insta::assert_snapshot!(format!("{:#}", as_json(&findings()[1..2], false)));
    }
}
