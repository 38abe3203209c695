//! One Sandbox at a time: from nothing to its first word, a command in it, suspended and back.

use std::time::Instant;

use asb_client::{Deletion, Ends, LogOptions, Wanted};
use asb_types::v1beta1::Sandbox;
use tokio::io::AsyncReadExt;

use crate::report::Times;
use crate::{Result, Stage};

const ROUNDS: usize = 40;
const COMMANDS: usize = 200;
const NAPS: usize = 20;
const CONTAINER: &str = "main";

pub(crate) async fn cold(stage: &Stage) -> Result<()> {
    let (mut words, mut lives) = (Times::default(), Times::default());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let sandbox = stage.client.create_sandbox(&stage.running(&["echo", "hi"])).await?;
        stage.client.wait_until_started(&sandbox, CONTAINER, |_| {}).await?;
        let options = LogOptions { follow: true, ..LogOptions::default() };
        stage.client.logs(&sandbox, &options).await?.read_u8().await?;
        words.add(start.elapsed());
        stage.client.wait_until_ended(&sandbox, CONTAINER).await?;
        stage.client.delete_sandbox(&sandbox, Deletion::default()).await?;
        lives.add(start.elapsed());
    }
    words.say("create of a Sandbox → first byte of `echo`, through the API", 90);
    lives.say("its whole life until it is gone, through the API", 90);
    Ok(())
}

/// A command that says one word, until all of it has arrived with its exit code.
pub(crate) async fn command(stage: &Stage, sandbox: &Sandbox) -> Result<()> {
    let process = stage.client.exec(sandbox, &["echo", "hi"], &Wanted::default()).await?;
    let mut said = Vec::new();
    let ends = Ends { input: None::<tokio::io::Empty>, output: &mut said, errors: tokio::io::sink() };
    let code = process.pump(ends).await?;
    if (code, said.as_slice()) == (0, b"hi\n") { Ok(()) } else { Err("the command went wrong".into()) }
}

pub(crate) async fn exec(stage: &Stage) -> Result<()> {
    let sandbox = stage.client.create_sandbox(&stage.idle()).await?;
    stage.client.wait_until_ready(&sandbox, |_| {}).await?;
    let mut times = Times::default();
    for _ in 0..COMMANDS {
        let start = Instant::now();
        command(stage, &sandbox).await?;
        times.add(start.elapsed());
    }
    times.say("`echo` in a running Sandbox, start to exit code", 99);
    Ok(stage.client.delete_sandbox(&sandbox, Deletion::default()).await?)
}

pub(crate) async fn nap(stage: &Stage) -> Result<()> {
    let mut sandbox = stage.client.create_sandbox(&stage.idle()).await?;
    stage.client.wait_until_ready(&sandbox, |_| {}).await?;
    let (mut downs, mut ups) = (Times::default(), Times::default());
    for _ in 0..NAPS {
        let start = Instant::now();
        sandbox = stage.client.suspend(&sandbox).await?;
        stage.client.wait_until_suspended(&sandbox).await?;
        downs.add(start.elapsed());
        let start = Instant::now();
        sandbox = stage.client.resume(&sandbox).await?;
        stage.client.wait_until_ready(&sandbox, |_| {}).await?;
        ups.add(start.elapsed());
    }
    downs.say("suspend → Suspended, memory given back", 90);
    ups.say("resume → Ready", 90);
    Ok(stage.client.delete_sandbox(&sandbox, Deletion::default()).await?)
}
