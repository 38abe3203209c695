//! Many Sandboxes: started at once, or there for long.

use std::time::{Duration, Instant};

use asb_client::{Deletion, NewSandbox};
use asb_types::v1beta1::Sandbox;
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::report::{Times, say};
use crate::{Result, Stage, life};

const BURST: usize = 100;
/// How many are asked for at a time where nobody is in a hurry.
const AT_A_TIME: usize = 16;
/// How many of a crowd are asked whether they still answer.
const ASKED: usize = 10;

pub(crate) async fn burst(stage: &Stage) -> Result<()> {
    let start = Instant::now();
    let started = start_all(stage, BURST, BURST).await?;
    let times: Times = started.iter().map(|(_, time)| *time).collect();
    say("100 Sandboxes asked for at once → all Ready", &format!("{:.2} s", start.elapsed().as_secs_f64()));
    times.say("the same, each from its request", 90);
    let ends =
        stream::iter(&started).map(|(sandbox, _)| stage.client.delete_sandbox(sandbox, Deletion::default()));
    let start = Instant::now();
    ends.buffer_unordered(BURST).try_collect::<Vec<_>>().await?;
    say("the same 100 deleted at once → all gone", &format!("{:.2} s", start.elapsed().as_secs_f64()));
    Ok(())
}

/// They stay when this program ends.
pub(crate) async fn gather(stage: &Stage, size: usize) -> Result<()> {
    let start = Instant::now();
    start_all(stage, size, AT_A_TIME).await?;
    let rate = start.elapsed() / u32::try_from(size)?;
    say(&format!("{size} Sandboxes, {AT_A_TIME} at a time: each"), &crate::report::milliseconds(rate));
    Ok(())
}

/// That they answer: some of a crowd, evenly spread.
pub(crate) async fn reach(stage: &Stage, size: usize) -> Result<()> {
    for number in (0..size).step_by((size / ASKED).max(1)) {
        let sandbox = stage.client.sandbox(stage.client.namespace(), &name(number)).await?;
        life::command(stage, &sandbox).await?;
    }
    Ok(())
}

async fn start_all(stage: &Stage, size: usize, at_a_time: usize) -> Result<Vec<(Sandbox, Duration)>> {
    stream::iter(0..size)
        .map(|number| start_one(stage, number))
        .buffer_unordered(at_a_time)
        .try_collect()
        .await
}

async fn start_one(stage: &Stage, number: usize) -> Result<(Sandbox, Duration)> {
    let start = Instant::now();
    let wanted = NewSandbox { name: Some(name(number)), ..stage.idle() };
    let sandbox = stage.client.create_sandbox(&wanted).await?;
    stage.client.wait_until_ready(&sandbox, |_| {}).await?;
    Ok((sandbox, start.elapsed()))
}

fn name(number: usize) -> String {
    format!("crowd-{number}")
}
