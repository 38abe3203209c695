//! Containers of a pod: what all of them obey, and what only those of one list do.

use std::collections::BTreeSet;

use super::super::at::At;
use super::{Context, environment, handlers, mounts, network, resources, security};
use crate::names;

const RESTARTS: [&str; 3] = ["Always", "Never", "OnFailure"];
const MOST_RULES: usize = 20;
const MOST_EXIT_CODES: usize = 255;
const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];

pub(super) fn all(spec: &At, context: &Context) {
    main(&spec.field("containers"), context);
    initial(&spec.field("initContainers"), &spec.field("containers"), context);
    ephemeral(&spec.field("ephemeralContainers"), spec, context);
}

/// All containers of a pod, in the order in which Kubernetes visits them.
pub(super) fn visit(spec: &At, mut visitor: impl FnMut(&At)) {
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        spec.field(list).items().for_each(|container| visitor(&container));
    }
}

fn main(containers: &At, context: &Context) {
    if containers.is_empty() {
        return containers.required("");
    }
    let mut names = BTreeSet::new();
    for container in containers.items() {
        common(&container, context);
        if !names.insert(container.text_of("name")) {
            container.field("name").duplicate(container.text_of("name"));
        }
        if let Some(lifecycle) = container.field("lifecycle").given() {
            handlers::lifecycle(&lifecycle, context);
        }
        handlers::probes(&container, context);
        restart_policy(&container);
    }
    network::unique_host_ports(containers, containers.items());
}

fn initial(containers: &At, main: &At, context: &Context) {
    let mut names: BTreeSet<&str> = main.items().map(|container| container.text_of("name")).collect();
    for container in containers.items() {
        common(&container, context);
        restart_policy(&container);
        let name = container.text_of("name");
        if names.contains(name) {
            container.field("name").duplicate(name);
        } else if !name.is_empty() {
            names.insert(name);
        }
        // Kubernetes forgets which of the containers this is.
        network::unique_host_ports(containers, [container].into_iter());
        if stays(&container) {
            if let Some(lifecycle) = container.field("lifecycle").given() {
                handlers::lifecycle(&lifecycle, context);
            }
            handlers::probes(&container, context);
        } else {
            for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if container.has(name) {
                    let detail = "may not be set for init containers without restartPolicy=Always";
                    container.field(name).forbidden(detail);
                }
            }
        }
        if !context.allowances.restarts_of_init_containers {
            no_restarts(&container);
        }
    }
}

/// A container that is started before the others and runs beside them.
fn stays(container: &At) -> bool {
    container.text_of("restartPolicy") == "Always"
}

pub(super) fn no_restarts_of_init_containers(spec: &At) {
    spec.field("initContainers").items().for_each(|container| no_restarts(&container));
}

fn no_restarts(container: &At) {
    if stays(container) {
        return;
    }
    for policy in container.field("resizePolicy").items() {
        let restart = policy.field("restartPolicy");
        if restart.text() == "RestartContainer" {
            let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            restart.invalid(restart.text(), detail);
        }
    }
}

fn ephemeral(containers: &At, spec: &At, context: &Context) {
    let mut others = BTreeSet::new();
    for list in ["containers", "initContainers"] {
        others.extend(spec.field(list).items().map(|container| container.text_of("name")));
    }
    let mut names = others.clone();
    for container in containers.items() {
        common(&container, context);
        image_without_padding(&container);
        if !names.insert(container.text_of("name")) {
            container.field("name").duplicate(container.text_of("name"));
        }
        let target = container.field("targetContainerName");
        if !target.text().is_empty() && !others.contains(target.text()) {
            target.not_found(target.text(), "");
        }
        nothing_that_lasts(&container);
    }
}

/// Containers that are added for a look around get no resources, probes or parts of volumes.
fn nothing_that_lasts(container: &At) {
    const DETAIL: &str = "cannot be set for an Ephemeral Container";
    let fields = [
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    for name in fields {
        let field = container.field(name);
        if field.exists() && !field.value.as_object().is_some_and(serde_json::Map::is_empty) {
            field.forbidden(DETAIL);
        }
    }
    for mount in container.field("volumeMounts").items() {
        for name in ["subPath", "subPathExpr"] {
            if !mount.text_of(name).is_empty() {
                mount.field(name).forbidden(DETAIL);
            }
        }
    }
}

fn common(container: &At, context: &Context) {
    container.field("name").must_be_given_and(names::dns_label);
    container.field("image").must_be_given();
    container.field("terminationMessagePolicy").must_be_given_and_one_of(&["File", "FallbackToLogsOnError"]);
    network::ports(&container.field("ports"));
    environment::variables(&container.field("env"));
    environment::sources(&container.field("envFrom"));
    mounts::volumes(container, context);
    mounts::devices(container, context);
    pull_policy(&container.field("imagePullPolicy"));
    resources::of_container(&container.field("resources"), &context.claims, context.allowances);
    resources::resize_policy(&container.field("resizePolicy"), context.restart_policy);
    if let Some(security) = container.field("securityContext").given() {
        security::of_container(&security, context.host_users);
    }
}

pub(super) fn pull_policy(policy: &At) {
    policy.must_be_given_and_one_of(&PULL_POLICIES);
}

pub(super) fn image_without_padding(container: &At) {
    let image = container.field("image");
    if image.text().trim() != image.text() {
        image.invalid(image.text(), "must not have leading or trailing whitespace");
    }
}

fn restart_policy(container: &At) {
    let (policy, rules) = (container.field("restartPolicy"), container.field("restartPolicyRules"));
    if policy.exists() {
        policy.must_be_one_of(&RESTARTS);
    } else if rules.is_empty() {
        return;
    } else {
        policy.required("must specify restartPolicy when restart rules are used");
    }
    if rules.len() > MOST_RULES {
        rules.too_many(rules.len(), MOST_RULES);
    }
    for rule in rules.items() {
        rule.field("action").must_be_one_of(&["Restart", "RestartAllContainers"]);
        match rule.field("exitCodes").given() {
            None => rule.field("exitCodes").required("must be specified"),
            Some(codes) => {
                codes.field("operator").must_be_one_of(&["In", "NotIn"]);
                let values = codes.field("values");
                if values.len() > MOST_EXIT_CODES {
                    values.too_many(values.len(), MOST_EXIT_CODES);
                }
            }
        }
    }
}
