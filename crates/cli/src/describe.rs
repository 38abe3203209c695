//! `asb describe`: everything about one Sandbox on a page.

mod page;

use anyhow::Result;
use asb_client::{Address, Client, EventFilter, Found, pod_name};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use crate::output::objects::{View, shown};
use crate::output::tone;
use crate::target::Target;
use crate::{output, session};
use page::Page;

/// Show everything about a Sandbox: its state, its Pod, its volumes, its claim, and what happened.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb describe box
  asb describe claim/mine -o yaml")]
pub(crate) struct Arguments {
    /// The Sandbox: NAME, NAMESPACE/NAME, sandbox/NAME, claim/NAME
    name: Address,

    /// The form of the answer [default: a page of text]
    #[arg(short, long, value_enum, default_value_t, hide_default_value = true)]
    output: View,

    #[command(flatten)]
    pub(crate) target: Target,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.target.check(&arguments.name)?;
    session::block_on(async {
        let client = arguments.target.connect().await?;
        let found = client.find(&arguments.name).await?;
        output::print(&describe(&client, &found, arguments.output).await?)
    })
}

async fn describe(client: &Client, found: &Found, view: View) -> Result<String> {
    let as_object = match (&found.sandbox, &found.claim) {
        (Some(sandbox), _) => shown(sandbox, view)?,
        (None, Some(claim)) => shown(claim, view)?,
        (None, None) => None,
    };
    if let Some(text) = as_object {
        return Ok(text);
    }
    let pod = match &found.sandbox {
        Some(sandbox) => client.api::<Pod>(&found.namespace).get_opt(&pod_name(sandbox)).await?,
        None => None,
    };
    let claim = found.claim.as_ref().map(ResourceExt::name_any);
    let names = claim.into_iter().chain([found.name()]).collect();
    let events = client.events(&EventFilter { namespace: Some(found.namespace.clone()), names }).await;
    let page = Page {
        sandbox: found.sandbox.as_ref(),
        claim: found.claim.as_ref(),
        pod: pod.as_ref(),
        // Who may not read events still gets the rest.
        events: events.unwrap_or_default(),
    };
    Ok(page.written(Timestamp::now(), tone::on_output()))
}
