//! What each mode of impersonation lets somebody be, and which permissions that takes.

use super::super::service_account;
use super::super::user::{ANONYMOUS, UNAUTHENTICATED};
use super::User;
use crate::field::{self, Error, Quoted};
use crate::names::dns_subdomain;
use crate::security::authorization::index::MASTERS;
use crate::security::authorization::{Attributes, Index, Resource, forbidden};
use crate::status::Status;

const GROUP: &str = "authentication.k8s.io";
const NODE: &str = "system:node:";
const NODES: &str = "system:nodes";
/// From so many values on, a permission for all of them is looked for first.
const MANY: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A Pod as the node that it is on
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    /// Anybody who is neither a node nor a ServiceAccount
    UserInfo,
    /// Anybody, for everything
    Legacy,
}

impl Mode {
    /// In the order in which they are tried.
    pub(super) const ALL: [Self; 5] =
        [Self::AssociatedNode, Self::ArbitraryNode, Self::ServiceAccount, Self::UserInfo, Self::Legacy];

    fn name(self) -> Option<&'static str> {
        match self {
            Self::AssociatedNode => Some("associated-node"),
            Self::ArbitraryNode => Some("arbitrary-node"),
            Self::ServiceAccount => Some("serviceaccount"),
            Self::UserInfo => Some("user-info"),
            Self::Legacy => None,
        }
    }

    fn verb(self) -> String {
        self.name().map_or_else(|| "impersonate".to_owned(), |name| format!("impersonate:{name}"))
    }

    pub(super) fn applies(self, requestor: &User, wanted: &User) -> bool {
        let only_name = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let (node, account) = (node(&wanted.name), service_account::parse(&wanted.name));
        match self {
            Self::AssociatedNode => only_name && node.is_some_and(|node| is_on(requestor, node)),
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }

    /// The user, if the requestor has every permission that it takes.
    pub(super) fn impersonate(
        self,
        index: &Index,
        requestor: &User,
        wanted: &User,
        request: &Attributes,
    ) -> Result<User, Status> {
        let attempt = Attempt { mode: self, index, requestor };
        if let Some(name) = self.name() {
            let verb = format!("impersonate-on:{name}:{}", request.verb);
            attempt.require(Attributes { verb, target: request.target.clone() })?;
        }
        attempt.require_name(wanted)?;
        attempt.require_uid(wanted)?;
        attempt.require_groups(wanted)?;
        attempt.require_extra(wanted)?;
        Ok(self.resulting(wanted.clone()))
    }

    /// Groups that were not asked for come from the name; the group of all who are known, or of strangers, is added.
    fn resulting(self, mut user: User) -> User {
        if user.groups.is_empty() {
            if let Some((namespace, _)) = service_account::parse(&user.name) {
                user.groups = service_account::groups(namespace);
            } else if self != Self::Legacy && node(&user.name).is_some() {
                user.groups.push(NODES.to_owned());
            }
        }
        if user.name == ANONYMOUS && !user.is_in(UNAUTHENTICATED) {
            user.groups.push(UNAUTHENTICATED.to_owned());
        }
        user.authenticated()
    }
}

struct Attempt<'a> {
    mode: Mode,
    index: &'a Index,
    requestor: &'a User,
}

impl Attempt<'_> {
    fn require(&self, attributes: Attributes) -> Result<(), Status> {
        let decision = self.index.allowed(self.requestor, &attributes);
        if decision.is_allowed() {
            Ok(())
        } else {
            Err(forbidden(self.requestor, &attributes, decision.reason()))
        }
    }

    fn require_name(&self, wanted: &User) -> Result<(), Status> {
        let constrained = self.mode != Mode::Legacy;
        let (resource, namespace, name) = match (service_account::parse(&wanted.name), node(&wanted.name)) {
            (Some((namespace, name)), _) => ("serviceaccounts", namespace, name),
            // A Pod may be the node that it is on by a permission for all nodes, and by no other.
            (_, Some(_)) if self.mode == Mode::AssociatedNode => ("nodes", "", "*"),
            (_, Some(name)) if constrained => ("nodes", "", name),
            _ => ("users", "", wanted.name.as_str()),
        };
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.require(self.attributes(Resource { namespace, name, ..self.named(resource) }))
    }

    fn require_uid(&self, wanted: &User) -> Result<(), Status> {
        let uid = Resource { name: wanted.uid.clone(), ..in_group("uids") };
        if wanted.uid.is_empty() { Ok(()) } else { self.require(self.attributes(uid)) }
    }

    fn require_groups(&self, wanted: &User) -> Result<(), Status> {
        let attributes =
            |name: &str| self.attributes(Resource { name: name.to_owned(), ..self.named("groups") });
        if self.mode != Mode::Legacy {
            let refused = |name, why| Err(forbidden(self.requestor, &attributes(name), why));
            if wanted.is_in("") {
                return refused("", "impersonating the empty string group is not allowed");
            }
            if wanted.is_in(MASTERS) {
                return refused(MASTERS, "impersonating the system:masters group is not allowed");
            }
            if wanted.groups.len() >= MANY && self.require(attributes("*")).is_ok() {
                return Ok(());
            }
        }
        wanted.groups.iter().try_for_each(|group| self.require(attributes(group)))
    }

    fn require_extra(&self, wanted: &User) -> Result<(), Status> {
        let attributes = |key: &str, value: &str| {
            let (subresource, name) = (key.to_owned(), value.to_owned());
            self.attributes(Resource { subresource, name, ..in_group("userextras") })
        };
        if self.mode != Mode::Legacy {
            let problem = wanted.extra.iter().find_map(|(key, values)| extra_problem(key, values));
            if let Some(problem) = problem {
                return Err(forbidden(self.requestor, &attributes("", ""), &problem));
            }
            let many = wanted.extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if many && self.require(attributes("*", "*")).is_ok() {
                return Ok(());
            }
        }
        let mut all =
            wanted.extra.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
        all.try_for_each(|(key, value)| self.require(attributes(key, value)))
    }

    fn attributes(&self, resource: Resource) -> Attributes {
        Attributes::resource(&self.mode.verb(), resource)
    }

    /// Names and groups were in the core group once, and are for the old mode.
    fn named(&self, resource: &str) -> Resource {
        let group = if self.mode == Mode::Legacy { "" } else { GROUP };
        Resource { group: group.to_owned(), ..in_group(resource) }
    }
}

fn in_group(resource: &str) -> Resource {
    Resource { group: GROUP.to_owned(), resource: resource.to_owned(), ..Resource::default() }
}

fn extra_problem(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let problems = key_problems(key);
    if !problems.is_empty() {
        let problems = field::summary(&problems);
        return Some(format!("impersonating an invalid key in extra is not allowed{problems}"));
    }
    if key != key.to_lowercase() {
        let key = Quoted(key);
        return Some(format!("impersonating a non-lowercase key in extra is not allowed: {key}"));
    }
    let empty = values.iter().any(String::is_empty);
    empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

/// A key must be a path behind a domain.
fn key_problems(key: &str) -> Vec<Error> {
    const FIELD: &str = "extra.key";
    let Some((host, path)) = key.split_once('/').filter(|(host, path)| !host.is_empty() && !path.is_empty())
    else {
        return vec![Error::invalid(FIELD, key, "must be a domain-prefixed path (such as \"acme.io/foo\")")];
    };
    let mut problems: Vec<_> =
        dns_subdomain(host).into_iter().map(|problem| Error::invalid(FIELD, host, problem)).collect();
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(is_path) {
        let why = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        problems.push(Error::invalid(FIELD, path, why));
    }
    problems
}

/// The node that a user's name is that of.
fn node(username: &str) -> Option<&str> {
    username.strip_prefix(NODE).filter(|name| dns_subdomain(name).is_empty())
}

/// Whether a token says that its Pod is on a node.
fn is_on(requestor: &User, node: &str) -> bool {
    let said = requestor.extra.get("authentication.kubernetes.io/node-name");
    service_account::parse(&requestor.name).is_some() && said.is_some_and(|said| *said == [node])
}
