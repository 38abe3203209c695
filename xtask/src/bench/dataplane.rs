//! The way into sandboxes: our router beside nginx, the same requests through each, in turn; then real sandboxes, through the
//! router and sandboxd, and around them.

mod budgets;
mod crowd;
mod figures;
mod inside;
mod load;
mod nginx;
mod proxies;
mod race;
mod router;
mod scale;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::folder::Folder;
use super::{BUDGETS, Table, program};
use crate::terminal;
use figures::Figures;
use load::Load;
use scale::Scale;

/// What is measured of the way in.
#[derive(clap::Args)]
#[command(next_help_heading = "Dataplane")]
#[group(id = "wishes-of-the-dataplane")]
pub(super) struct Wishes {
    /// Only these parts of `dataplane`
    #[arg(long, value_enum, value_delimiter = ',')]
    parts: Vec<Part>,
    /// A folder with an `asb` and a `proxy-load` to measure with in `dataplane`, instead of building them
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// The router beside nginx
    Router,
    /// Commands and files of a real sandbox; needs root
    Sandbox,
    /// The memory of idle sandboxes; needs root
    Crowd,
}

impl Wishes {
    fn want(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    fn programs(&self) -> Result<[PathBuf; 2]> {
        let Some(folder) = &self.programs else {
            return terminal::step("build asb and the load", program::asb_and_proxy_load);
        };
        let programs = ["asb", "proxy-load"].map(|name| folder.join(name));
        for program in &programs {
            ensure!(program.is_file(), "there is no {}", program.display());
        }
        Ok(programs)
    }
}

pub(super) fn measure(wishes: &Wishes, quick: bool) -> Result<Vec<Table>> {
    let scale = if quick { &scale::QUICK } else { &scale::FULL };
    let [asb, load] = wishes.programs()?;
    let folder = Folder::create()?;
    let mut load = Load::start(&load, &folder.0.join("load.log"))?;
    let mut figures = Figures::default();
    let mut tables = Vec::new();
    if wishes.want(Part::Router) {
        let stage = Stage { asb: &asb, folder: &folder.0, scale };
        tables.push(race::measure(&stage, &mut load, &mut figures)?);
    }
    if wishes.want(Part::Sandbox) || wishes.want(Part::Crowd) {
        let stage = Stage { asb: &asb, folder: &folder.0, scale };
        let machine = inside::start(&stage)?;
        if wishes.want(Part::Sandbox) {
            tables.push(inside::measure(&stage, &machine, &mut load, &mut figures)?);
        }
        if wishes.want(Part::Crowd) {
            tables.push(crowd::measure(&machine, &mut load, scale.crowd, &mut figures)?);
        }
    }
    tables.push(Table { head: BUDGETS, rows: budgets::rows(&figures) });
    Ok(tables)
}

/// What everything is measured with.
struct Stage<'a> {
    asb: &'a Path,
    folder: &'a Path,
    scale: &'static Scale,
}
