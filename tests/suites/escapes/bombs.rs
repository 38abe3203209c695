//! Taking everything there is: processes, memory, time, disk and attention. The machine and the neighbours keep working.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use asb_tests::pods::spec::{With, idle, once, python};
use asb_tests::pods::stage::{Stage, exit, has_ended, restarts};
use asb_tests::wait;
use serde_json::json;
use tokio::process::Command;
use tokio::time::timeout;

use crate::case::Attack::Staged;
use crate::case::Layer::Limits;
use crate::case::{Case, Outcome, Without, case};
use crate::ground::Ground;

pub(crate) const CASES: &[Case] = &[
    case(
        "a_fork_bomb_hurts_nobody_else",
        "the oldest of all; a Pod without a limit takes the machine's process numbers",
        &[Limits],
        Staged(|ground| Box::pin(forks(ground))),
    ),
    case(
        "a_memory_bomb_hurts_nobody_else",
        "memory of processes, of files in memory and of the kernel for them",
        &[Limits],
        Staged(|ground| Box::pin(memory(ground))),
    )
    .without(Without::Otherwise("no limit; the bomb ends by itself")),
    case("time_is_shared", "programs that never wait", &[Limits], Staged(|ground| Box::pin(time(ground)))),
    case(
        "a_disk_bomb_is_evicted",
        "volumes without an end",
        &[Limits],
        Staged(|ground| Box::pin(disk(ground))),
    ),
    case(
        "output_does_not_fill_the_disk",
        "CVE-2020-8557's kind: files of the node that a container makes grow",
        &[Limits],
        Staged(|ground| Box::pin(output(ground))),
    ),
];

/// The neighbour answers, a new process of the machine runs, and nobody had to be started again.
async fn others_work(stage: &Stage) -> Result<()> {
    let patience = Duration::from_secs(20);
    timeout(patience, stage.exec("neighbour", "echo here"))
        .await
        .context("the neighbour does not answer")??;
    let machine = Command::new("sh").args(["-c", "echo here | cat"]).kill_on_drop(true).status();
    ensure!(timeout(patience, machine).await.context("the machine does not answer")??.success());
    let pod = stage.pods().get("neighbour").await?;
    ensure!(restarts(&pod) == 0 && !has_ended(&pod), "the neighbour was ended");
    Ok(())
}

/// As many as it can, five times as many as it may.
async fn forks(ground: Ground) -> Result<Outcome> {
    const MOST: usize = 20_000;
    let stage = &ground.stage;
    stage.start("neighbour", once(idle())).await?;
    let bomb = format!(
        "
import os, signal, time
made = 0
try:
    while made < {MOST}:
        if os.fork() == 0: signal.pause()
        made += 1
except OSError as error: print('stopped by', error.errno, flush=True)
print('made', made, flush=True)
time.sleep(1000)"
    );
    let container = python(&bomb).with(json!({"resources": {"limits": {"memory": "2Gi"}}}));
    stage.create("bomb", once(container).with(json!({"terminationGracePeriodSeconds": 0}))).await?;
    let said = wait::until(Duration::from_mins(1), "the bomb to go off", || async {
        stage.logs("bomb", "main").await.ok().filter(|said| said.contains("made"))
    });
    let said = said.await?;
    let worked = others_work(stage).await;
    let made: usize = said.rsplit(' ').next().and_then(|number| number.parse().ok()).context("a number")?;
    crate::witness::delete(stage, "bomb", 0).await?;
    ground.stage.finish().await?;
    let failed = worked.err().map(|error| format!("{error:#}"));
    Ok(Outcome::of(failed.or_else(|| (made >= MOST).then_some(said))))
}

/// Twice what it may have, in four ways.
async fn memory(ground: Ground) -> Result<Outcome> {
    let stage = &ground.stage;
    stage.start("neighbour", once(idle())).await?;
    let ways = [
        ("heap", "x = bytearray(b'x') * size"),
        (
            "children",
            "
children = []
for part in range(8):
    children.append(os.fork())
    if children[-1] == 0:
        x = bytearray(b'x') * (size // 8)
        open(f'/tmp/{part}', 'w').close()
        time.sleep(1000)
while not all(os.path.exists(f'/tmp/{part}') for part in range(8)):
    time.sleep(0.1)
    if os.waitpid(-1, os.WNOHANG)[0]: os._exit(1)
# All of them at the same time, that is.
if os.waitpid(-1, os.WNOHANG)[0]: os._exit(1)",
        ),
        ("file", "x = os.memfd_create('x'); [os.write(x, b'x' * (1 << 20)) for part in range(size >> 20)]"),
        (
            "shared",
            "open('/dev/shm/x', 'wb').write(b'x' * (size // 3)); x = bytearray(b'x') * (size * 2 // 3)",
        ),
    ];
    for (name, way) in ways {
        let bomb = format!("import os, time\nsize = 128 << 20\n{way}\nprint('took it all')");
        let container = python(&bomb);
        let limited = container.clone().with(json!({"resources": {"limits": {"memory": "64Mi"}}}));
        stage.create(name, once(if ground.is_lifted() { container } else { limited })).await?;
    }
    let (mut took, mut spared) = (Vec::new(), Vec::new());
    for (name, _) in ways {
        let pod =
            wait::for_object_within(Duration::from_mins(1), &stage.pods(), name, "ended", has_ended).await?;
        let said = stage.logs(name, "main").await.unwrap_or_default();
        let list = if said.contains("took it all") { &mut took } else { &mut spared };
        list.push(format!("{name} {:?} {said}", exit(&pod)));
    }
    let worked = others_work(stage).await;
    let is_lifted = ground.is_lifted();
    ground.stage.finish().await?;
    if is_lifted {
        worked?;
        return Ok(Outcome::escaped_if(took.iter().any(|name| name.starts_with("heap")), took.join("; ")));
    }
    let failed = worked.err().map(|error| format!("{error:#}"));
    Ok(Outcome::of(failed.or_else(|| (!took.is_empty()).then(|| took.join("; ")))))
}

/// Eight that want all of it, for two seconds, with a tenth of a processor for all of them.
async fn time(ground: Ground) -> Result<Outcome> {
    let stage = &ground.stage;
    stage.start("neighbour", once(idle())).await?;
    let bomb = "
import os, time
end = time.monotonic() + 2
for process in range(8):
    if os.fork() == 0:
        while time.monotonic() < end: pass
        os._exit(0)
while True:
    try: os.wait()
    except ChildProcessError: break
used = os.times()
print(int(1000 * (used.children_user + used.children_system)))";
    let container = python(bomb).with(json!({"resources": {"limits": {"cpu": "100m"}}}));
    stage.create("bomb", once(container)).await?;
    let worked = others_work(stage).await;
    stage.until("bomb", "ended", has_ended).await?;
    let used: u32 = stage.logs("bomb", "main").await?.parse()?;
    ground.stage.finish().await?;
    let failed = worked.err().map(|error| format!("{error:#}"));
    Ok(Outcome::of(failed.or_else(|| (used > 800).then(|| format!("it had {used} ms of two seconds")))))
}

/// Four megabytes where one is allowed: what is measured is what counts, not the disk of the machine.
async fn disk(ground: Ground) -> Result<Outcome> {
    let stage = &ground.stage;
    let fill = "
import time
for part in range(4): open(f'/v/{part}', 'wb').write(b'x' * (1 << 20))
time.sleep(1000)";
    let container = python(fill).with(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}));
    let volumes = json!({"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}], "terminationGracePeriodSeconds": 0});
    stage.create("bomb", once(container).with(volumes)).await?;
    let pod = stage.until("bomb", "evicted", has_ended).await?;
    let reason = pod.status.and_then(|status| status.reason).unwrap_or_default();
    ground.stage.finish().await?;
    Ok(Outcome::escaped_if(reason != "Evicted", reason))
}

/// As much as ten of its files hold, of which five are kept.
async fn output(ground: Ground) -> Result<Outcome> {
    const MOST: u64 = 60 << 20;
    let stage = &ground.stage;
    let container = python(
        "
line = b'x' * 8000 + b'\\n'
import sys
for part in range((100 << 20) // len(line)): sys.stdout.buffer.write(line)",
    );
    stage.create("bomb", once(container)).await?;
    let uid = stage.pods().get("bomb").await?.metadata.uid.context("an id")?;
    wait::for_object_within(Duration::from_secs(90), &stage.pods(), "bomb", "ended", has_ended).await?;
    let logs = Ground::data_directory()?.join("node/logs");
    let kept = size(&logs, &uid);
    ensure!(kept > 1 << 20, "there is no log of it: {kept}");
    ground.stage.finish().await?;
    Ok(Outcome::escaped_if(kept > MOST, format!("{kept} bytes are kept")))
}

/// Of everything below whatever is named after the Pod.
fn size(folder: &std::path::Path, name: &str) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(stat) if stat.is_dir() && entry.file_name().to_string_lossy().contains(name) => {
                size(&entry.path(), "")
            }
            Ok(stat) if stat.is_dir() => size(&entry.path(), name),
            Ok(stat) if name.is_empty() => stat.len(),
            _ => 0,
        })
        .sum()
}
