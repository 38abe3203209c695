//! Devices: of the machine, made by hand, and on volumes.

use std::os::unix::fs::FileTypeExt;

use anyhow::{Context, Result, ensure};
use asb_tests::pods::spec::{With, idle, once};
use serde_json::json;

use crate::case::Attack::{Program, Staged};
use crate::case::Layer::{Files, Rights, Users, Volumes};
use crate::case::{Case, Outcome, Without, case};
use crate::ground::Ground;
use crate::witness::{claim, inside_of_the_node};

pub(crate) const CASES: &[Case] = &[
    case(
        "no_device_is_made",
        "CVE-2015-1334's kind: a node for the disk or the memory of the machine, made inside",
        &[Rights, Users],
        Program(
            "
import stat
kinds = {'zero': (stat.S_IFCHR, 1, 5), 'memory': (stat.S_IFCHR, 1, 1), 'log': (stat.S_IFCHR, 1, 11),
    'tunnels': (stat.S_IFCHR, 10, 200), 'fuse': (stat.S_IFCHR, 10, 229), 'loops': (stat.S_IFCHR, 10, 237),
    'virtual machines': (stat.S_IFCHR, 10, 232)}
for disk in os.listdir('/sys/block'):
    major, minor = open(f'/sys/block/{disk}/dev').read().split(':')
    kinds[disk] = (stat.S_IFBLK, int(major), int(minor))
for folder in (os.getcwd(), '/tmp', '/dev/shm', '/dev'):
    for name, (kind, major, minor) in kinds.items():
        path = os.path.join(folder, f'asb-escape-{os.getpid()}')
        try: os.mknod(path, kind | 0o600, os.makedev(major, minor))
        except OSError as error:
            told.append(f'{name} in {folder}: {error.strerror}')
            continue
        os.unlink(path)
        escaped(name, 'in', folder)
held(len(told), 'refused')",
        ),
    )
    .without(Without::Machine),
    case(
        "devices_are_the_few_that_do_no_harm",
        "CVE-2021-20181's kind: fuse, tunnels, loops, disks and memory in /dev",
        &[Files],
        Program(
            "
import stat
harmless = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 1), (5, 2)}
for folder, folders, files in os.walk('/dev'):
    for name in files:
        path = os.path.join(folder, name)
        try: found = os.stat(path)
        except OSError: continue
        number = (os.major(found.st_rdev), os.minor(found.st_rdev))
        # Terminals are those of a file system of the container's own.
        if stat.S_ISBLK(found.st_mode): escaped(path, number)
        if stat.S_ISCHR(found.st_mode) and number not in harmless and number[0] != 136: escaped(path, number)
for name in ('mem', 'kmem', 'port', 'kmsg', 'fuse', 'net/tun', 'loop-control', 'loop0', 'vda', 'sda', 'nvme0', 'kvm', 'vhost-net',
    'vhost-vsock', 'vsock', 'uinput', 'snapshot', 'mapper/control', 'ppp', 'tty0', 'tty1', 'hpet', 'rtc0', 'userfaultfd'):
    tried(name, lambda: os.open(f'/dev/{name}', os.O_RDONLY | os.O_NONBLOCK))
held()",
        ),
    )
    .without(Without::Machine),
    case(
        "a_device_on_a_volume_does_not_open",
        "nodes that somebody else has put on a disk that is mounted",
        &[Volumes],
        Staged(|ground| Box::pin(planted_device(ground))),
    )
    .without(Without::Otherwise("the node is opened where nobody mounted it so that devices are nothing")),
];

/// The machine itself puts the node on the volume, with everybody allowed to open it.
async fn planted_device(ground: Ground) -> Result<Outcome> {
    let stage = &ground.stage;
    claim(stage, "disk").await?;
    let mounts = json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]});
    let volumes = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}]});
    stage.start("holder", once(idle().with(mounts)).with(volumes)).await?;
    let mark = format!("mark-{}", stage.namespace.name());
    stage.exec("holder", &format!("mkdir /v/{mark}")).await?;
    let node = inside_of_the_node(&mark).await?.join("zero");
    let made =
        tokio::process::Command::new("mknod").args(["-m", "666"]).arg(&node).args(["c", "1", "5"]).status();
    ensure!(
        made.await?.success() && std::fs::metadata(&node)?.file_type().is_char_device(),
        "no node was made"
    );
    if ground.is_lifted() {
        let opened = std::fs::File::open(&node).context("open it here");
        return Ok(Outcome::escaped_if(opened.is_ok(), format!("{opened:?}")));
    }
    let script = format!("cd /v/{mark}; test -c zero; head -c 1 zero 2>&1 || true");
    let said = stage.exec("holder", &script).await?;
    ensure!(said.contains("denied") || said.as_bytes() == [0], "{said:?}");
    let outcome = Outcome::escaped_if(!said.contains("denied"), said);
    ground.stage.finish().await?;
    Ok(outcome)
}
