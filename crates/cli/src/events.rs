//! `asb events`: what happened.

use anyhow::Result;
use asb_client::{Address, Client, EventFilter, event_time};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::ResourceExt;

use crate::output::objects::{View, listed};
use crate::output::table::{Cell, table};
use crate::output::tone::{self, Tone};
use crate::target::Target;
use crate::{age, output, session};

/// Show what happened to sandboxes, claims, pools and templates.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb events
  asb events box
  asb events -A --watch")]
pub(crate) struct Arguments {
    /// Only about this Sandbox, its claim and its Pod
    name: Option<Address>,

    /// Go on, and show events as they come
    #[arg(short, long)]
    watch: bool,

    /// In all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "name"])]
    all_namespaces: bool,

    /// The form of the list [default: a table]
    #[arg(short, long, value_enum, default_value_t, hide_default_value = true, conflicts_with = "watch")]
    output: View,

    #[command(flatten)]
    pub(crate) target: Target,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    session::block_on(async {
        let client = arguments.target.connect().await?;
        let filter = filter(arguments, &client).await?;
        if arguments.watch { watch(&client, filter).await } else { list(&client, &filter, arguments).await }
    })
}

async fn filter(arguments: &Arguments, client: &Client) -> Result<EventFilter> {
    let Some(address) = &arguments.name else {
        let namespace = (!arguments.all_namespaces).then(|| client.namespace().to_owned());
        return Ok(EventFilter { namespace, names: Vec::new() });
    };
    arguments.target.check(address)?;
    let found = client.find(address).await?;
    let claim = found.claim.as_ref().map(ResourceExt::name_any);
    let names = claim.into_iter().chain([found.name()]).collect();
    Ok(EventFilter { namespace: Some(found.namespace), names })
}

async fn list(client: &Client, filter: &EventFilter, arguments: &Arguments) -> Result<()> {
    let events = client.events(filter).await?;
    if let Some(text) = listed(&events, arguments.output)? {
        return output::print(&text);
    }
    if events.is_empty() {
        output::note("nothing happened that is still remembered");
        return Ok(());
    }
    output::print(&tabulated(&events, Timestamp::now(), tone::on_output()))
}

async fn watch(client: &Client, filter: EventFilter) -> Result<()> {
    let mut events = client.watch_events(filter);
    while let Some(event) = events.next().await {
        output::print(&line(&event?, tone::on_output()))?;
    }
    Ok(())
}

pub(crate) fn tabulated(events: &[Event], now: Timestamp, colours: bool) -> String {
    let row = |event: &Event| -> Vec<Cell> {
        let ago = now.duration_since(event_time(event)).as_secs().max(0);
        vec![
            age::short(ago).into(),
            kind(event),
            event.reason.clone().unwrap_or_default().into(),
            about(event).into(),
            message(event).into(),
        ]
    };
    let rows: Vec<_> = events.iter().map(row).collect();
    table(&["AGO", "TYPE", "REASON", "ABOUT", "MESSAGE"], &rows, colours)
}

/// As it comes: with the time of day, because "ago" is now.
fn line(event: &Event, colours: bool) -> String {
    let at = event_time(event).strftime("%H:%M:%S").to_string();
    let warning = event.type_.as_deref() == Some("Warning");
    let tone = if warning { Tone::Bad } else { Tone::Plain };
    let reason = tone::painted(event.reason.as_deref().unwrap_or("-"), tone, colours);
    format!("{at}  {}  {reason}  {}\n", about(event), message(event))
}

fn kind(event: &Event) -> Cell {
    let kind = event.type_.clone().unwrap_or_default();
    let tone = if kind == "Warning" { Tone::Bad } else { Tone::Plain };
    Cell::toned(kind, tone)
}

fn about(event: &Event) -> String {
    let about = &event.involved_object;
    let kind = about.kind.as_deref().unwrap_or_default().to_lowercase();
    format!("{kind}/{}", about.name.as_deref().unwrap_or_default())
}

/// On one line, and with how often it was said.
fn message(event: &Event) -> String {
    let text = event.message.as_deref().unwrap_or_default().replace('\n', " ");
    let count = event.series.as_ref().and_then(|series| series.count).or(event.count).unwrap_or(1);
    if count > 1 { format!("{text} ({count} times)") } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn events() -> Vec<Event> {
        let event = |kind: &str, reason: &str, message: &str, count: i32| {
            json!({"metadata": {}, "involvedObject": {"kind": "Pod", "name": "box"}, "type": kind, "reason": reason,
                   "message": message, "count": count, "lastTimestamp": "2030-01-01T11:59:30Z"})
        };
        let events =
            [event("Normal", "Pulled", "fetched", 1), event("Warning", "BackOff", "again\nand again", 7)];
        events.into_iter().map(|event| serde_json::from_value(event).unwrap()).collect()
    }

    #[test]
    fn events_are_told_on_a_line_each() {
        let noon = "2030-01-01T12:00:00Z".parse().unwrap();
        insta::assert_snapshot!(tabulated(&events(), noon, false), @r"
        AGO   TYPE      REASON    ABOUT     MESSAGE
        30s   Normal    Pulled    pod/box   fetched
        30s   Warning   BackOff   pod/box   again and again (7 times)
        ");
        assert_eq!(line(&events()[0], false), "11:59:30  pod/box  Pulled  fetched\n");
    }
}
