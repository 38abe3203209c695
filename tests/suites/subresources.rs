//! Status, scale and what `kubectl get` shows, on a real API server.

use asb_tests::conversion::serve_conversion;
use asb_tests::objects::{create, pod_template};
use asb_tests::{Cluster, Namespace};
use asb_types::v1beta1::{Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

fn pod() -> Value {
    json!({"podTemplate": pod_template()})
}

fn ready(status: &str, reason: &str) -> Value {
    json!({"type": "Ready", "status": status, "reason": reason, "message": "m", "lastTransitionTime": "2026-01-02T03:04:05Z"})
}

#[tokio::test]
async fn status_is_written_through_its_own_door_only() -> anyhow::Result<()> {
    let namespace = Cluster::connect().await?.namespace().await?;
    create::<Sandbox>(&namespace, "demo", pod()).await?;
    let api = namespace.api::<Sandbox>();
    let both = Patch::Merge(
        json!({"spec": {"service": true}, "status": {"service": "demo", "podIPs": ["10.0.0.7"]}}),
    );

    let by_the_front = api.patch("demo", &PatchParams::default(), &both).await?;
    assert_eq!((by_the_front.spec.service, by_the_front.status), (Some(true), None));

    let by_the_side = api.patch_status("demo", &PatchParams::default(), &both).await?;
    assert_eq!(by_the_side.metadata.generation, by_the_front.metadata.generation);
    assert_eq!(by_the_side.status.expect("a status").pod_ips, ["10.0.0.7"]);
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn conditions_are_checked() -> anyhow::Result<()> {
    let namespace = Cluster::connect().await?.namespace().await?;
    create::<Sandbox>(&namespace, "demo", pod()).await?;
    let with = |field: &str, value: Value| {
        let mut condition = ready("True", "DependenciesReady");
        condition[field] = value;
        condition
    };
    let tried = [
        ("a sound one", ready("True", "DependenciesReady")),
        ("an unknown status", ready("Maybe", "DependenciesReady")),
        ("a reason with a space", ready("True", "Not yet")),
        ("an empty reason", ready("True", "")),
        ("a generation below zero", with("observedGeneration", json!(-1))),
        ("a type that is no name", with("type", json!("-"))),
        ("a time that is none", with("lastTransitionTime", json!("now"))),
        ("a message too long", with("message", json!("m".repeat(32_769)))),
        ("no message", with("message", Value::Null)),
    ];
    let mut transcript = Vec::new();
    for (name, condition) in tried {
        let status = Patch::Merge(json!({"status": {"conditions": [condition]}}));
        let answer = namespace.api::<Sandbox>().patch_status("demo", &PatchParams::default(), &status).await;
        transcript.push(format!("{name}: {}", verdict(answer)));
    }
    insta::assert_snapshot!(transcript.join("\n"));
    namespace.finish().await;
    Ok(())
}

fn verdict<T>(answer: kube::Result<T>) -> String {
    match answer {
        Ok(_) => "accepted".to_owned(),
        Err(kube::Error::Api(status)) => {
            let causes = status.details.iter().flat_map(|details| &details.causes);
            causes
                .map(|cause| format!("{}: {}", cause.field, cut(&cause.message)))
                .collect::<Vec<_>>()
                .join("; ")
        }
        Err(error) => error.to_string(),
    }
}

fn cut(message: &str) -> &str {
    message.split_at_checked(160).map_or(message, |(start, _)| start)
}

#[tokio::test]
async fn the_status_of_a_template_is_no_new_generation() -> anyhow::Result<()> {
    let namespace = Cluster::connect().await?.namespace().await?;
    create::<SandboxTemplate>(&namespace, "demo", pod()).await?;
    let status =
        json!({"status": {"observedGeneration": 1, "conditions": [ready("True", "NetworkPolicyReady")]}});
    let api = namespace.api::<SandboxTemplate>();
    let marked = api.patch_status("demo", &PatchParams::default(), &Patch::Merge(status)).await?;
    assert_eq!(marked.metadata.generation, Some(1));
    assert_eq!(marked.status.expect("a status").conditions.len(), 1);
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn a_pool_scales() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let namespace = cluster.namespace().await?;
    create::<SandboxWarmPool>(
        &namespace,
        "demo",
        json!({"replicas": 2, "sandboxTemplateRef": {"name": "t"}}),
    )
    .await?;
    let api = namespace.api::<SandboxWarmPool>();
    let fresh = api.get_scale("demo").await?;
    assert_eq!(fresh.spec.and_then(|spec| spec.replicas), Some(2));
    assert_eq!(fresh.status.map(|status| (status.replicas, status.selector)), Some((0, None)));

    let status = json!({"status": {"replicas": 2, "selector": "agents.x-k8s.io/warm-pool-sandbox=11bb4a8a"}});
    api.patch_status("demo", &PatchParams::default(), &Patch::Merge(status)).await?;
    let counted = api.get_scale("demo").await?.status.expect("a status");
    assert_eq!(
        (counted.replicas, counted.selector.as_deref()),
        (2, Some("agents.x-k8s.io/warm-pool-sandbox=11bb4a8a"))
    );

    cluster.kubectl(&["scale", "swp", "demo", "--replicas=7", "-n", &namespace], None).await?.success()?;
    assert_eq!(api.get("demo").await?.spec.replicas, 7);
    let negative = json!({"spec": {"replicas": -1}});
    let refusal =
        api.patch_scale("demo", &PatchParams::default(), &Patch::Merge(negative)).await.unwrap_err();
    assert!(refusal.to_string().contains("greater than or equal to 0"), "{refusal}");
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn scaling_a_v1alpha1_sandbox_suspends_and_resumes_it() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    serve_conversion(&cluster).await?;
    let namespace = cluster.namespace().await?;
    create::<Sandbox>(&namespace, "demo", pod()).await?;
    let api = namespace.api::<Sandbox>();
    let scale = |replicas: &'static str| {
        let (cluster, namespace) = (&cluster, namespace.name());
        async move {
            let arguments =
                ["scale", "sandboxes.v1alpha1.agents.x-k8s.io", "demo", replicas, "-n", namespace];
            cluster.kubectl(&arguments, None).await?.success()
        }
    };
    scale("--replicas=0").await?;
    assert_eq!(serde_json::to_value(api.get("demo").await?.spec.operating_mode)?, "Suspended");
    scale("--replicas=1").await?;
    assert_eq!(serde_json::to_value(api.get("demo").await?.spec.operating_mode)?, "Running");
    let refusal = api.get_scale("demo").await.unwrap_err();
    assert!(
        matches!(&refusal, kube::Error::Api(status) if status.code == 404),
        "v1beta1 has no scale: {refusal}"
    );
    namespace.finish().await;
    Ok(())
}

/// One object of each kind, as an operator would have marked it.
async fn populate(namespace: &Namespace) -> anyhow::Result<()> {
    create::<Sandbox>(namespace, "box", pod()).await?;
    create::<SandboxTemplate>(namespace, "template", pod()).await?;
    create::<SandboxWarmPool>(
        namespace,
        "pool",
        json!({"replicas": 3, "sandboxTemplateRef": {"name": "template"}}),
    )
    .await?;
    create::<SandboxClaim>(namespace, "claim", json!({"warmPoolRef": {"name": "pool"}})).await?;
    let bound = json!({"status": {
        "conditions": [ready("True", "DependenciesReady")], "sandbox": {"name": "box"}, "phase": "Running",
        "launch": {"type": "Warm", "pool": "pool", "boundAt": "2026-01-02T03:04:05.000001Z"},
    }});
    let parameters = PatchParams::default();
    namespace.api::<SandboxClaim>().patch_status("claim", &parameters, &Patch::Merge(bound)).await?;
    let waiting = json!({"status": {
        "conditions": [ready("False", "DependenciesNotReady")], "phase": "Pending", "nodeName": "node-1",
        "podIPs": ["10.0.0.7", "fd00::7"],
    }});
    namespace.api::<Sandbox>().patch_status("box", &parameters, &Patch::Merge(waiting)).await?;
    let counted = json!({"status": {"replicas": 3, "readyReplicas": 2, "desiredReplicas": 4}});
    namespace.api::<SandboxWarmPool>().patch_status("pool", &parameters, &Patch::Merge(counted)).await?;
    let usable = json!({"status": {"conditions": [ready("True", "NetworkPolicyReady")]}});
    namespace.api::<SandboxTemplate>().patch_status("template", &parameters, &Patch::Merge(usable)).await?;
    Ok(())
}

/// Every name a person may type, and the columns they get. Ages are left out.
#[tokio::test]
async fn kubectl_get_shows_the_columns_under_every_name() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    serve_conversion(&cluster).await?;
    let namespace = cluster.namespace().await?;
    populate(&namespace).await?;
    let names = [
        "sandbox",
        "sandboxes",
        "sandboxtemplate",
        "sandboxtemplates",
        "swp",
        "sandboxwarmpools",
        "sandboxclaim",
        "sandboxclaims",
        "sandboxes.v1alpha1.agents.x-k8s.io",
        "sandboxclaims.v1alpha1.extensions.agents.x-k8s.io",
        "sandboxwarmpools.v1alpha1.extensions.agents.x-k8s.io",
    ];
    let mut transcript = Vec::new();
    for name in names {
        let output = cluster.kubectl(&["get", name, "-n", &namespace], None).await?;
        transcript.push(format!("$ kubectl get {name}\n{}{}", output.stderr, without_ages(&output.stdout)));
    }
    for name in ["sandboxes", "sandboxtemplates", "sandboxwarmpools", "sandboxclaims"] {
        let output = cluster.kubectl(&["get", name, "-o", "wide", "-n", &namespace], None).await?;
        transcript.push(format!("$ kubectl get {name} -o wide\n{}", without_ages(&output.stdout)));
    }
    insta::assert_snapshot!(transcript.join("\n\n"));
    namespace.finish().await;
    Ok(())
}

fn without_ages(table: &str) -> String {
    let age = table.lines().next().and_then(|header| header.split_whitespace().position(|it| it == "AGE"));
    let row = |line: &str| {
        let cells = line.split_whitespace().enumerate().filter(|(place, _)| Some(*place) != age);
        cells.map(|(_, cell)| cell).collect::<Vec<_>>().join("  ")
    };
    table.lines().map(row).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn kubectl_wait_sees_ready() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let namespace = cluster.namespace().await?;
    populate(&namespace).await?;
    let arguments =
        ["wait", "--for=condition=Ready", "sandboxclaim/claim", "--timeout=20s", "-n", &namespace];
    let said = cluster.kubectl(&arguments, None).await?.success()?;
    assert_eq!(said.trim_end(), "sandboxclaim.extensions.agents.x-k8s.io/claim condition met");
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn kubectl_explain_reads_well() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let mut transcript = Vec::new();
    for path in [
        "sandbox.spec",
        "sandboxclaim.spec",
        "sandboxtemplate.spec",
        "swp.spec",
        "sandbox.status",
        "sandboxclaim.status.launch",
    ] {
        let text = cluster.kubectl(&["explain", path], None).await?.success()?;
        let lines: Vec<_> = text.lines().map(str::trim_end).collect();
        transcript.push(format!("$ kubectl explain {path}\n{}", lines.join("\n").trim_end()));
    }
    insta::assert_snapshot!(transcript.join("\n\n"));
    Ok(())
}
