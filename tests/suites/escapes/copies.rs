//! `asb cp` and `kubectl cp`: archives that a sandbox makes, and places in a sandbox that are links.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use asb_tests::pods::spec::{With, once, sh};
use asb_types::v1beta1::Sandbox;
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

use crate::case::Attack::Staged;
use crate::case::Layer::{Client, Files};
use crate::case::{Case, Outcome, Without, case};
use crate::ground::Ground;
use crate::witness::Canary;

pub(crate) const CASES: &[Case] = &[
    case(
        "what_is_copied_out_stays_where_it_was_asked_for",
        "CVE-2019-1002101, CVE-2019-11246, CVE-2019-11251: names and links in the archive of a hostile tar",
        &[Client],
        Staged(|ground| Box::pin(out(ground))),
    )
    .without(Without::Otherwise("the archives are unpacked by a tar that trusts them")),
    case(
        "what_is_copied_in_stays_inside",
        "CVE-2018-15664, CVE-2019-14271: a place in the container that is a link to the machine",
        &[Files],
        Staged(|ground| Box::pin(into(ground))),
    ),
];

/// Writes one archive for each trick to /tmp/tricks, with a directory of the copier's machine to aim at.
const TRICKS: &str = "
import io, os, sys, tarfile
aim, folder = sys.argv[1], sys.argv[2]
os.makedirs(folder, exist_ok=True)
def entry(name, kind=tarfile.REGTYPE, to='', mode=0o644):
    item = tarfile.TarInfo(name)
    item.type, item.linkname, item.mode = kind, to, mode
    item.size = 5 if kind == tarfile.REGTYPE else 0
    return item
link, hard, file = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.REGTYPE
tricks = {
    'above': [entry('./above/../../escape')],
    'absolute': [entry(f'{aim}/escape')],
    'linked': [entry('./linked/link', link, aim), entry('./linked/link/escape')],
    'itself': [entry('./itself', link, aim), entry('./itself/escape')],
    'replaced': [entry('./replaced/file', link, f'{aim}/outside'), entry('./replaced/file')],
    'hard': [entry('./hard/file', hard, f'{aim}/outside'), entry('./hard/file')],
    'climbing': [entry('./climbing/link', link, '..'), entry('./climbing/link/link2', link, '..'), entry('./climbing/link/escape')],
    'other': [entry('./something/else')],
    'device': [entry('./device/node', tarfile.CHRTYPE)],
    'mode': [entry('./mode/program', mode=0o6755)],
}
for name, entries in tricks.items():
    with tarfile.open(f'{folder}/{name}.tar', 'w') as archive:
        archive.addfile(entry(f'./{name}', tarfile.DIRTYPE, mode=0o755)) if name != 'itself' else None
        for item in entries: archive.addfile(item, io.BytesIO(b'wrote') if item.size else None)
print(' '.join(tricks))";

/// Takes the name of what is wanted and sends the archive of that name.
const HOSTILE_TAR: &str = "#!/bin/sh\nfor last; do :; done\nexec cat /tmp/tricks/$(basename $last).tar\n";

/// What is there beside the target is as it was, and nothing in the target has more rights than a file has.
fn harm(aim: &Path, target: &Path) -> Result<Option<String>> {
    let mut names: Vec<_> = fs::read_dir(aim)?.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    if names != ["outside", "target"] || fs::read_to_string(aim.join("outside"))? != "outside" {
        return Ok(Some(format!("{names:?}")));
    }
    Ok(mighty(target))
}

fn mighty(folder: &Path) -> Option<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().find_map(|entry| {
        let stat = entry.path().symlink_metadata().ok()?;
        if stat.is_dir() {
            return mighty(&entry.path());
        }
        let is_plain = stat.is_file() && stat.permissions().mode() & 0o7000 == 0;
        (!is_plain).then(|| format!("{} {stat:?}", entry.path().display()))
    })
}

fn place() -> Result<TempDir> {
    let aim = tempfile::Builder::new().prefix("asb-copies-").tempdir()?;
    fs::create_dir(aim.path().join("target"))?;
    fs::write(aim.path().join("outside"), "outside")?;
    Ok(aim)
}

async fn out(ground: Ground) -> Result<Outcome> {
    let aim = place()?;
    let (at, target) = (aim.path().display().to_string(), aim.path().join("target"));
    if ground.is_lifted() {
        return trusting(&aim, &at, &target).await;
    }
    let stage = &ground.stage;
    let script = format!(
        "python3 -c \"$TRICKS\" {at} /tmp/tricks; printf '%s' \"$TAR\" > /usr/bin/tar; touch /tmp/ready; trap 'exit 0' TERM; while :; do sleep 0.1; done"
    );
    let ready = json!({"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1});
    let environment = json!([{"name": "TRICKS", "value": TRICKS}, {"name": "TAR", "value": HOSTILE_TAR}]);
    let container = sh(&script).with(json!({"env": environment, "readinessProbe": ready}));
    stage.start("box", once(container.clone())).await?;
    stage.put::<Sandbox>("box", json!({"spec": {"podTemplate": {"spec": once(container)}}})).await?;
    let tricks = stage.exec("box", "ls /tmp/tricks | sed 's/.tar$//'").await?;
    ensure!(tricks.lines().count() == 10, "{tricks}");
    let mut escaped = None;
    for trick in tricks.lines() {
        for way in ["asb", "kubectl"] {
            let said = copy(way, stage.namespace.name(), &format!("box:/tmp/{trick}"), &target).await?;
            // Whether kubectl keeps modes and links is its own affair, as long as nothing is written outside.
            let seen = if way == "asb" {
                harm(aim.path(), &target)?
            } else {
                harm(aim.path(), Path::new("/nonexistent"))?
            };
            escaped = escaped.or_else(|| seen.map(|seen| format!("{way} {trick}: {seen}; {said}")));
            fs::remove_dir_all(&target)?;
            fs::create_dir(&target)?;
        }
    }
    ground.stage.finish().await?;
    Ok(Outcome::of(escaped))
}

async fn copy(way: &str, namespace: &str, from: &str, to: &Path) -> Result<String> {
    let kubectl = std::env::var_os("ASB_TEST_KUBECTL").context("no kubectl to copy with")?;
    let program = if way == "asb" { asb_tests::program()?.into_os_string() } else { kubectl };
    let mut command = Command::new(program);
    command.args(["-n", namespace, "cp", from]).arg(to.join("copy")).env_remove("ASB_DATA_DIR");
    let output = command.kill_on_drop(true).output().await.with_context(|| format!("run {way} cp"))?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Takes every name for what it says, and follows links.
async fn trusting(aim: &TempDir, at: &str, target: &Path) -> Result<Outcome> {
    let tricks = aim.path().join("tricks");
    let mut make = Command::new("python3");
    make.args(["-c", TRICKS, at]).arg(&tricks).env("PATH", "/usr/bin:/bin");
    ensure!(make.output().await?.status.success(), "no archives were made");
    let mut escaped = Vec::new();
    for trick in ["absolute", "above", "linked"] {
        let mut tar = Command::new("tar");
        tar.args(["--absolute-names", "--keep-directory-symlink", "-xf"])
            .arg(tricks.join(format!("{trick}.tar")));
        let unpacked = tar.arg("-C").arg(target).output().await?;
        let traces = ["escape", "target/escape"]
            .map(|name| aim.path().join(name))
            .into_iter()
            .filter(|path| path.exists());
        let traces: Vec<_> = traces.collect();
        ensure!(!traces.is_empty(), "{trick} does nothing: {}", String::from_utf8_lossy(&unpacked.stderr));
        traces.iter().try_for_each(fs::remove_file)?;
        escaped.push(trick);
    }
    Ok(Outcome::Escaped(escaped.join(" ")))
}

async fn into(ground: Ground) -> Result<Outcome> {
    let (stage, canary, here) = (&ground.stage, Canary::set()?, TempDir::new()?);
    fs::write(here.path().join("secret"), "overwritten")?;
    let script = format!(
        "ln -s {} /link; mkdir -p /etc; trap 'exit 0' TERM; while :; do sleep 0.1; done",
        canary.place()
    );
    stage.start("box", once(sh(&script))).await?;
    stage.put::<Sandbox>("box", json!({"spec": {"podTemplate": {"spec": once(sh(&script))}}})).await?;
    let from = here.path().join("secret").display().to_string();
    for way in ["asb", "kubectl"] {
        for to in
            ["box:/link/", "box:/link/secret", "box:/proc/1/root/link/secret", "box:/../../../../link/secret"]
        {
            let kubectl = std::env::var_os("ASB_TEST_KUBECTL").context("no kubectl to copy with")?;
            let program = if way == "asb" { asb_tests::program()?.into_os_string() } else { kubectl };
            let mut command = Command::new(program);
            command.args(["-n", stage.namespace.name(), "cp", &from, to]).env_remove("ASB_DATA_DIR");
            command.kill_on_drop(true).output().await?;
        }
    }
    let outcome = Outcome::of(canary.harm()?);
    ground.stage.finish().await?;
    Ok(outcome)
}
