//! Claims of devices: those that a pod makes, and those of its containers that use them.

use std::collections::BTreeSet;

use super::super::at::At;
use super::super::declared;
use super::annotations;
use crate::names;

/// Claims that a container makes use of, which are among those of its pod.
pub(super) fn used(claims: &At, of_pod: &BTreeSet<&str>) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for claim in claims.items() {
        let (name, request) = (claim.text_of("name"), claim.field("request"));
        if name.is_empty() {
            claim.required("");
            continue;
        }
        if seen.contains(name) {
            claim.duplicate(name);
        } else {
            request.may(names::dns_label);
            let key = if request.text().is_empty() {
                name.to_owned()
            } else {
                format!("{name}/{}", request.text())
            };
            if seen.contains(&key) {
                claim.duplicate(key.clone());
            } else if request.text().is_empty() {
                let prefix = format!("{name}/");
                let parts = seen.range(prefix.clone()..).take_while(|seen| seen.starts_with(&prefix));
                parts.for_each(|_| claim.duplicate(name));
            }
            seen.insert(key);
        }
        if !of_pod.contains(name) {
            let known: Vec<&str> = of_pod.iter().filter(|name| !name.is_empty()).copied().collect();
            let known =
                if known.is_empty() { " which is empty".into() } else { format!(": {}", known.join(", ")) };
            claim.not_found(name, format!("must be one of the names in pod.spec.resourceClaims{known}"));
        }
    }
}

pub(super) fn of_pod(claims: &At, metadata: &At) {
    let mut seen = BTreeSet::new();
    for claim in claims.items() {
        if metadata.field("annotations").has(annotations::MIRROR) {
            claims.root().forbidden("static pods do not support resource claims");
            continue;
        }
        let name = claim.field("name");
        if name.must_be_given() {
            if seen.contains(name.text()) {
                name.duplicate(name.text());
            } else {
                name.must(names::dns_label);
                seen.insert(name.text());
            }
        }
        let (direct, template) = (claim.field("resourceClaimName"), claim.field("resourceClaimTemplateName"));
        let shown = || declared::shown("PodResourceClaim", claim.value);
        let both = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
        match (direct.exists(), template.exists()) {
            (true, true) => claim.invalid_shown(shown(), both),
            (false, false) => claim.invalid_shown(
                shown(),
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            ),
            _ => {}
        }
        for place in [direct, template].into_iter().filter_map(At::given) {
            place.must(names::dns_subdomain);
        }
    }
}
