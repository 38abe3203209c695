//! Our API server beside a real kube-apiserver with an etcd that waits for the disk: the same load on each, in turn,
//! because two at once would measure the machine.

mod load;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::embedded::{Embedded, Extent};
use super::folder::Folder;
use super::{Table, memory, program};
use crate::kube::{self, Cluster, Options};
use crate::terminal;
use load::{Figure, Measurements};

const HEAD: &[&str] = &["what", "kube-apiserver + etcd", "asb up", "ours / theirs", "ours in process"];

/// Other work on the machine disturbs a round; the middle one of a few is near to what is usual.
const ROUNDS: usize = 3;

/// The smaller of a few starts is nearest to what the machine can do.
const STARTS: usize = 5;

pub(super) fn measure() -> Result<Table> {
    let programs = terminal::step("build asb and its load", Programs::build)?;
    let folder = Folder::create()?;
    let (first, second) = terminal::step("measure starts of asb", || starts(&programs, &folder))?;
    let servers = Servers::start(&programs, &folder)?;
    let theirs = servers.their_start;
    let mut rows = vec![
        row("first start to ready", seconds(theirs), seconds(first), Some(first.div_duration_f64(theirs))),
        row("start on the same data", String::new(), seconds(second), None),
        servers.memory("resident memory, idle")?,
    ];
    let mut measured = terminal::step("fill the servers", || servers.fill(&programs))?;
    rows.push(servers.memory("resident memory, 10000 ConfigMaps")?);
    for number in 1..=ROUNDS {
        terminal::step(&format!("round {number} of {ROUNDS}"), || {
            servers.round(&programs, &folder, &mut measured)
        })?;
    }
    rows.push(servers.memory("resident memory after all of this")?);
    rows.extend(load_rows(&measured));
    Ok(Table { head: HEAD, rows })
}

/// What was built for measuring.
struct Programs {
    asb: PathBuf,
    load: PathBuf,
}

impl Programs {
    fn build() -> Result<Self> {
        let [asb, load] = program::asb_and_calls()?;
        Ok(Self { asb, load })
    }
}

/// The fastest start without data, and with what that one left.
fn starts(programs: &Programs, folder: &Folder) -> Result<(Duration, Duration)> {
    let mut fastest = (Duration::MAX, Duration::MAX);
    for number in 0..STARTS {
        let data = folder.0.join(format!("start-{number}"));
        fastest.0 = fastest.0.min(Embedded::start(&programs.asb, &data, Extent::Api)?.ready_in);
        fastest.1 = fastest.1.min(Embedded::start(&programs.asb, &data, Extent::Api)?.ready_in);
    }
    Ok(fastest)
}

/// The two that stand beside each other.
struct Servers {
    cluster: Cluster,
    their_start: Duration,
    embedded: Embedded,
}

/// Of kube-apiserver, `asb up`, and our server within the load's own process.
type Measured = [Measurements; 3];

impl Servers {
    fn start(programs: &Programs, folder: &Folder) -> Result<Self> {
        let name = format!("bench-{}", std::process::id());
        let options = Options { name, node: false, durable: true, use_existing: false };
        kube::prepare(&options)?;
        let start = Instant::now();
        let cluster = kube::borrow(&options)?;
        let their_start = start.elapsed();
        Ok(Self {
            cluster,
            their_start,
            embedded: Embedded::start(&programs.asb, &folder.0.join("load"), Extent::Api)?,
        })
    }

    fn fill(&self, programs: &Programs) -> Result<Measured> {
        let theirs = load::run(&programs.load, "at", &self.cluster.kubeconfig, &["fill"])?;
        let ours = load::run(&programs.load, "at", &self.embedded.kubeconfig(), &["fill"])?;
        Ok([theirs, ours, Measurements::default()])
    }

    fn round(&self, programs: &Programs, folder: &Folder, sums: &mut Measured) -> Result<()> {
        let [theirs, ours, within] = sums;
        theirs.add(load::run(&programs.load, "at", &self.cluster.kubeconfig, &["round"])?);
        ours.add(load::run(&programs.load, "at", &self.embedded.kubeconfig(), &["round"])?);
        within.add(load::run(&programs.load, "within", &folder.0, &["fill", "round"])?);
        Ok(())
    }

    fn memory(&self, what: &str) -> Result<Vec<String>> {
        let processes = kube::processes(&self.cluster.name)?;
        let theirs = memory::of_programs(&processes, &["kube-apiserver", "etcd"])?;
        let ours = memory::of(self.embedded.id())?;
        let text = |kibibytes: u64| format!("{} MiB", kibibytes / 1024);
        let ratio = Duration::from_millis(ours).div_duration_f64(Duration::from_millis(theirs));
        Ok(row(what, text(theirs), text(ours), Some(ratio)))
    }
}

fn load_rows([theirs, ours, within]: &Measured) -> Vec<Vec<String>> {
    let figures = theirs.names().flat_map(|what| Figure::ALL.map(|figure| (what, figure)));
    let written = |(what, figure): (&str, Figure)| {
        let (their, our) = (theirs.median(what, figure)?, ours.median(what, figure)?);
        let name = format!("{what}: {}", figure.name());
        let mut row = row(&name, figure.written(their), figure.written(our), Some(our / their));
        row[4] = within.median(what, figure).map(|value| figure.written(value)).unwrap_or_default();
        Some(row)
    };
    figures.filter_map(written).collect()
}

fn row(what: &str, theirs: String, ours: String, ratio: Option<f64>) -> Vec<String> {
    let ratio = ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
    vec![what.to_owned(), theirs, ours, ratio, String::new()]
}

fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
