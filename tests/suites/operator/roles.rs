//! What the Pods of a test do: the fake kubelet is told, or, where a node runs them, the Pods themselves are made so.

use std::time::Duration;

use asb_fake_kubelet::{Builder, Match, Script};
use serde_json::{Value, json};

/// Set where a real node runs the Pods of the server that is tested.
const CONTAINERS: &str = "ASB_TEST_CONTAINERS";
/// Keeps a Pod from being scheduled.
const GATE: &str = "asb.test/wait";
const NEVER: Duration = Duration::from_hours(1);

/// Who runs the Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    FakeKubelet,
    /// The node of the server, in containers.
    Node,
}

impl Runner {
    pub(crate) fn here() -> Self {
        if std::env::var_os(CONTAINERS).is_some() { Self::Node } else { Self::FakeKubelet }
    }

    /// Who schedules the Pods here. The cluster may have a real scheduler, which would have its say about Pods of its own.
    pub(crate) fn scheduler(self) -> &'static str {
        match self {
            Self::FakeKubelet => "fake-scheduler",
            Self::Node => "default-scheduler",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Becomes Ready and stays so.
    Run,
    Succeed,
    Fail(i32),
    /// Starts when the test says so.
    Wait,
}

/// What the Pods of a stage do: those whose names begin so, and all others.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    pub(crate) others: Role,
    pub(crate) named: &'static [(&'static str, Role)],
}

impl Roles {
    pub(crate) fn all(role: Role) -> Self {
        Self { others: role, named: &[] }
    }

    fn of(&self, name: &str) -> Role {
        self.named.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or(self.others, |(_, role)| *role)
    }

    pub(crate) fn tell(&self, kubelet: Builder) -> Builder {
        let rule = |kubelet: Builder, (prefix, role): &(&str, Role)| {
            kubelet.rule(Match::name_prefix(*prefix), role.script())
        };
        self.named.iter().fold(kubelet.script(self.others.script()), rule)
    }

    /// The template of Pods of which the first bears this name.
    pub(crate) fn template(&self, name: &str, runner: Runner) -> Value {
        let mut template = pod_template_for(runner);
        if runner == Runner::Node {
            self.of(name).play(&mut template["spec"]);
        }
        template
    }
}

impl Role {
    fn script(self) -> Script {
        match self {
            Self::Run => Script::run(),
            Self::Succeed => Script::succeed(),
            Self::Fail(code) => Script::fail(code),
            Self::Wait => Script::run().start_after(NEVER),
        }
    }

    /// Containers that end stay so for the fake kubelet, whatever the policy; here it must be said.
    fn play(self, spec: &mut Value) {
        let mut end = |code: i32| {
            spec["restartPolicy"] = json!("Never");
            spec["containers"][0]["command"] = json!(["/bin/sh", "-c", format!("exit {code}")]);
        };
        match self {
            Self::Run => {}
            Self::Succeed => end(0),
            Self::Fail(code) => end(code),
            Self::Wait => spec["schedulingGates"] = json!([{"name": GATE}]),
        }
    }
}

/// What lets a Pod start that plays [`Role::Wait`].
pub(crate) fn cue(runner: Runner) -> Value {
    match runner {
        Runner::FakeKubelet => json!({"metadata": {"annotations": {"fake-kubelet.test/start-after": "0s"}}}),
        Runner::Node => json!({"spec": {"schedulingGates": null}}),
    }
}

/// The images run until they are asked to end.
pub(crate) fn pod_template() -> Value {
    pod_template_for(Runner::here())
}

fn pod_template_for(runner: Runner) -> Value {
    json!({
        "metadata": {"labels": {"team": "blue"}, "annotations": {"note": "kept"}},
        "spec": {
            "containers": [{"name": "main", "image": "demo:1", "ports": [{"containerPort": 8080}]}],
            "schedulerName": runner.scheduler(),
        },
    })
}
