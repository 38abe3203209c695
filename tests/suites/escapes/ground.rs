//! Where attacks are made: Pods of the case's own, or the bare machine, with the layer in force or taken away.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use asb_tests::pods::spec::{IMAGE, With, once};
use asb_tests::pods::stage::{Stage, is_ready};
use asb_tests::wait;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::account;
use crate::case::{Attack, Case, Outcome, Without};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// As a Pod comes.
    Confined,
    /// Without the layer.
    Lifted,
}

pub(crate) struct Ground {
    pub(crate) stage: Stage,
    case: &'static Case,
    setting: Setting,
}

const PRELUDE: &str = include_str!("prelude.py");
/// An attack that is stuck has not succeeded; one that takes this long has not failed either.
const PATIENCE: Duration = Duration::from_mins(3);

/// Makes the attack of a case and judges it.
pub(crate) async fn fight(case: &'static Case, setting: Setting) -> Result<()> {
    let ground = Ground { stage: Stage::set().await?, case, setting };
    let fought = match case.attack {
        Attack::Program(program) => timeout(PATIENCE, ground.end(program)).await,
        Attack::Staged(attack) => timeout(PATIENCE, attack(ground)).await,
    };
    let outcome = fought.context("the attack does not end").flatten();
    let is_as_expected = matches!(
        (&outcome, setting),
        (Ok(Outcome::Held(_)), Setting::Confined) | (Ok(Outcome::Escaped(_)), Setting::Lifted)
    );
    account::made(setting, is_as_expected);
    match (outcome.context("nobody knows how the attack went")?, setting) {
        (Outcome::Escaped(how), Setting::Confined) => bail!("the attack succeeded: {how} ({})", case.hole),
        (Outcome::Held(how), Setting::Lifted) => {
            bail!("the attack fails without the layer as well, so it proves nothing: {how}")
        }
        _ => Ok(()),
    }
}

impl Ground {
    pub(crate) fn is_lifted(&self) -> bool {
        self.setting == Setting::Lifted
    }

    /// Where the server under test has its files.
    pub(crate) fn data_directory() -> Result<PathBuf> {
        let kubeconfig = std::env::var_os("ASB_TEST_KUBECONFIG").context("no server to attack")?;
        Ok(PathBuf::from(kubeconfig).parent().context("a kubeconfig lies in a directory")?.to_owned())
    }

    async fn end(self, program: &str) -> Result<Outcome> {
        let outcome = self.program(program, &[]).await?;
        self.stage.finish().await?;
        Ok(outcome)
    }

    /// Runs a program as everything that runs in a container, or without one where that is how the layer is lifted.
    pub(crate) async fn program(&self, program: &str, environment: &[(&str, &str)]) -> Result<Outcome> {
        if let (Setting::Lifted, Some(Without::Machine)) = (self.setting, &self.case.without) {
            return on_the_machine(program, environment).await;
        }
        self.stage.create("attacker", self.spec(attacker(program, environment))?).await?;
        let pods = self.stage.pods();
        wait::for_object_within(PATIENCE, &pods, "attacker", "done", is_ready).await?;
        let mut outcomes = Vec::new();
        for way in ["first", "hook", "probe"] {
            outcomes.push(verdict(way, &self.hear(&format!("cat /tmp/{way}")).await?)?);
        }
        outcomes.push(verdict("command", &self.hear("python3 -c \"$ATTACK\" 2>&1").await?)?);
        Ok(summary(outcomes))
    }

    /// What the attacker says to a command, which ends.
    async fn hear(&self, script: &str) -> Result<String> {
        let said = timeout(wait::DEADLINE * 2, self.stage.exec("attacker", script)).await;
        said.with_context(|| format!("{script:?} does not end")).flatten()
    }

    /// A Pod of one container, with the layer in force or not.
    pub(crate) fn spec(&self, container: Value) -> Result<Value> {
        let bare = |container| once(container).with(json!({"automountServiceAccountToken": false}));
        Ok(match (self.setting, &self.case.without) {
            (Setting::Lifted, Some(Without::Container(fields))) => {
                // Kubernetes wants to hear that users stay apart before it shows all of the kernel's files.
                bare(container.with(serde_json::from_str(fields)?)).with(json!({"hostUsers": false}))
            }
            (Setting::Lifted, Some(Without::Pod(fields))) => {
                bare(container).with(serde_json::from_str(fields)?)
            }
            _ => bare(container),
        })
    }
}

/// The first process attacks, and so do a hook and, when it is done, a probe.
fn attacker(program: &str, environment: &[(&str, &str)]) -> Value {
    let attack =
        |to: &str| format!("python3 -c \"$ATTACK\" > /tmp/{to} 2>&1; mv /tmp/{to} /tmp/{}", &to[1..]);
    let first = format!("{}; trap 'exit 0' TERM; while :; do sleep 0.1; done", attack("-first"));
    let probe = format!("test -e /tmp/first || exit 1; test -e /tmp/probe || {{ {}; }}", attack("-probe"));
    let given = environment.iter().map(|(name, value)| json!({"name": name, "value": value}));
    let code = json!({"name": "ATTACK", "value": format!("{PRELUDE}{program}")});
    let environment: Value = given.chain([code]).collect();
    let shell = |script: String| json!({"exec": {"command": ["sh", "-c", script]}});
    json!({
        "name": "main", "image": IMAGE, "command": ["sh", "-c", first], "env": environment,
        "lifecycle": {"postStart": shell(attack("-hook"))},
        "readinessProbe": shell(probe).with(json!({"periodSeconds": 1, "timeoutSeconds": 30, "failureThreshold": 100})),
        "resources": {"limits": {"memory": "256Mi"}},
    })
}

/// As root of this machine, in a mount namespace and a directory of its own, with a descriptor left open.
async fn on_the_machine(program: &str, environment: &[(&str, &str)]) -> Result<Outcome> {
    let scratch = tempfile::tempdir()?;
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o755))?;
    let run = "exec 9< . && exec unshare --mount --ipc --uts python3 -c \"$ATTACK\"";
    let mut command = Command::new("sh");
    command.args(["-c", run]).current_dir(scratch.path()).env("ATTACK", format!("{PRELUDE}{program}"));
    command.envs(environment.iter().copied()).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let output =
        command.stdin(Stdio::null()).kill_on_drop(true).output().await.context("run an attack here")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    verdict("machine", &String::from_utf8_lossy(&output.stdout))
}

/// What an attack said at last.
pub(crate) fn verdict(way: &str, said: &str) -> Result<Outcome> {
    let words = |word: &str| said.lines().find_map(|line| line.strip_prefix(word));
    match (words("ESCAPED"), words("HELD")) {
        (Some(how), _) => Ok(Outcome::Escaped(format!("{way}:{how}"))),
        (None, Some(how)) => Ok(Outcome::Held(format!("{way}:{how}"))),
        (None, None) => bail!("the {way} came to no verdict: {said}"),
    }
}

/// One that escaped is as bad as all.
fn summary(outcomes: Vec<Outcome>) -> Outcome {
    let (mut escaped, mut held) = (String::new(), String::new());
    for outcome in &outcomes {
        let (to, how) = match outcome {
            Outcome::Escaped(how) => (&mut escaped, how),
            Outcome::Held(how) => (&mut held, how),
        };
        // Text takes everything.
        let _ = writeln!(to, "{how}");
    }
    if escaped.is_empty() { Outcome::Held(held) } else { Outcome::Escaped(escaped) }
}
