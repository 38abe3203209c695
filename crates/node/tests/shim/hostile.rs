//! Images that try to lead the builder of containers out of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::fixture::{Pod, attempt, trial, volume};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("an_image_whose_directories_are_links_does_not_touch_the_machine", links),
        trial("a_volume_on_a_link_of_the_image_stays_in_the_container", mount_on_link),
        trial("an_image_with_a_planted_multiplexer_gets_no_terminal_from_it", planted_multiplexer),
    ]
}

/// What would be at the machine's root if an image had led us there.
const TRACES: &[&str] =
    &["/listing", "/payload", "/termination-log", "/pts", "/mqueue", "/ptmx", "/cgroup", "/not-there"];

fn relink(path: &Path, target: &str) -> Result<()> {
    fs::remove_dir_all(path)?;
    Ok(symlink(target, path)?)
}

async fn links(pod: &mut Pod) -> Result<()> {
    for name in ["proc", "dev", "sys", "etc", "root"] {
        let image = pod.path("image");
        relink(&image.join(name), "/../../../../../../../")?;
        let plan = pod.shell("ls -a / > /listing; cat /listing");
        let built = pod.client.create_container(&attempt(name, 0), plan).await;
        // Whether it comes up with its root covered is its own affair.
        if built.is_ok() && pod.client.start_container(&attempt(name, 0)).await.is_ok() {
            pod.exit(&attempt(name, 0)).await?;
        }
        fs::remove_file(image.join(name))?;
        fs::create_dir(image.join(name))?;
    }
    let traces: Vec<_> = TRACES.iter().filter(|trace| Path::new(trace).exists()).collect();
    ensure!(traces.is_empty(), "the machine was touched: {traces:?}");
    Ok(())
}

async fn mount_on_link(pod: &mut Pod) -> Result<()> {
    let source = pod.path("source");
    fs::create_dir(&source)?;
    symlink("/../../../../tmp", pod.path("image/data"))?;
    let mut plan = pod.shell("touch /data/asb-test-mark; ls /tmp");
    plan.mounts.push(volume(&source, "/data"));
    let output = pod.succeed(plan).await?;
    ensure!(output == "asb-test-mark\n" && source.join("asb-test-mark").exists(), "{output}");
    ensure!(!fs::exists("/tmp/asb-test-mark")?);
    Ok(())
}

async fn planted_multiplexer(pod: &mut Pod) -> Result<()> {
    fs::create_dir_all(pod.path("image/dev/pts"))?;
    fs::write(pod.path("image/dev/pts/ptmx"), "")?;
    let mut plan = pod.shell("test -t 0 && test -c /dev/pts/ptmx && echo real");
    plan.process.tty = true;
    let output = pod.succeed(plan).await?;
    ensure!(output.contains("real"), "{output}");
    Ok(())
}
