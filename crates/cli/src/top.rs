//! `asb top`: what sandboxes use.

use anyhow::Result;
use asb_client::{Address, Client, Usage};
use asb_types::v1beta1::Sandbox;
use kube::ResourceExt;
use serde_json::json;

use crate::amounts::{bytes, processors};
use crate::output::Form;
use crate::output::table::{Cell, table};
use crate::target::Target;
use crate::{output, session};

/// Show what sandboxes use right now: processors and memory.
///
/// From the cluster's metrics API, or from the nodes where there is none.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb top
  asb top box claim/mine
  asb top -A -o json")]
pub(crate) struct Arguments {
    /// Only these [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<Address>,

    /// In all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "names"])]
    all_namespaces: bool,

    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,

    #[command(flatten)]
    pub(crate) target: Target,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    session::block_on(async {
        let client = arguments.target.connect().await?;
        let sandboxes = chosen(arguments, &client).await?;
        let usage = client.usage(&sandboxes).await?;
        let rows: Vec<_> = sandboxes.iter().zip(usage).collect();
        output::print(&match arguments.output {
            Form::Json => as_json(&rows),
            Form::Text => as_table(&rows, arguments.all_namespaces),
        })
    })
}

async fn chosen(arguments: &Arguments, client: &Client) -> Result<Vec<Sandbox>> {
    if arguments.names.is_empty() {
        let namespace = (!arguments.all_namespaces).then(|| client.namespace());
        return Ok(client.sandboxes(namespace).await?);
    }
    let mut chosen = Vec::new();
    for address in &arguments.names {
        arguments.target.check(address)?;
        chosen.push(client.find_sandbox(address).await?);
    }
    Ok(chosen)
}

fn as_table(rows: &[(&Sandbox, Option<Usage>)], namespaces: bool) -> String {
    let mut head = vec!["NAME", "CPU", "MEMORY"];
    if namespaces {
        head.insert(0, "NAMESPACE");
    }
    let row = |(sandbox, usage): &(&Sandbox, Option<Usage>)| {
        let mut row: Vec<Cell> = vec![
            sandbox.name_any().into(),
            usage.map(|usage| processors(usage.cpu_nano)).unwrap_or_default().into(),
            usage.map(|usage| bytes(usage.memory_bytes)).unwrap_or_default().into(),
        ];
        if namespaces {
            row.insert(0, sandbox.namespace().unwrap_or_default().into());
        }
        row
    };
    table(&head, &rows.iter().map(row).collect::<Vec<_>>(), false)
}

fn as_json(rows: &[(&Sandbox, Option<Usage>)]) -> String {
    let row = |(sandbox, usage): &(&Sandbox, Option<Usage>)| {
        json!({
            "namespace": sandbox.namespace(),
            "name": sandbox.name_any(),
            "cpuNanoCores": usage.map(|usage| usage.cpu_nano),
            "memoryBytes": usage.map(|usage| usage.memory_bytes),
        })
    };
    format!("{:#}\n", json!(rows.iter().map(row).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_measured_is_left_open() {
        let named = |name: &str| {
            let mut sandbox = Sandbox::default();
            sandbox.metadata.name = Some(name.to_owned());
            sandbox
        };
        let (busy, idle) = (named("busy"), named("asleep"));
        let usage = Usage { cpu_nano: 1_250_000_000, memory_bytes: 3 << 20 };
        let rows = [(&busy, Some(usage)), (&idle, None)];
        insta::assert_snapshot!(as_table(&rows, false), @r"
        NAME     CPU    MEMORY
        busy     1.25   3.0 MiB
        asleep   -      -
        ");
        insta::assert_snapshot!(as_json(&rows[1..]));
    }
}
