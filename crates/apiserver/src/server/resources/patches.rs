//! Patches of all four kinds, told apart by their media type.

use axum::body::{Body, Bytes};
use axum::http::{Response, header};
use serde_json::Value;

use super::Call;
use crate::api::Proposal;
use crate::decode;
use crate::negotiation::Form;
use crate::options::{Write, WriteOptions};
use crate::resource::Verb;
use crate::status::Status;
use crate::{patch, rules};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Merge,
    Strategic,
    Apply,
}

pub(super) async fn serve(call: &Call<'_>, name: &str, bytes: Bytes) -> Result<Response<Body>, Status> {
    call.allow(Verb::Patch)?;
    let kind = kind(call)?;
    let write = if kind == Kind::Apply { Write::Apply } else { Write::Patch };
    let options = WriteOptions::parse(&call.exchange.query, write)?;
    let style = call.exchange.style(&[Form::Table, Form::Partial])?;
    let target = call.target();
    let change = change(call, kind, &bytes, &options, name)?;
    let creates = kind == Kind::Apply && call.path.subresource.is_none();
    let propose = |live: Option<&Value>| {
        let proposal = change(live)?;
        call.check_grants(&proposal.object, live)?;
        Ok(proposal)
    };
    let updated = call.api().update(&target, name, &options, creates, &propose).await?;
    call.answer(if updated.is_new { 201 } else { 200 }, &updated.object, style, &updated.warnings)
}

fn kind(call: &Call<'_>) -> Result<Kind, Status> {
    let given = call.exchange.header(header::CONTENT_TYPE).unwrap_or_default();
    let mut known = vec![
        ("application/json-patch+json", Kind::Json),
        ("application/merge-patch+json", Kind::Merge),
        ("application/strategic-merge-patch+json", Kind::Strategic),
        ("application/apply-patch+yaml", Kind::Apply),
    ];
    if !call.resource.is_built_in() {
        known.retain(|(_, kind)| *kind != Kind::Strategic);
    }
    let media = given.split(';').next().unwrap_or_default().trim();
    known.iter().find(|(name, _)| *name == media).map(|(_, kind)| *kind).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            names.join(", ")
        );
        Status::new(415, "UnsupportedMediaType", message)
    })
}

type Change<'a> = Box<dyn Fn(Option<&Value>) -> Result<Proposal, Status> + Send + Sync + 'a>;

/// What the patch makes of an object.
fn change<'a>(
    call: &'a Call<'_>,
    kind: Kind,
    bytes: &Bytes,
    options: &'a WriteOptions,
    name: &'a str,
) -> Result<Change<'a>, Status> {
    if kind == Kind::Apply {
        return apply(call, bytes, options, name);
    }
    let patch = body(bytes, kind)?;
    Ok(Box::new(move |live| {
        let live = live.cloned().ok_or_else(Status::no_such_path)?;
        let patched = match kind {
            Kind::Json => patch::json(live, &patch)?,
            Kind::Merge => patch::merge(live, &patch)?,
            _ => patch::strategic(live, &patch, &call.resource.schema)?,
        };
        let (object, _) = rules::read(call.resource, patched, options.field_validation)?;
        Ok(Proposal { object, is_managed: false })
    }))
}

fn body(bytes: &Bytes, kind: Kind) -> Result<Value, Status> {
    let form = match kind {
        Kind::Json => patch::Form::Json,
        Kind::Merge | Kind::Apply => patch::Form::Merge,
        Kind::Strategic => patch::Form::Strategic,
    };
    decode::json_value(bytes, decode::Limits::default()).map_err(|why| patch::undecodable(form, &why))
}

fn apply<'a>(
    call: &'a Call<'_>,
    bytes: &Bytes,
    options: &'a WriteOptions,
    name: &'a str,
) -> Result<Change<'a>, Status> {
    let (config, _) = rules::configuration(call.resource, name, bytes, options.field_validation)?;
    Ok(Box::new(move |live| {
        let object =
            rules::applied(&call.api().registry(), &call.target(), live, &config, options, call.api().now())?;
        Ok(Proposal { object, is_managed: true })
    }))
}

/// What a patch makes of the scale of an object.
pub(super) fn scale_change<'a>(
    call: &Call<'_>,
    bytes: &Bytes,
) -> Result<impl Fn(&Value) -> Result<Value, Status> + Send + Sync + use<'a>, Status> {
    let kind = kind(call)?;
    let patch = body(bytes, kind)?;
    Ok(move |scale: &Value| match kind {
        Kind::Json => patch::json(scale.clone(), &patch),
        _ => patch::merge(scale.clone(), &patch),
    })
}
