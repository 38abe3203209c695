//! `asb fsck`: whether what is on this machine is what ought to be there.

mod wanted;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use asb_client::{Client, Destination};
use asb_node::fsck::repair::{self, Repaired};
use asb_node::fsck::{Report, Stray, compare, machine};
use serde_json::json;

use crate::node::State;
use crate::output::{self, Form};
use crate::place::Place;
use crate::{control, daemon, session};

/// Compare what is on this machine with what ought to be there.
///
/// Directories, processes, cgroups, links, rules for packets, mounts, logs and images of Pods that nobody knows any more, what
/// nodes of this machine left whose data directories are gone, and Pods that are said to run and lack something. Needs the
/// daemon, which knows the Pods, and root, who sees the rest. Looks twice, so that what is only on its way is not taken for
/// lost.
///
/// With --repair, what belongs to nobody is removed; volumes are only named, because what is in them may be all that somebody
/// has. Fails where something is found and stays.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb fsck
  asb fsck --repair
  asb fsck -o json")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,

    /// Remove what belongs to nobody
    #[arg(long)]
    repair: bool,

    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// Between the two looks: longer than a Pod takes to be made or removed on paper and in fact.
const PAUSE: Duration = Duration::from_secs(2);

/// What was found, and what is gone by now.
struct Outcome {
    report: Report,
    removed: Vec<Stray>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let data_dir = arguments.place.directory()?;
    if !rustix::process::geteuid().is_root() {
        bail!("only root sees everything that Pods have on a machine; run it with sudo");
    }
    let report = session::block_on(examine(&data_dir))?;
    let removed = if arguments.repair { mend(&daemon::node_root(&data_dir), &report)? } else { Vec::new() };
    let outcome = Outcome { report, removed };
    output::print(&match arguments.output {
        Form::Json => outcome.as_json(),
        Form::Text => outcome.as_text(),
    })?;
    Ok(if outcome.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn examine(data_dir: &Path) -> Result<Report> {
    let Some(hello) = control::hello(data_dir).await? else {
        bail!(
            "no daemon serves {}, and only one knows which Pods there are; start it with `asb up`",
            data_dir.display()
        );
    };
    let node = match hello.node {
        State::Runs { name } => Some(name),
        State::Pretended | State::Off { .. } => None,
    };
    let client = Client::connect(&Destination::Local(data_dir.join("kubeconfig"))).await?;
    let root = daemon::node_root(data_dir);
    let first = look(&client, &root, node.as_deref()).await?;
    if first.is_empty() {
        return Ok(first);
    }
    tokio::time::sleep(PAUSE).await;
    Ok(first.confirmed_by(&look(&client, &root, node.as_deref()).await?))
}

async fn look(client: &Client, root: &Path, node: Option<&str>) -> Result<Report> {
    let place: PathBuf = root.to_owned();
    let machine =
        tokio::task::spawn_blocking(move || machine::look(&place)).await.context("the look was cut off")?;
    Ok(compare(&machine?, &wanted::ask(client, node).await?))
}

fn mend(root: &Path, report: &Report) -> Result<Vec<Stray>> {
    let mut removed = Vec::new();
    for stray in &report.strays {
        if repair::remove(root, stray).with_context(|| format!("cannot remove {stray}"))? == Repaired::Removed
        {
            removed.push(stray.clone());
        }
    }
    Ok(removed)
}

impl Outcome {
    fn is_sound(&self) -> bool {
        self.report.lacks.is_empty() && self.report.strays.iter().all(|stray| self.removed.contains(stray))
    }

    fn as_text(&self) -> String {
        if self.report.is_empty() {
            return "everything on this machine is as it ought to be\n".to_owned();
        }
        let mut lines = Vec::new();
        for stray in &self.report.strays {
            let end = match stray {
                _ if self.removed.contains(stray) => "; removed",
                Stray::Volume { .. } => "; kept, because it may be all that somebody has",
                _ => "",
            };
            lines.push(format!("belongs to nobody: {stray}{end}\n"));
        }
        for lack in &self.report.lacks {
            let (namespace, name, what) = (&lack.namespace, &lack.name, lack.what);
            lines.push(format!("Pod {namespace}/{name} is said to run, and has no {what}\n"));
        }
        let can_mend =
            |stray: &Stray| !self.removed.contains(stray) && !matches!(stray, Stray::Volume { .. });
        if self.report.strays.iter().any(can_mend) {
            lines.push("\n`asb fsck --repair` removes what belongs to nobody.\n".to_owned());
        }
        lines.concat()
    }

    fn as_json(&self) -> String {
        let Self { report, removed } = self;
        let answer = json!({"sound": self.is_sound(), "strays": report.strays, "lacks": report.lacks, "removed": removed});
        format!("{answer:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use asb_node::fsck::{Lack, Part};

    use super::*;

    fn outcome(removed: bool) -> Outcome {
        let logs = Stray::Logs { name: "team_box_u1".to_owned() };
        let strays = [logs.clone(), Stray::Volume { name: "pv-1".to_owned() }].into();
        let lack = Lack {
            namespace: "team".to_owned(),
            name: "box".to_owned(),
            uid: "u2".to_owned(),
            what: Part::Shim,
        };
        let removed = if removed { vec![logs] } else { Vec::new() };
        Outcome { report: Report { strays, lacks: [lack].into() }, removed }
    }

    #[test]
    fn what_was_found_is_said_and_what_became_of_it() {
        insta::assert_snapshot!([outcome(false).as_text(), outcome(true).as_text()].join("---\n"));
        insta::assert_snapshot!("fsck_as_json", outcome(true).as_json());
    }

    #[test]
    fn a_machine_is_sound_when_nothing_was_found_or_all_of_it_is_gone() {
        let logs = Stray::Logs { name: "x".to_owned() };
        let report = Report { strays: [logs.clone()].into(), ..Report::default() };
        assert!(Outcome { report: Report::default(), removed: Vec::new() }.is_sound());
        assert!(!Outcome { report: report.clone(), removed: Vec::new() }.is_sound());
        assert!(Outcome { report, removed: vec![logs] }.is_sound());
    }
}
