//! Our node beside the runtimes that people start containers with: the same commands in the same files, in turn; then
//! what only a node does, as users of the SDK meet it.

mod bundle;
mod crowd;
mod race;
mod stopwatch;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::folder::Folder;
use super::machine::Machine;
use super::{Table, program};
use crate::kube::images::BUSYBOX;
use crate::parts::{self, debian};
use crate::terminal;
use bundle::Bundle;

const HEAD: &[&str] = &["what", "asb", "runc", "runsc", "asb / runc"];

/// What is measured of the node.
#[derive(clap::Args)]
#[group(id = "wishes-of-the-node")]
pub(crate) struct Wishes {
    /// How many idle Sandboxes the node has at the end; 0 for none
    #[arg(long, default_value_t = 1000, value_name = "COUNT")]
    crowd: usize,
}

pub(super) fn measure(wishes: &Wishes) -> Result<Table> {
    let [asb, scenes] = terminal::step("build asb and its scenes", program::asb_and_scenes)?;
    let debian = debian::NODE.obtain()?;
    let runsc = parts::obtain(&["runsc"])?.remove("runsc").context("there is no runsc")?;
    let folder = Folder::create()?;
    let bundle = Bundle::make(&folder.0.join("bundle"), &debian, &runsc)?;
    let node = Node { machine: Machine::start(&asb, &folder.0.join("data"))?, scenes };
    node.machine.load_image(&debian, &folder.0)?;
    let ready = format!("{:.2} s", node.machine.server().ready_in.as_secs_f64());
    let mut rows = vec![alone("first start of `asb up` to ready", ready)];
    rows.extend(terminal::step("run `echo` in a new container of each", || race::run(&node, &bundle))?);
    for scene in ["life", "exec", "warm", "nap", "copy", "burst"] {
        rows.extend(terminal::step(&format!("scene {scene}"), || node.play(scene))?);
    }
    if wishes.crowd > 0 {
        rows.extend(crowd::measure(node, wishes.crowd)?);
    }
    Ok(Table { head: HEAD, rows })
}

/// `asb up` with its node, and whoever asks things of it.
struct Node {
    machine: Machine,
    scenes: PathBuf,
}

impl Node {
    /// What the SDK sees of it, as rows.
    fn play(&self, scene: &str) -> Result<Vec<Vec<String>>> {
        let mut command = Command::new(&self.scenes);
        command.arg(self.machine.server().kubeconfig()).args([BUSYBOX, scene]).stderr(Stdio::inherit());
        let output = command.output().context("starting the scenes")?;
        ensure!(output.status.success(), "the scene {scene} failed");
        let said = String::from_utf8(output.stdout)?;
        Ok(said
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(what, how)| alone(what, how))
            .collect())
    }
}

/// A row that has nobody beside it.
fn alone(what: impl Into<String>, value: impl Into<String>) -> Vec<String> {
    vec![what.into(), value.into(), String::new(), String::new(), String::new()]
}
