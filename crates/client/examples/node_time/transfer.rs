//! Files into a Sandbox and out of it again.

use std::env;
use std::fs;
use std::time::{Duration, Instant};

use asb_client::Deletion;

use crate::report::say;
use crate::{Result, Stage};

const MEBIBYTES: u32 = 256;

pub(crate) async fn copies(stage: &Stage) -> Result<()> {
    let folder = env::temp_dir().join(format!("node-time-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let copied = there_and_back(stage, &folder).await;
    fs::remove_dir_all(&folder)?;
    copied
}

async fn there_and_back(stage: &Stage, folder: &std::path::Path) -> Result<()> {
    let (here, back) = (folder.join("file"), folder.join("back"));
    let pattern: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    fs::write(&here, pattern.repeat(usize::try_from(MEBIBYTES)?))?;
    let sandbox = stage.client.create_sandbox(&stage.idle()).await?;
    stage.client.wait_until_ready(&sandbox, |_| {}).await?;
    let start = Instant::now();
    stage.client.copy_in(&sandbox, &here, "/tmp/file", None).await?;
    say("copy of a file of 256 MiB into a Sandbox", &rate(start.elapsed()));
    let start = Instant::now();
    stage.client.copy_out(&sandbox, "/tmp/file", &back, None).await?;
    say("copy of a file of 256 MiB out of a Sandbox", &rate(start.elapsed()));
    if fs::read(&here)? != fs::read(&back)? {
        return Err("the file came back changed".into());
    }
    Ok(stage.client.delete_sandbox(&sandbox, Deletion::default()).await?)
}

fn rate(time: Duration) -> String {
    format!("{:.0} MiB/s", f64::from(MEBIBYTES) / time.as_secs_f64())
}
