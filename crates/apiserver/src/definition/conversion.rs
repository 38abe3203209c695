//! How a definition says its versions are converted.

use std::collections::HashSet;

use serde_json::Value;

use super::reading::{list, text};
use crate::field::Error;
use crate::names::dns_1035_label;

const PATH: &str = "spec.conversion";

pub(super) fn validate(conversion: &Value, errors: &mut Vec<Error>) {
    if !conversion.is_object() {
        return;
    }
    let strategy = text(conversion, "strategy");
    match strategy {
        "" => errors.push(Error::required(format!("{PATH}.strategy"), "")),
        "None" | "Webhook" => {}
        other => {
            let supported = ["None", "Webhook"];
            errors.push(Error::not_supported(format!("{PATH}.strategy"), other, &supported));
        }
    }
    let webhook = &conversion["webhook"];
    if strategy == "Webhook" {
        client(&webhook["clientConfig"], errors);
        review_versions(list(webhook, "conversionReviewVersions"), errors);
        return;
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if webhook["clientConfig"].is_object() {
        errors.push(Error::forbidden(format!("{PATH}.webhookClientConfig"), detail));
    }
    if !list(webhook, "conversionReviewVersions").is_empty() {
        errors.push(Error::forbidden(format!("{PATH}.conversionReviewVersions"), detail));
    }
}

fn client(client: &Value, errors: &mut Vec<Error>) {
    let path = format!("{PATH}.webhookClientConfig");
    if !client.is_object() {
        errors.push(Error::required(path, "required when strategy is set to Webhook"));
        return;
    }
    match (client["url"].as_str(), client["service"].as_object()) {
        (Some(_), Some(_)) | (None, None) => {
            errors.push(Error::required(path, "exactly one of url or service is required"));
        }
        (Some(address), None) => url(address, &format!("{path}.url"), errors),
        (None, Some(_)) => service(&client["service"], &format!("{path}.service"), errors),
    }
}

fn url(address: &str, path: &str, errors: &mut Vec<Error>) {
    let form = "; desired format: https://host[/path]";
    let Some((scheme, rest)) = address.split_once("://") else {
        let detail = format!("'https' is the only allowed URL scheme{form}");
        errors.push(Error::invalid(path, "", detail));
        return;
    };
    if scheme != "https" {
        errors.push(Error::invalid(path, scheme, format!("'https' is the only allowed URL scheme{form}")));
    }
    let (authority, after) = rest.find(['/', '?', '#']).map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.is_empty() {
        errors.push(Error::invalid(path, host, format!("host must be specified{form}")));
    }
    if let Some((user, _)) = authority.rsplit_once('@') {
        errors.push(Error::invalid(path, user, "user information is not permitted in the URL"));
    }
    let (before, fragment) = after.split_once('#').unwrap_or((after, ""));
    if !fragment.is_empty() {
        errors.push(Error::invalid(path, fragment, "fragments are not permitted in the URL"));
    }
    if let Some((_, query)) = before.split_once('?').filter(|(_, query)| !query.is_empty()) {
        errors.push(Error::invalid(path, query, "query parameters are not permitted in the URL"));
    }
}

fn service(service: &Value, path: &str, errors: &mut Vec<Error>) {
    for name in ["name", "namespace"] {
        if text(service, name).is_empty() {
            errors.push(Error::required(format!("{path}.{name}"), format!("service {name} is required")));
        }
    }
    if let Some(port) = service["port"].as_i64().filter(|port| !(1..=65535).contains(port)) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(Error::invalid(format!("{path}.port"), port, detail));
    }
    if let Some(url_path) = service["path"].as_str().filter(|url_path| !url_path.starts_with('/')) {
        errors.push(Error::invalid(format!("{path}.path"), url_path, "must start with a '/'"));
    }
}

fn review_versions(versions: &[Value], errors: &mut Vec<Error>) {
    let path = format!("{PATH}.conversionReviewVersions");
    if versions.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    let mut seen = HashSet::new();
    let versions: Vec<&str> = versions.iter().map(|version| version.as_str().unwrap_or_default()).collect();
    for (index, version) in versions.iter().enumerate() {
        let field = format!("{path}[{index}]");
        if !seen.insert(*version) {
            errors.push(Error::invalid(field, *version, "duplicate version"));
            continue;
        }
        errors.extend(
            dns_1035_label(version).into_iter().map(|detail| Error::invalid(field.clone(), *version, detail)),
        );
    }
    if !versions.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
        errors.push(Error::invalid(path, versions, "must include at least one of v1, v1beta1"));
    }
}
