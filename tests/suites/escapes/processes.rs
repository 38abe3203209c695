//! Processes: what a program inherits, what it can do to those outside, and what becomes of the program of the node when it
//! is the one that enters.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use asb_tests::pods::spec::{With, idle, once, sh};
use asb_tests::pods::stage::{self, has_ended};
use asb_tests::wait;
use kube::api::AttachParams;
use serde_json::json;
use tokio::time::timeout;

use crate::case::Attack::{Program, Staged};
use crate::case::Layer::{Files, Limits, Namespaces, Rights, SystemCalls, Users};
use crate::case::{Case, Outcome, PRIVILEGED, Without, case};
use crate::ground::{Ground, verdict};
use crate::witness::{Canary, SECRET, Victim, delete, find, processes};

pub(crate) const CASES: &[Case] = &[
    case(
        "no_descriptor_is_inherited",
        "CVE-2024-21626, CVE-2016-9962: descriptors of the runtime that were left open",
        &[Files],
        Program(
            "
for number in range(3, 4096):
    try: os.fstat(number)
    except OSError: continue
    escaped(number, os.readlink(f'/proc/self/fd/{number}'))
held()",
        ),
    )
    .without(Without::Machine),
    case(
        "a_working_directory_does_not_lead_out",
        "CVE-2024-21626: a working directory behind a descriptor of the runtime",
        &[Files],
        Staged(|ground| Box::pin(working_directory(ground))),
    ),
    case(
        "the_program_of_the_node_is_not_overwritten",
        "CVE-2019-5736: /proc/self/exe of whoever enters",
        &[Users, Files],
        Staged(|ground| Box::pin(own_program(ground))),
    ),
    case(
        "processes_of_the_machine_get_no_signals",
        "pid namespaces that are shared",
        &[Namespaces, Users],
        Staged(|ground| Box::pin(signals(ground))),
    )
    .without(Without::Machine),
    case(
        "processes_of_the_machine_are_not_traced",
        "ptrace, process_vm_readv and descriptors of the shim",
        &[Namespaces, Users, SystemCalls],
        Staged(|ground| Box::pin(tracing(ground))),
    )
    .without(Without::Machine),
    case(
        "no_namespace_is_joined",
        "setns by descriptors found in /proc",
        &[SystemCalls, Namespaces],
        Program(
            "
for kind in ('user', 'mnt', 'net', 'pid', 'ipc', 'uts', 'cgroup'):
    for process in ('self', '1'):
        try: descriptor = os.open(f'/proc/{process}/ns/{kind}', os.O_RDONLY)
        except OSError: continue
        attempt(f'{kind} of {process}', call('setns', descriptor, 0))
held()",
        ),
    )
    .without(PRIVILEGED),
    case(
        "no_process_is_a_way_to_the_machines_files",
        "/proc/PID/root and /proc/PID/cwd of processes that began outside",
        &[Namespaces, Files],
        Staged(|ground| Box::pin(roots(ground))),
    )
    .without(Without::Machine),
    case(
        "root_inside_is_nobody_outside",
        "every escape that ends as root of the machine",
        &[Users, Rights],
        Staged(|ground| Box::pin(nobody(ground))),
    ),
    case(
        "a_crash_writes_nothing_outside",
        "CVE-2022-0811's other half, CVE-2025-4598: core dumps",
        &[Files, Users],
        Staged(|ground| Box::pin(crash(ground))),
    ),
    case(
        "a_pod_that_does_not_want_to_end_ends",
        "processes that ignore signals, leave their parents and their sessions",
        &[Limits],
        Staged(|ground| Box::pin(stubborn(ground))),
    ),
    case(
        "a_command_that_is_stuck_holds_nobody_up",
        "CVE-2018-16359's kind: what enters a container waits for a file that the container made",
        &[Limits, Namespaces],
        Staged(|ground| Box::pin(stuck(ground))),
    ),
];

/// Whatever the number: either the Pod does not start, or it starts somewhere inside.
async fn working_directory(ground: Ground) -> Result<Outcome> {
    let (stage, canary) = (&ground.stage, Canary::set()?);
    let above = "../".repeat(12);
    let script = format!(
        "pwd; cat {above}{}/secret; cat .{above}proc/1/root{}/secret; true",
        canary.place(),
        canary.place()
    );
    let places = (3..12).flat_map(|number| {
        [
            format!("/proc/self/fd/{number}"),
            format!("/proc/1/fd/{number}"),
            format!("/proc/self/fd/{number}/.."),
        ]
    });
    let places: Vec<_> = places.enumerate().collect();
    for (number, place) in &places {
        let container = sh(&script).with(json!({"workingDir": place}));
        stage.create(&format!("walker-{number}"), once(container)).await?;
    }
    let mut escaped = None;
    for (number, place) in &places {
        let name = format!("walker-{number}");
        stage.until(&name, "ended", has_ended).await?;
        let said = stage.logs(&name, "main").await.unwrap_or_default();
        escaped = escaped.or_else(|| said.contains(SECRET).then(|| format!("{place}: {said}")));
    }
    ground.stage.finish().await?;
    Ok(Outcome::of(escaped))
}

/// A program that asks the kernel to execute whoever executes it, and one that waits for it to appear in /proc. What it
/// would write is what is there already.
const HUNTER: &str = "
import time
mine, seen = {os.stat('/usr/bin/python3').st_ino}, set()
deadline = time.monotonic() + 6
while time.monotonic() < deadline:
    for name in os.listdir('/proc'):
        if not name.isdigit(): continue
        try: source = os.open(f'/proc/{name}/exe', os.O_RDONLY)
        except OSError: continue
        path = os.readlink(f'/proc/self/fd/{source}')
        if path not in seen:
            seen.add(path)
        if not os.path.exists(path) or os.stat(path).st_ino != os.fstat(source).st_ino:
            try:
                target = os.open(f'/proc/self/fd/{source}', os.O_WRONLY)
                os.pwrite(target, os.pread(source, 1, 0), 0)
                escaped(path)
            except OSError as error:
                told.append(f'{path}: {error.strerror}')
        os.close(source)
held('saw', sorted(seen), sorted(set(told)))";

async fn own_program(ground: Ground) -> Result<Outcome> {
    let stage = &ground.stage;
    let program = asb_tests::program()?;
    let before = (fs::metadata(&program)?.modified()?, fs::metadata(&program)?.len());
    let plant = "cp /usr/bin/true /usr/local/bin/trap 2>/dev/null || mkdir -p /usr/local/bin; printf '#!/proc/self/exe\\n' > /tmp/trap; chmod 755 /tmp/trap";
    let hunt = json!({"name": "HUNT", "value": format!("{}{HUNTER}", include_str!("prelude.py"))});
    let container = sh(&format!("{plant}; python3 -c \"$HUNT\" > /tmp/-said 2>&1; mv /tmp/-said /tmp/said; trap 'exit 0' TERM; while :; do sleep 0.1; done"))
        .with(json!({"env": [hunt]}));
    stage.start("hunter", ground.spec(container)?).await?;
    // Whatever these say, each is a chance to be seen half way in.
    let walk_in = async || {
        let parameters = AttachParams::default().container("main");
        let entered = stage.pods().exec("hunter", ["/tmp/trap"], &parameters).await?;
        stage::finish(entered).await.map(drop)
    };
    let said = wait::until(Duration::from_mins(1), "the hunt to end", || async {
        let _ = walk_in().await;
        stage.exec("hunter", "cat /tmp/said").await.ok()
    });
    let said = said.await?;
    let after = (fs::metadata(&program)?.modified()?, fs::metadata(&program)?.len());
    let outcome = if before == after {
        verdict("hunter", &said)?
    } else {
        Outcome::Escaped(format!("the program was written: {said}"))
    };
    ground.stage.finish().await?;
    Ok(outcome)
}

async fn signals(ground: Ground) -> Result<Outcome> {
    let mut victim = Victim::start(ground.stage.namespace.name())?;
    let program = "
victim = int(os.environ['VICTIM'])
try: os.kill(victim, signal.SIGKILL)
except OSError as error: told.append(str(error))
held()";
    // Nobody inside knows whether it was the right one.
    let said = ground.program(program, &[("VICTIM", &victim.pid())]).await?;
    if ground.is_lifted() {
        let dead = || std::future::ready(matches!(victim.is_alive(), Ok(false)).then_some(()));
        let died = wait::until(Duration::from_secs(10), "the victim to die", dead).await;
        return Ok(Outcome::escaped_if(died.is_ok(), "the victim died"));
    }
    let is_alive = victim.is_alive()?;
    ground.stage.finish().await?;
    Ok(if is_alive { said } else { Outcome::Escaped("the victim died".to_owned()) })
}

async fn tracing(ground: Ground) -> Result<Outcome> {
    let mut victim = Victim::start(ground.stage.namespace.name())?;
    let program = "
victim = int(os.environ['VICTIM'])
attempt('trace it', call('ptrace', 0x4206, victim, 0, 0))
tried('its memory', lambda: os.open(f'/proc/{victim}/mem', os.O_RDWR))
attempt('a descriptor of it', call('pidfd_open', victim, 0))
tried('its environment', lambda: open(f'/proc/{victim}/environ').read())
# Who made this process is not in its namespace.
if os.getpid() == 1 and os.getppid() != 0: escaped('a parent', os.getppid())
held()";
    let outcome = ground.program(program, &[("VICTIM", &victim.pid())]).await?;
    ensure!(victim.is_alive()?, "the victim died of something else");
    ground.stage.finish().await?;
    Ok(outcome)
}

async fn roots(ground: Ground) -> Result<Outcome> {
    let canary = Canary::set()?;
    let program = "
place = os.environ['CANARY']
tried('directly', lambda: open(f'{place}/secret').read())
for process in os.listdir('/proc'):
    if not process.isdigit(): continue
    for link in ('root', 'cwd'):
        tried(f'{process} {link}', lambda: open(f'/proc/{process}/{link}{place}/secret').read())
    try: numbers = os.listdir(f'/proc/{process}/fd')
    except OSError: continue
    for number in numbers:
        for above in ('', '/..', '/../../../../../..'):
            tried(f'{process} {number}', lambda: open(f'/proc/{process}/fd/{number}{above}{place}/secret').read())
held(len(told), 'ways')";
    let outcome = ground.program(program, &[("CANARY", &canary.place())]).await?;
    ground.stage.finish().await?;
    Ok(outcome)
}

/// Seen by the machine, which has one list of users.
async fn nobody(ground: Ground) -> Result<Outcome> {
    const FIRST: u32 = 2_000_000_000;
    let (stage, mark) = (&ground.stage, format!("mark-{}", ground.stage.namespace.name()));
    let container = sh("sh -c 'trap \"exit 0\" TERM; while :; do sleep 0.1; done' $MARK")
        .with(json!({"env": [{"name": "MARK", "value": mark}]}));
    stage.start("root", once(container)).await?;
    let found = wait::until(wait::DEADLINE, "the machine to see the process", || async {
        processes(&mark).ok().filter(|found| !found.is_empty())
    });
    let found = found.await?;
    let mut escaped = None;
    for process in found {
        let status = fs::read_to_string(process.join("status"))?;
        let ids = status.lines().filter(|line| line.starts_with("Uid:") || line.starts_with("Gid:"));
        let ids: Vec<u32> =
            ids.flat_map(|line| line.split_whitespace().skip(1).filter_map(|id| id.parse().ok())).collect();
        ensure!(ids.len() == 8, "{status}");
        escaped = escaped.or_else(|| ids.iter().any(|id| *id < FIRST).then(|| status.clone()));
    }
    ground.stage.finish().await?;
    Ok(Outcome::of(escaped))
}

/// A file for the pattern that this machine has; what a pattern with a pipe does is the machine's choice.
async fn crash(ground: Ground) -> Result<Outcome> {
    let stage = &ground.stage;
    let mark = format!("core-{}", stage.namespace.name());
    let script = format!(
        "ulimit -c unlimited; mkdir /tmp/{mark}; cd /tmp/{mark}; python3 -c 'import os; os.abort()' || true; ls"
    );
    let said = stage.run("crasher", ground.spec(sh(&script))?).await?;
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern")?;
    let name =
        pattern.trim().split(['%', '/', '|', ' ']).find(|part| !part.is_empty()).unwrap_or("core").to_owned();
    let places = [std::path::Path::new("/"), std::path::Path::new("/tmp")];
    let fresh = places.iter().filter_map(|place| {
        let found = fs::read_dir(place)
            .ok()?
            .flatten()
            .find(|entry| entry.file_name().to_string_lossy().starts_with(&name))?;
        let age = found.metadata().ok()?.modified().ok()?.elapsed().ok()?;
        (age < Duration::from_mins(1)).then(|| found.path().display().to_string())
    });
    let escaped = fresh.into_iter().next();
    ensure!(
        find(&Ground::data_directory()?.join("node"), &mark).is_some(),
        "it did not crash in its own layer: {said}"
    );
    ground.stage.finish().await?;
    Ok(Outcome::of(escaped))
}

async fn stubborn(ground: Ground) -> Result<Outcome> {
    let (stage, mark) = (&ground.stage, format!("mark-{}", ground.stage.namespace.name()));
    let script = "
import os, signal, sys, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
for times in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
while True: time.sleep(60)";
    let container =
        json!({"name": "main", "image": "asb.local/host", "command": ["python3", "-c", script, mark]});
    stage.start("stubborn", once(container)).await?;
    wait::until(wait::DEADLINE, "all of them", || async {
        processes(&mark).ok().filter(|found| found.len() >= 4)
    })
    .await?;
    delete(stage, "stubborn", 1).await?;
    let left = processes(&mark)?;
    ground.stage.finish().await?;
    Ok(Outcome::escaped_if(!left.is_empty(), format!("{left:?}")))
}

/// Files that are read on the way in are pipes, and what is executed never ends: a neighbour's commands go on, and the Pod ends
/// when it is told to.
async fn stuck(ground: Ground) -> Result<Outcome> {
    let stage = &ground.stage;
    stage.start("neighbour", once(idle())).await?;
    let forever = json!({"exec": {"command": ["sleep", "1000"]}});
    let probe = forever.with(json!({"timeoutSeconds": 1, "periodSeconds": 1, "failureThreshold": 1000}));
    let script = "for name in passwd group; do rm /etc/$name; mkfifo /etc/$name; done; trap '' TERM; while :; do sleep 0.1; done";
    stage.start("trap", once(sh(script).with(json!({"livenessProbe": probe})))).await?;
    let stuck = (0..8).map(|_| timeout(Duration::from_secs(3), stage.exec("trap", "exec sleep 1000")));
    let neighbour = timeout(Duration::from_secs(20), stage.exec("neighbour", "echo in"));
    let (_, heard) = tokio::join!(futures::future::join_all(stuck), neighbour);
    let heard = heard.context("the neighbour hears nothing any more").flatten();
    let gone = delete(stage, "trap", 1).await;
    ground.stage.finish().await?;
    let failed = heard.and(gone).err().map(|error| format!("{error:#}"));
    Ok(Outcome::of(failed))
}
