//! `asb ls`: what there is.

mod rows;

use anyhow::Result;
use asb_client::Client;
use jiff::Timestamp;

use crate::output::objects::{View, listed};
use crate::output::table::{Cell, table};
use crate::output::{self, tone};
use crate::session;
use crate::target::Target;
use rows::Row;

/// List sandboxes, or claims, pools or templates.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb ls
  asb ls -A -o wide
  asb ls pools
  asb ls -o json | jq '.items[].metadata.name'")]
pub(crate) struct Arguments {
    /// What to list
    #[arg(value_enum, default_value_t)]
    kind: Kind,

    /// In all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,

    /// The form of the list [default: a table]
    #[arg(short, long, value_enum, default_value_t, hide_default_value = true)]
    output: View,

    #[command(flatten)]
    pub(crate) target: Target,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    #[default]
    #[value(alias = "sandbox")]
    Sandboxes,
    #[value(alias = "claim")]
    Claims,
    #[value(alias = "pool")]
    Pools,
    #[value(alias = "template")]
    Templates,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    session::block_on(async {
        let client = arguments.target.connect().await?;
        output::print(&list(arguments, &client).await?)
    })
}

async fn list(arguments: &Arguments, client: &Client) -> Result<String> {
    let namespace = (!arguments.all_namespaces).then(|| client.namespace());
    match arguments.kind {
        Kind::Sandboxes => written(arguments, client, client.sandboxes(namespace).await?),
        Kind::Claims => written(arguments, client, client.claims(namespace).await?),
        Kind::Pools => written(arguments, client, client.pools(namespace).await?),
        Kind::Templates => written(arguments, client, client.templates(namespace).await?),
    }
}

fn written<K: Row>(arguments: &Arguments, client: &Client, objects: Vec<K>) -> Result<String> {
    if let Some(text) = listed(&objects, arguments.output)? {
        return Ok(text);
    }
    if objects.is_empty() {
        let place = if arguments.all_namespaces {
            "any namespace".to_owned()
        } else {
            format!("namespace {:?}", client.namespace())
        };
        // Not on standard output: a script that counts lines counts none.
        output::note(&format!("there are no {} in {place}", K::PLURAL));
        return Ok(String::new());
    }
    let wide = arguments.output == View::Wide;
    Ok(tabulated(&objects, arguments.all_namespaces, wide, Timestamp::now(), tone::on_output()))
}

fn tabulated<K: Row>(objects: &[K], namespaces: bool, wide: bool, now: Timestamp, colours: bool) -> String {
    let mut head: Vec<&str> = if namespaces { vec!["NAMESPACE"] } else { Vec::new() };
    head.push("NAME");
    head.extend(K::COLUMNS);
    head.push("AGE");
    head.extend(if wide { K::WIDE } else { &[] });
    let row = |object: &K| {
        let text = |text: Option<&String>| Cell::from(text.cloned().unwrap_or_default());
        let mut row = if namespaces { vec![text(object.meta().namespace.as_ref())] } else { Vec::new() };
        row.push(text(object.meta().name.as_ref()));
        row.extend(object.cells());
        row.push(crate::age::since(object.meta().creation_timestamp.as_ref(), now).into());
        row.extend(if wide { object.wide_cells() } else { Vec::new() });
        row
    };
    table(&head, &objects.iter().map(row).collect::<Vec<_>>(), colours)
}

#[cfg(test)]
mod tests {
    use asb_types::v1beta1::{Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool};
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn read<K: DeserializeOwned + kube::Resource<DynamicType = ()>>(mut object: Value) -> K {
        object["apiVersion"] = K::api_version(&()).into();
        object["kind"] = K::kind(&()).into();
        object["metadata"]["creationTimestamp"] = "2030-01-01T00:00:00Z".into();
        object["metadata"]["namespace"] = "team".into();
        serde_json::from_value(object).unwrap()
    }

    fn ready(status: &str, reason: &str) -> Value {
        json!([{"type": "Ready", "status": status, "reason": reason, "message": "",
                "lastTransitionTime": "2030-01-01T00:00:00Z"}])
    }

    fn noon() -> Timestamp {
        "2030-01-01T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn sandboxes_are_shown_with_whose_they_are_and_why_they_are_not_ready() {
        let template = json!({"spec": {"containers": [{"name": "main", "image": "python:3.14"}]}});
        let owner = json!([{"apiVersion": "x", "kind": "SandboxClaim", "name": "mine", "uid": "1", "controller": true}]);
        let sandboxes: [Sandbox; 3] = [
            read(json!({"metadata": {"name": "box"}, "spec": {"podTemplate": template},
                "status": {"phase": "Running", "conditions": ready("True", "DependenciesReady"),
                           "nodeName": "n1", "podIPs": ["10.0.0.1"]}})),
            read(
                json!({"metadata": {"name": "pool-x1", "ownerReferences": owner}, "spec": {"podTemplate": template},
                "status": {"phase": "Pending", "conditions": ready("False", "DependenciesNotReady")}}),
            ),
            read(json!({"metadata": {"name": "new"}, "spec": {"podTemplate": template}})),
        ];
        insta::assert_snapshot!(tabulated(&sandboxes, false, false, noon(), false));
        insta::assert_snapshot!("sandboxes_wide", tabulated(&sandboxes, true, true, noon(), false));
    }

    #[test]
    fn claims_pools_and_templates_have_columns_of_their_own() {
        let claim: SandboxClaim =
            read(json!({"metadata": {"name": "mine"}, "spec": {"warmPoolRef": {"name": "python"}},
            "status": {"phase": "Running", "conditions": ready("True", "DependenciesReady"),
                       "sandbox": {"name": "python-x1"}, "launch": {"type": "Warm"}}}));
        let pool: SandboxWarmPool = read(json!({"metadata": {"name": "python"},
            "spec": {"replicas": 3, "sandboxTemplateRef": {"name": "python"}},
            "status": {"replicas": 3, "readyReplicas": 2, "desiredReplicas": 3, "conditions": ready("False", "Filling")}}));
        let template: SandboxTemplate = read(json!({"metadata": {"name": "python"},
            "spec": {"podTemplate": {"spec": {"containers": [{"name": "main", "image": "python:3.14"}]}}},
            "status": {"conditions": ready("True", "NetworkPolicyReady")}}));
        let tables = [
            tabulated(&[claim], false, true, noon(), false),
            tabulated(&[pool], false, true, noon(), false),
            tabulated(&[template], false, true, noon(), false),
        ];
        insta::assert_snapshot!(tables.join("\n"));
    }
}
