//! Answers `status` and `env`.

use std::fmt::Write;

use anyhow::{Result, ensure};
use serde::Serialize;
use serde_json::json;

use super::cluster::Cluster;
use super::description::Description;
use super::{Output, census, place};
use crate::terminal;

#[derive(Serialize)]
struct Status {
    name: String,
    node: bool,
    server: String,
    components: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    component: String,
    pid: Option<u32>,
}

pub(crate) fn status(name: Option<&str>, output: Output) -> Result<()> {
    let names = name.map_or_else(place::names, |name| Ok(vec![name.to_owned()]))?;
    let clusters = names.iter().map(|name| look(name)).collect::<Result<Vec<_>>>()?;
    terminal::answer(&match output {
        Output::Json => serde_json::to_string_pretty(&clusters)?,
        Output::Text if clusters.is_empty() => {
            "no cluster runs; start one with `cargo xtask kube up`".to_owned()
        }
        Output::Text => table(&clusters),
    });
    Ok(())
}

pub(crate) fn environment(name: &str, output: Output) -> Result<()> {
    let directory = place::directory(name)?;
    ensure!(
        directory.exists(),
        "there is no cluster {name}; start it with `cargo xtask kube up --name {name}`"
    );
    let cluster = Cluster::try_from(&Description::load(&directory)?)?;
    let (kubeconfig, kubectl) = (&cluster.kubeconfig, &cluster.kubectl);
    terminal::answer(&match output {
        Output::Json => json!({"name": name, "kubeconfig": kubeconfig, "kubectl": kubectl}).to_string(),
        Output::Text => exports(&cluster),
    });
    Ok(())
}

/// For `eval`. The paths hold no quotes: names of clusters and users cannot.
fn exports(cluster: &Cluster) -> String {
    let variables = cluster.environment();
    let lines = variables.iter().map(|(name, path)| format!("export {name}='{}'\n", path.display()));
    lines.collect::<String>() + "# alias kubectl=\"$ASB_KUBECTL\" gives the kubectl of this cluster's version"
}

fn look(name: &str) -> Result<Status> {
    let directory = place::directory(name)?;
    ensure!(directory.exists(), "there is no cluster {name}");
    let running = census::processes(&directory)?;
    let pid = |component: &str| running.iter().find(|it| it.program == component).map(|it| it.pid);
    let Ok(cluster) = Description::load(&directory) else {
        return Ok(Status {
            name: name.to_owned(),
            node: false,
            server: String::new(),
            components: Vec::new(),
        });
    };
    let components =
        cluster.components().map(|component| Part { component: component.to_owned(), pid: pid(component) });
    Ok(Status {
        name: name.to_owned(),
        node: cluster.has_node(),
        server: format!("https://{}:{}", cluster.home.address(), cluster.home.port()),
        components: components.collect(),
    })
}

fn table(clusters: &[Status]) -> String {
    let mut text = String::new();
    for cluster in clusters {
        let kind = if cluster.node { "with a node" } else { "control plane only" };
        let _ = writeln!(text, "{} ({kind}) {}", cluster.name, cluster.server);
        for part in &cluster.components {
            let state = part.pid.map_or_else(|| "not running".to_owned(), |pid| format!("pid {pid}"));
            let _ = writeln!(text, "  {:<24} {state}", part.component);
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_died_is_told_apart() {
        let components = vec![
            Part { component: "etcd".into(), pid: Some(7) },
            Part { component: "kube-scheduler".into(), pid: None },
        ];
        let server = "https://127.0.0.1:20000".to_owned();
        let text = table(&[Status { name: "main".into(), node: false, server, components }]);
        assert_eq!(
            text,
            "main (control plane only) https://127.0.0.1:20000\n\
             \x20 etcd                     pid 7\n\
             \x20 kube-scheduler           not running"
        );
    }
}
