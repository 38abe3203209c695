//! Measures conversion: `cargo run --release -p asb-types --example conversion_time`, or `cargo xtask bench conversion`.
//! Prints what and how long, separated by a tab.

use std::hint::black_box;
use std::io::{Result, Write, stdout};
use std::time::Instant;

use asb_types::conversion::{Version, convert};
use serde_json::{Value, json};

const ROUNDS: u32 = 20_000;

fn main() -> Result<()> {
    for (what, object, to) in [
        ("Sandbox of 10 containers, v1alpha1 → v1beta1", sandbox(), Version::V1beta1),
        ("SandboxClaim, v1beta1 → v1alpha1", claim(), Version::V1alpha1),
    ] {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            black_box(convert(black_box(object.clone()), to)).expect("a well-formed object");
        }
        let each = start.elapsed() / ROUNDS;
        writeln!(stdout(), "{what}\t{:.1} µs", each.as_secs_f64() * 1e6)?;
    }
    Ok(())
}

fn sandbox() -> Value {
    let container =
        |n| json!({"name": format!("c{n}"), "image": "busybox", "env": [{"name": "A", "value": "1"}]});
    let containers: Vec<_> = (0..10).map(container).collect();
    json!({
        "apiVersion": "agents.x-k8s.io/v1alpha1", "kind": "Sandbox", "metadata": {"name": "demo"},
        "spec": {"podTemplate": {"spec": {"containers": containers}}, "replicas": 1},
        "status": {"replicas": 1, "podIPs": ["10.0.0.7"]},
    })
}

fn claim() -> Value {
    json!({
        "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim", "metadata": {"name": "demo"},
        "spec": {"warmPoolRef": {"name": "pool"}, "volumeClaimTemplates": [{"metadata": {"name": "work"}, "spec": {}}]},
        "status": {"sandbox": {"name": "pool-x7k2p", "podIPs": ["10.0.0.7"]}},
    })
}
