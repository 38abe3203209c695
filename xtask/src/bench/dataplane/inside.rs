//! A real sandbox: commands and files through router and sandboxd, straight to sandboxd, and through the API.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::figures::{Column, Figures, Side, Unit};
use super::load::{Calls, Load, Sample};
use super::scale::Scale;
use super::{Stage, Table};
use crate::bench::machine::Machine;
use crate::kube::images::BUSYBOX;
use crate::parts::debian;
use crate::terminal;

const HEAD: &[&str] =
    &["in a sandbox", "through router and sandboxd", "straight to sandboxd", "through the API (`pods/exec`)"];
const COLUMNS: [Column; 3] = [Column::Of(Side::Ours), Column::Of(Side::Direct), Column::Of(Side::Theirs)];

/// The one whose runtime asks for tokens, and one that lets everybody in.
const BOX: &str = "box";
const OPEN: &str = "open";
const RUNTIME: u16 = 8888;
const AT_ONCE: usize = 8;

/// A node, with the image that its Sandboxes are made of.
pub(super) fn start(stage: &Stage<'_>) -> Result<Machine> {
    let debian = debian::NODE.obtain()?;
    terminal::step("start asb with its node", || {
        let machine = Machine::start(stage.asb, &stage.folder.join("node"))?;
        machine.load_image(&debian, stage.folder)?;
        Ok(machine)
    })
}

pub(super) fn measure(
    stage: &Stage<'_>,
    machine: &Machine,
    load: &mut Load,
    figures: &mut Figures,
) -> Result<Table> {
    let from = figures.len();
    let ways = terminal::step("make two sandboxes", || Ways::open(machine, load))?;
    for round in 1..=stage.scale.rounds {
        let title = |what: &str| format!("{what} (round {round} of {})", stage.scale.rounds);
        terminal::step(&title("commands"), || ways.commands(stage.scale, load, figures))?;
        terminal::step(&title("files"), || ways.files(stage.scale, load, figures))?;
    }
    let work = json!({"work": "remove", "names": [BOX, OPEN]});
    load.sandboxes::<Value>(&ways.kubeconfig, work)?;
    Ok(Table { head: HEAD, rows: figures.rows(from, &COLUMNS) })
}

/// Where sandboxd is reached, and how.
struct Ways {
    kubeconfig: PathBuf,
    through: Way,
    straight: Way,
}

struct Way {
    side: Side,
    address: String,
    headers: Vec<String>,
}

#[derive(Deserialize)]
struct Made {
    addresses: Vec<Option<String>>,
}

#[derive(Deserialize)]
struct Copied {
    into: f64,
    out: f64,
}

impl Ways {
    fn open(machine: &Machine, load: &mut Load) -> Result<Self> {
        let kubeconfig = machine.server().kubeconfig();
        make(load, &kubeconfig, &[BOX.to_owned()], Some("Token"))?;
        let open = make(load, &kubeconfig, &[OPEN.to_owned()], Some("Open"))?;
        let open = open.into_iter().next().flatten().context("the sandbox has no address")?;
        let token = said(machine, &["token", BOX])?;
        let status: Value = serde_json::from_str(&said(machine, &["status", "--output", "json"])?)?;
        let router = status["router"].as_str().and_then(|url| url.strip_prefix("http://"));
        let headers = vec![format!("X-Sandbox-ID: {BOX}"), format!("Authorization: Bearer {token}")];
        let address = router.context("asb has no router")?.to_owned();
        let through = Way { side: Side::Ours, address, headers };
        let address = format!("{open}:{RUNTIME}");
        let straight = Way { side: Side::Direct, address, headers: Vec::new() };
        Ok(Self { kubeconfig, through, straight })
    }

    fn commands(&self, scale: &Scale, load: &mut Load, figures: &mut Figures) -> Result<()> {
        let alone = "`echo`, one after the other";
        for way in [&self.through, &self.straight] {
            for connections in [1, AT_ONCE] {
                let calls = Calls {
                    text: json!({"command": "echo hi"}).to_string(),
                    expected: r#""exit_code":0"#.to_owned(),
                    connections,
                    ..way.calls(scale, "POST /execute", &["Content-Type: application/json"])
                };
                let sample = load.calls(&calls)?;
                let many = format!("`echo`, {connections} at a time");
                figures.add_times(if connections == 1 { alone } else { &many }, way.side, &sample);
            }
        }
        let work = json!({"work": "exec", "name": BOX, "times": scale.commands});
        let sample: Sample = load.sandboxes(&self.kubeconfig, work)?;
        figures.add_times(alone, Side::Theirs, &sample);
        Ok(())
    }

    fn files(&self, scale: &Scale, load: &mut Load, figures: &mut Figures) -> Result<()> {
        let (size, whole) = (scale.file, u64::from(scale.file) << 20);
        let (into, out) =
            (format!("a file of {size} MiB into it"), format!("a file of {size} MiB out of it"));
        for way in [&self.through, &self.straight] {
            let upload = Calls { zeros: whole, ..way.calls(scale, "PUT /v1/files/file", &[]) };
            let rate = load.calls(&upload)?.mebibytes_per_second;
            figures.add(&into, Unit::MebibytesPerSecond, way.side, rate);
            let rate = load.calls(&way.calls(scale, "GET /v1/files/file", &[]))?.mebibytes_per_second;
            figures.add(&out, Unit::MebibytesPerSecond, way.side, rate);
        }
        let work = json!({"work": "copy", "name": BOX, "mebibytes": size});
        let copied: Copied = load.sandboxes(&self.kubeconfig, work)?;
        figures.add(into, Unit::MebibytesPerSecond, Side::Theirs, copied.into);
        figures.add(out, Unit::MebibytesPerSecond, Side::Theirs, copied.out);
        Ok(())
    }
}

impl Way {
    fn calls(&self, scale: &Scale, line: &str, headers: &[&str]) -> Calls {
        let first = [format!("{line} HTTP/1.1"), "Host: sandbox.test".to_owned()];
        let own = headers.iter().map(ToString::to_string);
        Calls {
            address: self.address.clone(),
            head: first.into_iter().chain(self.headers.clone()).chain(own).collect(),
            connections: 1,
            warm_up: scale.warm_up,
            measured: scale.measured,
            ..Calls::default()
        }
    }
}

/// Sandboxes that do nothing, and where they are. With a runtime, if it is said who may use it.
pub(super) fn make(
    load: &mut Load,
    kubeconfig: &Path,
    names: &[String],
    access: Option<&str>,
) -> Result<Vec<Option<String>>> {
    let work = json!({"work": "make", "names": names, "image": BUSYBOX, "access": access});
    Ok(load.sandboxes::<Made>(kubeconfig, work).context("making Sandboxes")?.addresses)
}

fn said(machine: &Machine, arguments: &[&str]) -> Result<String> {
    let output = machine.command(arguments).output().context("starting asb")?;
    ensure!(output.status.success(), "`asb {}` failed", arguments.join(" "));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
