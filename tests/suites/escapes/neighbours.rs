//! What is somebody else's on the same machine: files, environments, sockets, memory and processes of another Pod, and of the
//! one that was there before.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use asb_tests::pods::spec::{With, once, python, sh};
use asb_tests::pods::stage::Stage;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use crate::case::Attack::Staged;
use crate::case::Layer::{Files, Limits, Namespaces, Network, Users, Volumes};
use crate::case::{Case, HOST_NETWORK, Outcome, Without, case};
use crate::ground::Ground;
use crate::witness::{delete, processes};

pub(crate) const CASES: &[Case] = &[
    case(
        "files_of_a_neighbour_are_not_found",
        "CVE-2024-23653's kind, and tenants who found each other's files: OpenSandbox 743",
        &[Files, Volumes],
        Staged(|ground| Box::pin(files(ground))),
    )
    .without(Without::Otherwise("a hostPath of the node's directory")),
    case(
        "the_environment_and_memory_of_a_neighbour_are_not_read",
        "secrets in /proc/PID/environ, taken by whoever can see the process",
        &[Namespaces, Users],
        Staged(|ground| Box::pin(environment(ground))),
    )
    .without(Without::Machine),
    case(
        "abstract_sockets_of_others_are_not_reached",
        "CVE-2020-15257: sockets without a file belong to a network",
        &[Namespaces, Network],
        Staged(|ground| Box::pin(abstract_sockets(ground))),
    )
    .without(HOST_NETWORK),
    case(
        "queues_and_shared_memory_are_the_pods_own",
        "System V and POSIX IPC under names that everybody knows",
        &[Namespaces],
        Staged(|ground| Box::pin(queues(ground))),
    )
    .without(Without::Pod(r#"{"hostIPC": true}"#)),
    case(
        "the_loopback_of_a_neighbour_is_not_reached",
        "CVE-2020-8558: what listens on 127.0.0.1 is for its own Pod",
        &[Network, Namespaces],
        Staged(|ground| Box::pin(loopback(ground))),
    )
    .without(Without::Otherwise("the attacker is a container of the same Pod")),
    case(
        "nothing_is_left_of_who_was_here_before",
        "environments that were handed on with the last tenant's files: OpenSandbox 743, bkn-foundry 451",
        &[Files, Volumes, Users],
        Staged(|ground| Box::pin(before(ground))),
    )
    .without(Without::Otherwise("the volume is a claim, which outlives its Pod")),
    case(
        "a_neighbour_is_not_frozen_or_ended",
        "signals, priorities and limits of processes that are known by their number on the machine",
        &[Namespaces, Users, Limits],
        Staged(|ground| Box::pin(harm(ground))),
    )
    .without(Without::Machine),
];

/// A neighbour with a secret wherever one may have secrets.
async fn neighbour(stage: &Stage, secret: &str) -> Result<()> {
    let script = "
import os, signal, socket, sys, time
secret = os.environ['SECRET']
for folder in ('/tmp', '/v', '/dev/shm'):
    open(f'{folder}/{secret}', 'w').write(secret)
plain = socket.socket(socket.AF_UNIX)
plain.bind('\\0' + secret)
plain.listen()
loopback = socket.create_server(('127.0.0.1', 8099))
open('/tmp/ready', 'w').close()
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
while True: time.sleep(60)";
    let container = python(script).with(json!({
        "command": ["python3", "-c", script, secret],
        "env": [{"name": "SECRET", "value": secret}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "readinessProbe": {"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1},
    }));
    stage
        .start("neighbour", once(container).with(json!({"volumes": [{"name": "v", "emptyDir": {}}]})))
        .await?;
    Ok(())
}

/// Not in one piece among the attacker's own things.
fn halves(secret: &str) -> [(&'static str, &str); 2] {
    let (first, second) = secret.split_at(secret.len() / 2);
    [("FIRST", first), ("SECOND", second)]
}

fn secret(ground: &Ground) -> String {
    format!("secret-of-{}", ground.stage.namespace.name())
}

const FIND: &str = "
secret = os.environ['FIRST'] + os.environ['SECOND']
seen = 0
for folder, folders, files in os.walk('/', followlinks=False):
    # The system's own programs are many, and their directories nobody's but the container's.
    if folder == '/proc' or folder.startswith('/usr/'): folders[:] = []
    seen += len(files)
    for name in files + folders:
        if name == secret: escaped(os.path.join(folder, name))
held(seen, 'files')";

async fn files(ground: Ground) -> Result<Outcome> {
    let secret = secret(&ground);
    neighbour(&ground.stage, &secret).await?;
    if !ground.is_lifted() {
        let outcome = ground.program(FIND, &halves(&secret)).await?;
        ground.stage.finish().await?;
        return Ok(outcome);
    }
    let program = format!("{}{FIND}", include_str!("prelude.py"));
    let place = Ground::data_directory()?.join("node/pods").display().to_string();
    let container = python(&program).with(json!({
        "env": halves(&secret).map(|(name, value)| json!({"name": name, "value": value})),
        "volumeMounts": [{"name": "host", "mountPath": "/host"}],
    }));
    let volumes = json!({"volumes": [{"name": "host", "hostPath": {"path": place}}]});
    let said = ground.stage.run("attacker", once(container).with(volumes)).await?;
    ground.stage.finish().await?;
    crate::ground::verdict("main", &said)
}

async fn environment(ground: Ground) -> Result<Outcome> {
    let secret = secret(&ground);
    neighbour(&ground.stage, &secret).await?;
    ensure!(!processes(&secret)?.is_empty(), "the machine does not see the neighbour");
    let program = "
secret = (os.environ['FIRST'] + os.environ['SECOND']).encode()
seen = 0
for process in os.listdir('/proc'):
    if not process.isdigit() or int(process) == os.getpid(): continue
    seen += 1
    for name in ('environ', 'cmdline', 'comm', 'maps', 'net/unix'):
        try: data = open(f'/proc/{process}/{name}', 'rb').read()
        except OSError: continue
        if secret in data: escaped(process, name)
held(seen, 'processes')";
    let outcome = ground.program(program, &halves(&secret)).await?;
    ground.stage.finish().await?;
    Ok(outcome)
}

/// One of the machine, where the test would hear of it, and one of the neighbour.
async fn abstract_sockets(ground: Ground) -> Result<Outcome> {
    let secret = secret(&ground);
    neighbour(&ground.stage, &secret).await?;
    let name = format!("machine-{secret}");
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    listener.set_nonblocking(true)?;
    let program = "
secret = os.environ['FIRST'] + os.environ['SECOND']
for name in (secret, 'machine-' + secret):
    tried(name, lambda: socket.socket(socket.AF_UNIX).connect('\\0' + name))
for line in open('/proc/net/unix'):
    if secret in line: escaped(line)
held()";
    let outcome = ground.program(program, &halves(&secret)).await?;
    let is_heard = listener.accept().is_ok();
    ground.stage.finish().await?;
    Ok(if is_heard { Outcome::Escaped("the machine was called".to_owned()) } else { outcome })
}

/// A queue of the machine, which goes with the process that made it.
async fn queues(ground: Ground) -> Result<Outcome> {
    let key = 0x5a00_0000 + std::process::id() % 0xffff;
    let make = "
import ctypes, sys
library, key = ctypes.CDLL(None), int(sys.argv[1])
queue = library.msgget(key, 0o1666)
print(queue, flush=True)
sys.stdin.read()
library.msgctl(queue, 0, None)";
    let mut command = Command::new("python3");
    command
        .args(["-c", make, &key.to_string()])
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut owner = command.spawn().context("make a queue of the machine")?;
    let mut number = String::new();
    BufReader::new(owner.stdout.take().context("an output")?).read_line(&mut number).await?;
    ensure!(number.trim().parse::<i32>().is_ok_and(|number| number >= 0), "no queue was made: {number}");
    let program = "
attempt('the queue of the machine', call('msgget', int(os.environ['KEY']), 0))
for line in open('/proc/sysvipc/msg').read().splitlines()[1:]: escaped(line)
for line in open('/proc/sysvipc/shm').read().splitlines()[1:]: escaped(line)
if os.path.isdir('/dev/mqueue') and os.listdir('/dev/mqueue'): escaped(os.listdir('/dev/mqueue'))
held()";
    let outcome = ground.program(program, &[("KEY", &key.to_string())]).await;
    // It ends when its input does, and takes the queue along.
    owner.stdin.take().context("an input")?.shutdown().await?;
    owner.wait().await?;
    ground.stage.finish().await?;
    outcome
}

async fn loopback(ground: Ground) -> Result<Outcome> {
    let secret = secret(&ground);
    let stage = &ground.stage;
    let reach = "
for address in os.environ['ADDRESSES'].split():
    tried(address, lambda: socket.create_connection((address, 8099), 5))
held()";
    if ground.is_lifted() {
        let outcome = from_the_same_pod(stage, reach).await?;
        ground.stage.finish().await?;
        return Ok(outcome);
    }
    neighbour(stage, &secret).await?;
    let pod = stage.pods().get("neighbour").await?;
    let address = pod.status.and_then(|status| status.pod_ip).context("an address")?;
    let outcome = ground.program(reach, &[("ADDRESSES", &format!("127.0.0.1 {address}"))]).await?;
    ground.stage.finish().await?;
    Ok(outcome)
}

/// The neighbour is there before the attacker, in the same network.
async fn from_the_same_pod(stage: &Stage, attack: &str) -> Result<Outcome> {
    let listen = "
import signal, socket, time
server = socket.create_server(('127.0.0.1', 8099))
open('/tmp/ready', 'w').close()
signal.signal(signal.SIGTERM, lambda *_: exit())
while True: time.sleep(60)";
    let sidecar = python(listen).with(json!({
        "name": "neighbour", "restartPolicy": "Always",
        "startupProbe": {"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1, "failureThreshold": 100},
    }));
    let attacker = python(&format!("{}{attack}", include_str!("prelude.py")))
        .with(json!({"env": [{"name": "ADDRESSES", "value": "127.0.0.1"}]}));
    let said = stage.run("both", once(attacker).with(json!({"initContainers": [sidecar]}))).await?;
    crate::ground::verdict("main", &said)
}

/// The same name, the same volumes, the same image, one after the other.
async fn before(ground: Ground) -> Result<Outcome> {
    let (secret, stage) = (secret(&ground), &ground.stage);
    if ground.is_lifted() {
        crate::witness::claim(stage, "kept").await?;
    }
    let source: Value = if ground.is_lifted() {
        json!({"persistentVolumeClaim": {"claimName": "kept"}})
    } else {
        json!({"emptyDir": {}})
    };
    let volumes = json!({"volumes": [json!({"name": "v"}).with(source), {"name": "m", "emptyDir": {"medium": "Memory"}}]});
    let mounts =
        json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "m", "mountPath": "/m"}]});
    let script = format!("for at in /v /m /tmp /usr /etc /dev/shm /var; do echo x > $at/{secret}; done");
    stage.run("tenant", once(sh(&script).with(mounts.clone())).with(volumes.clone())).await?;
    delete(stage, "tenant", 0).await?;
    let look = python(&format!("{}{FIND}", include_str!("prelude.py"))).with(mounts).with(json!({
        "env": halves(&secret).map(|(name, value)| json!({"name": name, "value": value})),
    }));
    let said = stage.run("tenant", once(look).with(volumes)).await?;
    ground.stage.finish().await?;
    crate::ground::verdict("main", &said)
}

/// By the number that its process has on the machine.
async fn harm(ground: Ground) -> Result<Outcome> {
    let secret = secret(&ground);
    neighbour(&ground.stage, &secret).await?;
    let victim = processes(&secret)?.into_iter().next().context("the machine does not see the neighbour")?;
    let number = victim.file_name().context("a number")?.to_string_lossy().into_owned();
    let program = "
import resource
victim = int(os.environ['VICTIM'])
tried('its limits', lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE))
tried('its priority', lambda: os.setpriority(os.PRIO_PROCESS, victim, 19))
tried('its scheduling', lambda: os.sched_setaffinity(victim, {0}))
tried('stop it', lambda: os.kill(victim, signal.SIGSTOP))
held()";
    let outcome = ground.program(program, &[("VICTIM", &number)]).await?;
    if !ground.is_lifted() {
        ground.stage.exec("neighbour", "true").await.context("the neighbour does not answer")?;
    }
    ground.stage.finish().await?;
    Ok(outcome)
}
