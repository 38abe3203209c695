//! What is served beside resources: health, version, discovery, OpenAPI.

use axum::body::Body;
use axum::http::{HeaderValue, Method, Response, header};
use serde_json::{Value, json};

use super::handler::Exchange;
use super::{metrics, reply};
use crate::negotiation::{self, Choice, Form, Swagger};
use crate::path::Path;
use crate::status::Status;
use crate::store::Health;
use crate::{discovery, openapi};

pub(super) fn serve(exchange: &Exchange<'_>, path: &Path) -> Result<Response<Body>, Status> {
    let registry = exchange.server.api.registry();
    match path {
        Path::Group(name) if *name == metrics::GROUP && metrics::are_served(exchange) => {
            let mut group = metrics::group();
            (group["kind"], group["apiVersion"]) = ("APIGroup".into(), "v1".into());
            found(exchange, Some(group))
        }
        Path::Version { group, version } if *group == metrics::GROUP && metrics::are_served(exchange) => {
            found(exchange, metrics::resources(version))
        }
        // Kubernetes answers this whatever the method.
        Path::Group(name) => found(exchange, discovery::group(&registry, name)),
        Path::Version { group, version } if is_read(exchange) => {
            let document = discovery::resources(&registry, group, version);
            let is_ours = registry.all().iter().any(|it| it.is_built_in() && it.group == *group);
            if document.is_none() && is_ours {
                Err(Status::no_such_path())
            } else {
                found(exchange, document)
            }
        }
        _ if !is_read(exchange) => Err(Status::method_not_allowed()),
        _ => other(exchange),
    }
}

fn is_read(exchange: &Exchange<'_>) -> bool {
    matches!(exchange.parts.method, Method::GET | Method::HEAD)
}

fn found(exchange: &Exchange<'_>, document: Option<Value>) -> Result<Response<Body>, Status> {
    let document = document.ok_or_else(Status::no_such_page)?;
    Ok(reply::object(200, &document, exchange.style(Choice::Whole)?))
}

fn other(exchange: &Exchange<'_>) -> Result<Response<Body>, Status> {
    let registry = exchange.server.api.registry();
    let path = exchange.parts.uri.path();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        [name @ ("healthz" | "livez" | "readyz")] => Ok(health(exchange, name)),
        [name @ ("healthz" | "livez" | "readyz"), check] => Ok(one_check(exchange, name, check)),
        ["version"] => Ok(reply::object(200, &version(), exchange.plain_style())),
        ["api"] => groups(exchange, true),
        ["apis"] => groups(exchange, false),
        ["openapi", "v2"] => Ok(swagger(exchange)),
        // Kubernetes says of this one that it is text.
        ["openapi", "v3"] => Ok(reply::text(200, &openapi::index(&registry).to_string())),
        ["openapi", "v3", "api", version] => Ok(open_api(exchange, "", version)),
        ["openapi", "v3", "apis", group, version] => Ok(open_api(exchange, group, version)),
        [".well-known", "openid-configuration"] => {
            let keys = format!("https://{}/openid/v1/jwks", exchange.server.address());
            Ok(reply::object(200, &exchange.server.gate.issuer(&keys), exchange.plain_style()))
        }
        ["openid", "v1", "jwks"] => {
            let bytes = exchange.server.gate.keys().to_string().into_bytes();
            Ok(reply::bytes_reply(200, bytes, "application/jwk-set+json"))
        }
        [""] => Ok(reply::object(200, &json!({"paths": paths(exchange)}), exchange.plain_style())),
        _ => Ok(reply::text(404, "404 page not found\n")),
    }
}

/// What is looked at, and whether it is well. Whoever is alive can recover from what keeps it from being ready.
fn checks(exchange: &Exchange<'_>, name: &str) -> Vec<(&'static str, bool)> {
    let store = exchange.server.api.store().health();
    if name == "livez" {
        return vec![("ping", true), ("store", store != Health::Closed)];
    }
    let controllers = exchange.server.controllers.are_well();
    vec![("ping", true), ("store", store == Health::Well), ("controllers", controllers)]
}

fn health(exchange: &Exchange<'_>, name: &str) -> Response<Body> {
    let checks = checks(exchange, name);
    let is_well = checks.iter().all(|(_, is_well)| *is_well);
    if is_well && exchange.query.get("verbose").is_none() {
        return reply::text(200, "ok");
    }
    let line = |(check, is_well): &(&str, bool)| match is_well {
        true => format!("[+]{check} ok\n"),
        false => format!("[-]{check} failed: reason withheld\n"),
    };
    let lines: String = checks.iter().map(line).collect();
    let (code, outcome) = if is_well { (200, "passed") } else { (500, "failed") };
    reply::text(code, &format!("{lines}{name} check {outcome}\n"))
}

fn one_check(exchange: &Exchange<'_>, name: &str, check: &str) -> Response<Body> {
    match checks(exchange, name).iter().find(|(known, _)| *known == check) {
        Some((_, true)) => reply::text(200, "ok"),
        Some((_, false)) => reply::text(500, "internal server error: reason withheld\n"),
        None => reply::text(404, "404 page not found\n"),
    }
}

fn groups(exchange: &Exchange<'_>, core: bool) -> Result<Response<Body>, Status> {
    let registry = exchange.server.api.registry();
    let style = exchange.style(Choice::Discovery)?;
    if style.representation.form == Form::Aggregated {
        let mut document = discovery::aggregated(&registry, core);
        add(&mut document, "items", exchange, core, metrics::aggregated);
        let mut response = reply::object(200, &document, style);
        let media = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        headers.insert(header::VARY, HeaderValue::from_static("Accept"));
        return Ok(response);
    }
    let mut document = if core {
        discovery::core_versions(&exchange.server.address())
    } else {
        discovery::groups(&registry)
    };
    add(&mut document, "groups", exchange, core, metrics::group);
    Ok(reply::object(200, &document, style))
}

/// What is measured is a group that no registry knows.
fn add(document: &mut Value, field: &str, exchange: &Exchange<'_>, core: bool, group: fn() -> Value) {
    if core || !metrics::are_served(exchange) {
        return;
    }
    if let Some(groups) = document.get_mut(field).and_then(Value::as_array_mut) {
        groups.push(group());
    }
}

fn open_api(exchange: &Exchange<'_>, group: &str, version: &str) -> Response<Body> {
    let registry = exchange.server.api.registry();
    unless_known(exchange, &openapi::hash(&registry, group, version), "application/json", || {
        let document = openapi::document(&registry, group, version);
        document.map_or_else(
            || reply::nothing(404),
            |document| reply::object(200, &document, exchange.plain_style()),
        )
    })
}

fn swagger(exchange: &Exchange<'_>) -> Response<Body> {
    let registry = exchange.server.api.registry();
    let document = || openapi::swagger(&registry);
    let etag = openapi::hash_of_all(&registry);
    let mut response = match negotiation::negotiate_swagger(exchange.header(header::ACCEPT)) {
        None => reply::nothing(406),
        Some(Swagger::Json) => {
            let media = "application/json";
            let whole = || reply::bytes_reply(200, document().to_string().into_bytes(), media);
            unless_known(exchange, &etag, media, whole)
        }
        Some(Swagger::Protobuf) => {
            let media = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
            let whole = || reply::bytes_reply(200, openapi::encoded(&document()), media);
            unless_known(exchange, &etag, media, whole)
        }
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

/// An answer that a client has already, by what it says, is not made again.
fn unless_known(
    exchange: &Exchange<'_>,
    hash: &str,
    media: &'static str,
    whole: impl FnOnce() -> Response<Body>,
) -> Response<Body> {
    let etag = format!("\"{hash}\"");
    let is_known = exchange.header(header::IF_NONE_MATCH).is_some_and(|known| known == etag);
    let mut response = if is_known { reply::bytes_reply(304, Vec::new(), media) } else { whole() };
    if let (200 | 304, Ok(etag)) = (response.status().as_u16(), HeaderValue::from_str(&etag)) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    response
}

/// The version of Kubernetes whose API this is; which program serves it is in the build.
fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": concat!("v1.36.3+asb-", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    })
}

/// As Go names it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn paths(exchange: &Exchange<'_>) -> Vec<String> {
    let registry = exchange.server.api.registry();
    let mut paths: Vec<String> = [
        "/.well-known/openid-configuration",
        "/api",
        "/api/v1",
        "/apis",
        "/healthz",
        "/livez",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .into();
    for (group, versions) in registry.groups().into_iter().filter(|(group, _)| !group.is_empty()) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.sort();
    paths
}
