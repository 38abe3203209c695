//! Nobody gives away more than they have: writing a role needs every permission in it, and writing a binding every
//! permission of its role, unless one is allowed to `escalate` the role or to `bind` it.

use serde_json::Value;

use super::coverage::{Missing, missing};
use super::index::MASTERS;
use super::rule::QuotedList;
use super::{Attributes, GROUP, Index, Resource, Rule, joined};
use crate::field::Quoted;
use crate::identity::GroupResource;
use crate::security::authentication::User;
use crate::security::json::{at, text};
use crate::status::Status;

/// Fields of the metadata that the garbage collector must be able to change without any permission on the rules.
const COLLECTORS: [&str; 4] = ["ownerReferences", "finalizers", "selfLink", "managedFields"];

/// Checks what a request is about to write. `request` is what the request was authorized for (without a name where it
/// creates), `new` the object as it would be stored, `old` as it is. Says nothing about other kinds.
pub fn confirm(
    index: &Index,
    user: &User,
    request: &Resource,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let check = match (request.group.as_str(), request.resource.as_str()) {
        (GROUP, "roles" | "clusterroles") => confirm_role,
        (GROUP, "rolebindings" | "clusterrolebindings") => confirm_binding,
        _ => return Ok(()),
    };
    if user.is_in(MASTERS) || old.is_some_and(|old| is_same_but_for_collectors(new, old)) {
        return Ok(());
    }
    check(&Writer { index, user, request, name: text(new, &["metadata", "name"]) }, new, old)
}

struct Writer<'a> {
    index: &'a Index,
    user: &'a User,
    request: &'a Resource,
    /// Of the object
    name: &'a str,
}

fn confirm_role(writer: &Writer<'_>, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let role = Resource { subresource: String::new(), ..writer.request.clone() };
    if writer.may("escalate", role) {
        return Ok(());
    }
    writer.confirm_rules(&Rule::parse_all(new))?;
    let aggregates = [Some(new), old].into_iter().flatten().any(is_aggregated);
    if aggregates && writer.confirm_rules(&everything()).is_err() {
        return Err(writer.forbidden("must have cluster-admin privileges to use the aggregationRule"));
    }
    Ok(())
}

fn confirm_binding(writer: &Writer<'_>, new: &Value, _: Option<&Value>) -> Result<(), Status> {
    let (kind, name) = (text(new, &["roleRef", "kind"]), text(new, &["roleRef", "name"]));
    let resource = match kind {
        "ClusterRole" => Some("clusterroles"),
        "Role" => Some("roles"),
        _ => None,
    };
    let role = resource.map(|resource| Resource {
        group: text(new, &["roleRef", "apiGroup"]).to_owned(),
        resource: resource.to_owned(),
        subresource: String::new(),
        namespace: writer.request.namespace.clone(),
        name: name.to_owned(),
    });
    if role.is_some_and(|role| writer.may("bind", role)) {
        return Ok(());
    }
    let rules = writer.index.rules_of(kind, name, &writer.request.namespace);
    let rules = rules.map_err(|problem| match resource {
        Some(_) => Status::not_found(&writer.resource(), name),
        None => Status::internal(&problem),
    })?;
    writer.confirm_rules(rules)
}

impl Writer<'_> {
    fn may(&self, verb: &str, role: Resource) -> bool {
        self.index.allowed(self.user, &Attributes::resource(verb, role)).is_allowed()
    }

    fn confirm_rules(&self, wanted: &[Rule]) -> Result<(), Status> {
        let (owned, problems) = self.index.rules(self.user, &self.request.namespace);
        let missing = match missing(owned, wanted) {
            Missing::Nothing => return Ok(()),
            Missing::Rules(rules) => rules.join("\n"),
            Missing::TooManyToTell => {
                "too many combinations in one role to check; make several roles".to_owned()
            }
        };
        let unresolved = match problems.as_slice() {
            [] => String::new(),
            problems => format!("; resolution errors: [{}]", joined(problems)),
        };
        let (user, groups) = (Quoted(&self.user.name), QuotedList(&self.user.groups));
        Err(self.forbidden(&format!(
            "user {user} (groups={groups}) is attempting to grant RBAC permissions not currently held:\n\
             {missing}{unresolved}"
        )))
    }

    fn forbidden(&self, why: &str) -> Status {
        Status::forbidden(&self.resource(), self.name, why)
    }

    fn resource(&self) -> GroupResource {
        GroupResource::new(&self.request.group, &self.request.resource)
    }
}

fn is_aggregated(role: &Value) -> bool {
    let selectors = at(role, &["aggregationRule", "clusterRoleSelectors"]).and_then(Value::as_array);
    selectors.is_some_and(|selectors| !selectors.is_empty())
}

/// What an aggregated role may come to hold.
fn everything() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    let resources = Rule { verbs: all(), api_groups: all(), resources: all(), ..Rule::default() };
    [resources, Rule { verbs: all(), non_resource_urls: all(), ..Rule::default() }]
}

fn is_same_but_for_collectors(new: &Value, old: &Value) -> bool {
    let (new, old) = (without_collectors(new), without_collectors(old));
    new == old
}

fn without_collectors(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| !COLLECTORS.contains(&field.as_str()));
    }
    object
}
