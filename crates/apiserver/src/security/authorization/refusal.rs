//! What a client is told that may not do what it asked for.

use super::{Attributes, Target};
use crate::field::Quoted;
use crate::identity::GroupResource;
use crate::security::authentication::User;
use crate::status::Status;

/// The refusal of a request; `reason` is what the decision says beside its no.
pub fn forbidden(user: &User, attributes: &Attributes, reason: &str) -> Status {
    let why = without_markup(&what(user, attributes));
    let why = if reason.is_empty() { why } else { format!("{why}: {reason}") };
    match &attributes.target {
        Target::Resource(target) if !target.resource.is_empty() => {
            Status::forbidden(&GroupResource::new(&target.group, &target.resource), &target.name, &why)
        }
        _ => Status {
            details: Some(Box::default()),
            ..Status::new(403, "Forbidden", format!("forbidden: {why}"))
        },
    }
}

fn what(user: &User, attributes: &Attributes) -> String {
    let (user, verb) = (Quoted(&user.name), &attributes.verb);
    match &attributes.target {
        Target::Path(path) => format!("User {user} cannot {verb} path {}", Quoted(path)),
        Target::Resource(target) => {
            let resource = target.with_subresource();
            let (resource, group) = (Quoted(&resource), Quoted(&target.group));
            let scope = match target.namespace.as_str() {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {}", Quoted(namespace)),
            };
            format!("User {user} cannot {verb} resource {resource} in API group {group} {scope}")
        }
    }
}

/// Names are the client's to choose, and a browser may show the message.
fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
