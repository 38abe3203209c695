//! Our node beside the runtimes that people start containers with: the same commands in the same files, in turn; then
//! what only a node does, as users of the SDK meet it.

mod bundle;
mod crowd;
mod race;
mod stopwatch;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::embedded::{Embedded, Extent};
use super::folder::Folder;
use super::{Table, program};
use crate::kube::images::{BUSYBOX, shell};
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
    let node = Node::start(&asb, &scenes, &folder.0.join("data"))?;
    node.load_image(&debian, &folder.0)?;
    let ready = format!("{:.2} s", node.server().ready_in.as_secs_f64());
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
    asb: PathBuf,
    scenes: PathBuf,
    data: PathBuf,
    server: Option<Embedded>,
}

impl Node {
    fn start(asb: &Path, scenes: &Path, data: &Path) -> Result<Self> {
        let server = Embedded::start(asb, data, Extent::Node)?;
        Ok(Self { asb: asb.into(), scenes: scenes.into(), data: data.into(), server: Some(server) })
    }

    fn server(&self) -> &Embedded {
        self.server.as_ref().expect("it is there between its end and its next start, which nobody sees")
    }

    /// Killed, and started on what it left.
    fn restart(&mut self) -> Result<()> {
        drop(self.server.take());
        self.server = Some(Embedded::start(&self.asb, &self.data, Extent::Node)?);
        Ok(())
    }

    fn load_image(&self, debian: &Path, folder: &Path) -> Result<()> {
        let archive = folder.join("image.tar");
        shell(BUSYBOX, debian)?.command(&["/bin/sh"]).save(std::fs::File::create(&archive)?)?;
        let mut load = self.command(&["image", "load"]);
        ensure!(
            load.arg(&archive).stdout(Stdio::null()).status()?.success(),
            "the node does not take the image"
        );
        Ok(())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.asb);
        // What the user has elsewhere is not meant.
        command.args(arguments).env_remove("KUBECONFIG").env("ASB_DATA_DIR", &self.data);
        command
    }

    /// What the SDK sees of it, as rows.
    fn play(&self, scene: &str) -> Result<Vec<Vec<String>>> {
        let mut command = Command::new(&self.scenes);
        command.arg(self.server().kubeconfig()).args([BUSYBOX, scene]).stderr(Stdio::inherit());
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

impl Drop for Node {
    /// What it has started ends with it.
    fn drop(&mut self) {
        let down = self.command(&["down"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !down.is_ok_and(|status| status.success()) {
            terminal::note(&format!("the node of {} could not be stopped", self.data.display()));
        }
    }
}

/// A row that has nobody beside it.
fn alone(what: impl Into<String>, value: impl Into<String>) -> Vec<String> {
    vec![what.into(), value.into(), String::new(), String::new(), String::new()]
}
