//! The same Pods with other runtimes: gVisor, where it is installed or where `ASB_TEST_RUNSC` names it.

use std::env;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use asb_node::shim::plan::{ContainerPlan, Mount, Runtime, SandboxPlan};
use asb_node::shim::protocol::{Request, Status};
use libtest_mimic::Trial;

use crate::fixture::{Pod, attempt, shell, trial_with, volume};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![trial_with("a_runtime_that_is_not_there_is_named", absent, not_there)];
    let ignored = runsc().is_none();
    let gvisor =
        |name, test: Test| trial_with(name, gvisor_plan, async move |pod: &mut Pod| test.run(pod).await);
    for (name, test) in [
        ("gvisor_runs_a_program_with_its_output_and_exit_code", Test::Runs),
        ("gvisor_executes_processes_and_is_killed", Test::Executes),
    ] {
        trials.push(gvisor(name, test).with_ignored_flag(ignored));
    }
    trials
}

#[derive(Clone, Copy)]
enum Test {
    Runs,
    Executes,
}

impl Test {
    async fn run(self, pod: &mut Pod) -> Result<()> {
        match self {
            Test::Runs => runs(pod).await,
            Test::Executes => executes(pod).await,
        }
    }
}

fn runsc() -> Option<PathBuf> {
    let asked = env::var_os("ASB_TEST_RUNSC").map(PathBuf::from);
    asked.or_else(|| Some(PathBuf::from("/usr/bin/runsc"))).filter(|path| path.exists())
}

fn gvisor_plan(plan: &mut SandboxPlan) {
    let arguments = ["--platform=ptrace", "--network=none", "--ignore-cgroups"].map(str::to_owned).to_vec();
    plan.runtime = Runtime::Oci { binary: runsc().unwrap_or_default(), arguments };
}

fn absent(plan: &mut SandboxPlan) {
    plan.runtime = Runtime::Oci { binary: "/no/such/runtime".into(), arguments: Vec::new() };
}

async fn not_there(pod: &mut Pod) -> Result<()> {
    let plan = pod.shell("true");
    let started = pod.start(&attempt("main", 0), plan).await.map(drop);
    let message = started.err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(message.contains("cannot execute the runtime /no/such/runtime"), "{message}");
    Ok(())
}

/// Its own files cannot be layers without ids that are mapped: they are to be seen and not written.
fn on_this_machine(plan: &mut ContainerPlan) {
    plan.root.overlays.clear();
    plan.mounts.push(Mount { read_only: true, ..volume("/usr".as_ref(), "/usr") });
}

async fn runs(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.shell("dmesg 2>/dev/null | head -1; echo out; echo err >&2; exit 7");
    on_this_machine(&mut plan);
    let (exit, log) = pod.run(plan).await?;
    ensure!(
        exit.status == Status::Code(7) && log.contains("out\n") && log.contains("err\n"),
        "{exit:?} {log}"
    );
    ensure!(log.contains("gVisor"), "{log}");
    Ok(())
}

async fn executes(pod: &mut Pod) -> Result<()> {
    let mut plan = pod.shell("echo up; sleep 1000");
    on_this_machine(&mut plan);
    pod.start(&attempt("main", 0), plan).await?;
    pod.until(|| pod.log().eq("up\n")).await?;
    let (status, text) = pod.exec(shell("echo inside; exit 3")).await?;
    ensure!((status, text.as_str()) == (Status::Code(3), "inside\n"), "{status:?} {text}");
    pod.client.done(Request::Kill { attempt: attempt("main", 0) }).await?;
    let exit = pod.exit(&attempt("main", 0)).await?;
    ensure!(exit.status.code() == 137, "{exit:?}");
    Ok(())
}
