//! What sandboxes that do nothing hold in memory, with sandboxd in them and without.

use anyhow::Result;
use serde_json::{Value, json};

use super::Table;
use super::figures::{Column, Figures, Side, Unit};
use super::inside;
use super::load::Load;
use crate::bench::held::{Held, available, each};
use crate::bench::machine::Machine;
use crate::terminal;

const HEAD: &[&str] = &["memory of one idle sandbox", "with sandboxd", "without"];
const COLUMNS: [Column; 2] = [Column::Of(Side::Ours), Column::Of(Side::Direct)];

/// What the budget is about: whatever is more, since memory that others give back meanwhile hides what is taken.
pub(super) const OF_THE_MACHINE: &str = "what it takes of the machine";
pub(super) const OF_PROCESSES: &str = "all of its processes, PSS";

pub(super) fn measure(
    machine: &Machine,
    load: &mut Load,
    count: usize,
    figures: &mut Figures,
) -> Result<Table> {
    let from = figures.len();
    for (side, access, title) in
        [(Side::Direct, None, "without sandboxd"), (Side::Ours, Some("Token"), "with sandboxd")]
    {
        let title = format!("{count} idle sandboxes {title}");
        terminal::step(&title, || gather(machine, load, count, access, side, figures))?;
    }
    Ok(Table { head: HEAD, rows: figures.rows(from, &COLUMNS) })
}

fn gather(
    machine: &Machine,
    load: &mut Load,
    count: usize,
    access: Option<&str>,
    side: Side,
    figures: &mut Figures,
) -> Result<()> {
    let kubeconfig = machine.server().kubeconfig();
    let names: Vec<String> = (0..count).map(|number| format!("crowd-{number}")).collect();
    let before = available()?;
    inside::make(load, &kubeconfig, &names, access)?;
    let held = Held::by(machine)?;
    let (before, after) = (each(before, count), each(available()?, count));
    let mut add = |what: &str, kibibytes| figures.add(what, Unit::Mebibytes, side, each(kibibytes, count));
    add(OF_PROCESSES, held.shims + held.inside);
    add("its shim, PSS", held.shims);
    add("all that runs in it, PSS", held.inside);
    if access.is_some() {
        add("sandboxd alone, PSS", held.by_program("sandboxd"));
    }
    figures.add(OF_THE_MACHINE, Unit::Mebibytes, side, before - after);
    load.sandboxes::<Value>(&kubeconfig, json!({"work": "remove", "names": names})).map(drop)
}
