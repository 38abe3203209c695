//! The program that puts on the load, in a process of its own: it takes orders one by one and answers each. The other half
//! is `crates/load`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::arrivals::Offsets;
use super::sample::Sample;
use crate::bench::attendant::Attendant;

/// It gives up by itself; this much later it is taken to be dead.
const DEAD: Duration = Duration::from_secs(150);

pub(super) struct Generator {
    program: Attendant,
    answers: Receiver<String>,
}

/// What became of claims.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub(super) struct Run {
    latencies: Vec<Option<u64>>,
    creates: Vec<u64>,
    /// By how many microseconds the load was late, at worst.
    pub(super) lateness: Option<u64>,
    /// How many got a Sandbox that was made for them instead of one from the pool.
    pub(super) cold: usize,
    pub(super) refused: usize,
    /// Until the last one was Ready.
    pub(super) seconds: f64,
}

impl Run {
    pub(super) fn until_ready(&self) -> Sample {
        self.latencies.iter().copied().collect()
    }

    /// Until the request that made the claim was answered.
    pub(super) fn until_made(&self) -> Sample {
        self.creates.iter().copied().map(Some).collect()
    }
}

/// How long there was work.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Settled {
    pub(super) seconds: f64,
    /// The API server's count of everything that was ever written.
    pub(super) version: u64,
}

#[derive(Deserialize)]
struct Took {
    seconds: f64,
}

#[derive(Deserialize)]
struct Document {
    text: String,
}

impl Generator {
    pub(super) fn start(program: &Path, kubeconfig: &Path, log: &Path) -> Result<Self> {
        let mut program = Attendant::start(program, log, |command| {
            command.arg("serve").arg(kubeconfig).stdout(Stdio::piped());
        })?;
        let lines = BufReader::new(program.0.stdout.take().context("its output is piped")?).lines();
        let (sender, answers) = mpsc::channel();
        // It ends with the program, whose output then ends.
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Ok(Self { program, answers })
    }

    pub(super) fn id(&self) -> u32 {
        self.program.id()
    }

    pub(super) fn prepare(&mut self) -> Result<()> {
        self.order(json!({"order": "prepare"}), 60).map(|_: Value| ())
    }

    /// Seconds until a pool was full.
    pub(super) fn pool(&mut self, name: &str, size: u32, patience: u64) -> Result<f64> {
        let took: Took = self.order(json!({"order": "pool", "name": name, "size": size}), patience)?;
        Ok(took.seconds)
    }

    pub(super) fn claims(
        &mut self,
        pool: &str,
        prefix: &str,
        offsets: &Offsets,
        patience: u64,
    ) -> Result<Run> {
        let last = offsets.last().copied().unwrap_or_default() / 1_000_000;
        let order = json!({"order": "claims", "pool": pool, "prefix": prefix, "offsets": offsets});
        self.order_within(order, patience, patience + last)
    }

    pub(super) fn settle(&mut self, pool: Option<(&str, u32)>, patience: u64) -> Result<Settled> {
        self.order(json!({"order": "settle", "pool": pool}), patience)
    }

    /// Seconds until so many Sandboxes were Ready.
    pub(super) fn sandboxes(&mut self, count: u32, patience: u64) -> Result<f64> {
        let took: Took = self.order(json!({"order": "sandboxes", "count": count}), patience)?;
        Ok(took.seconds)
    }

    pub(super) fn touch(&mut self, count: u32) -> Result<()> {
        self.order(json!({"order": "touch", "count": count}), 60).map(|_: Value| ())
    }

    pub(super) fn get(&mut self, path: &str) -> Result<String> {
        let document: Document = self.order(json!({"order": "get", "path": path}), 30)?;
        Ok(document.text)
    }

    fn order<T: DeserializeOwned>(&mut self, order: Value, patience: u64) -> Result<T> {
        self.order_within(order, patience, patience)
    }

    fn order_within<T: DeserializeOwned>(&mut self, mut order: Value, patience: u64, most: u64) -> Result<T> {
        order["patience"] = json!(patience);
        let input = self.program.0.stdin.as_mut().context("its input is piped")?;
        writeln!(input, "{order}").context("telling the load what to do")?;
        let answer = self.answers.recv_timeout(Duration::from_secs(most) + DEAD);
        let mut answer: Value = serde_json::from_str(&answer.context("the load does not answer")?)?;
        if let Some(reason) = answer["failed"].as_str() {
            bail!("{reason}");
        }
        serde_json::from_value(answer["done"].take()).context("reading an answer of the load")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_load_is_understood() {
        let text = r#"{"latencies":[2000,null,1000],"creates":[5,6,7],"lateness":3,"cold":1,"refused":0,"seconds":0.5}"#;
        let run: Run = serde_json::from_str(text).expect("an answer");
        assert_eq!((run.until_ready().len(), run.until_ready().missing), (3, 1));
        assert_eq!((run.lateness, run.cold), (Some(3), 1));
    }
}
