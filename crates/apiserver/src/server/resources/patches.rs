//! Patches of all four kinds, told apart by their media type.

use axum::body::{Body, Bytes};
use axum::http::{Response, header};
use serde_json::Value;

use super::{Call, check_name};
use crate::api::Proposal;
use crate::decode::{self, FieldValidation, Limits};
use crate::identity::GroupKind;
use crate::options::{Write, WriteOptions};
use crate::resource::Verb;
use crate::status::Status;
use crate::{field, patch, rules};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Merge,
    Strategic,
    Apply,
}

const KINDS: [(&str, Kind); 4] = [
    ("application/json-patch+json", Kind::Json),
    ("application/merge-patch+json", Kind::Merge),
    ("application/strategic-merge-patch+json", Kind::Strategic),
    ("application/apply-patch+yaml", Kind::Apply),
];

pub(super) async fn serve(call: &Call<'_>, name: &str, bytes: Bytes) -> Result<Response<Body>, Status> {
    call.allow(Verb::Patch)?;
    let kind = kind(call)?;
    let write = if kind == Kind::Apply { Write::Apply } else { Write::Patch };
    let options = WriteOptions::parse(&call.exchange.query, write)?;
    let style = call.style()?;
    let change = change(call, kind, &bytes, &options, name)?;
    let creates = kind == Kind::Apply && call.path.subresource.is_none();
    let propose = |live: Option<&Value>| {
        let proposal = change(live)?;
        call.check_grants(proposal.object(), live)?;
        Ok(proposal)
    };
    let updated = call.api().update(&call.target(), name, &options, creates, &propose).await?;
    call.exchange.warn(updated.warnings);
    call.answer(if updated.is_new { 201 } else { 200 }, &updated.object, style)
}

fn kind(call: &Call<'_>) -> Result<Kind, Status> {
    let given = call.exchange.header(header::CONTENT_TYPE).unwrap_or_default();
    let media = given.split(';').next().unwrap_or_default().trim();
    let is_built_in = call.resource.is_built_in();
    let known = || KINDS.iter().filter(move |(_, kind)| is_built_in || *kind != Kind::Strategic);
    let found = known().find(|(name, _)| *name == media).map(|(_, kind)| *kind);
    found.ok_or_else(|| {
        if is_built_in {
            let status = Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
            return Status { details: Some(Box::default()), ..status };
        }
        let names: Vec<&str> = known().map(|(name, _)| *name).collect();
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
        let patched = patched(call, kind, live, &patch)?;
        let shown = match kind {
            Kind::Strategic => patch::Printed(&patch).to_string(),
            _ => patched.to_string(),
        };
        let unknown = if kind == Kind::Json { patch::unknown_fields(&patch) } else { Vec::new() };
        let (object, warnings) = rules::read(call.resource, patched, options.field_validation)
            .and_then(|(object, warnings)| {
                Ok((object, judged(&unknown, warnings, options.field_validation)?))
            })
            .map_err(|status| unusable(&shown, &status))?;
        call.exchange.warn(warnings);
        check_name(name, &object)?;
        Ok(Proposal::Edit(object))
    }))
}

/// What a client is told of fields that the operations of its patch do not know.
fn judged(
    unknown: &[String],
    warnings: Vec<String>,
    validation: FieldValidation,
) -> Result<Vec<String>, Status> {
    match validation {
        FieldValidation::Ignore => Ok(warnings),
        FieldValidation::Strict if !unknown.is_empty() => {
            Err(Status::bad_request(format!("strict decoding error: {}", unknown.join(", "))))
        }
        _ => Ok([unknown, &warnings].concat()),
    }
}

fn patched(call: &Call<'_>, kind: Kind, live: Value, patch: &Value) -> Result<Value, Status> {
    match kind {
        Kind::Json => patch::json(live, patch),
        Kind::Strategic => patch::strategic(live, patch, &call.resource.schema),
        Kind::Merge | Kind::Apply => patch::merge(live, patch),
    }
}

/// A patch that leaves something that is no object of the kind: the patch is to blame.
fn unusable(shown: &str, status: &Status) -> Status {
    let why =
        status.message.split_once(" cannot be handled as a ").and_then(|(_, rest)| rest.split_once(": "));
    let why = why.map_or(status.message.as_str(), |(_, why)| why);
    Status::invalid(&GroupKind::new("", ""), "", &[field::Error::invalid("patch", shown, why)])
}

fn body(bytes: &Bytes, kind: Kind) -> Result<Value, Status> {
    let form = match kind {
        Kind::Json => patch::Form::Json,
        Kind::Merge | Kind::Apply => patch::Form::Merge,
        Kind::Strategic => patch::Form::Strategic,
    };
    let parsed = decode::json(bytes, Limits::default()).map_err(|why| patch::undecodable(form, &why))?;
    Ok(parsed.object)
}

fn apply<'a>(
    call: &'a Call<'_>,
    bytes: &Bytes,
    options: &'a WriteOptions,
    name: &'a str,
) -> Result<Change<'a>, Status> {
    let parsed = decode::yaml(bytes, Limits::default()).map_err(|why| {
        Status::bad_request(format!("error decoding YAML: error converting YAML to JSON: {why}"))
    })?;
    Ok(Box::new(move |live| {
        let registry = call.api().registry();
        let merged =
            rules::applied(&registry, &call.target(), live, &parsed.object, options, call.api().now())?;
        let (object, warnings) = rules::read(call.resource, merged, options.field_validation)?;
        call.exchange.warn(warnings);
        check_name(name, &object)?;
        Ok(Proposal::Applied(object))
    }))
}

/// What a patch makes of the scale of an object.
pub(super) fn scale_change<'a>(
    call: &Call<'_>,
    bytes: &Bytes,
) -> Result<impl Fn(&Value) -> Result<Value, Status> + Send + Sync + use<'a>, Status> {
    let kind = kind(call)?;
    if kind == Kind::Apply {
        let message = "a scale cannot be applied here; apply the object itself, or patch its scale";
        return Err(Status::new(415, "UnsupportedMediaType", message));
    }
    let patch = body(bytes, kind)?;
    Ok(move |scale: &Value| {
        let patched = match kind {
            Kind::Json => patch::json(scale.clone(), &patch)?,
            _ => patch::merge(scale.clone(), &patch)?,
        };
        let shown = patched.to_string();
        let expected = decode::Expected { api_version: "autoscaling/v1", kind: "Scale" };
        decode::value(patched, expected)
            .map(|decoded| decoded.object)
            .map_err(|status| unusable(&shown, &status))
    })
}
