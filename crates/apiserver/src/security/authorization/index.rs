//! The roles and bindings of a cluster, found by the users and groups that they are for. A decision looks at the rules
//! of who asks and at no others; a change of one object touches what that object says and nothing else.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::{Attributes, Decision, GROUP, Rule, joined};
use crate::field::Quoted;
use crate::security::authentication::{User, service_account};
use crate::security::json::{at, text};

/// The group that may do everything, without any role.
pub const MASTERS: &str = "system:masters";

#[derive(Clone, Debug, Default)]
pub struct Index {
    cluster: Scope,
    namespaces: HashMap<String, Scope>,
}

/// What one namespace holds, or the cluster outside of them.
#[derive(Clone, Debug, Default)]
struct Scope {
    roles: HashMap<String, Arc<[Rule]>>,
    bindings: HashMap<String, Arc<Binding>>,
    users: Named,
    groups: Named,
}

/// For each name the bindings that have it among their subjects, and where in their lists they do.
type Named = HashMap<String, BTreeMap<String, usize>>;

#[derive(Debug)]
struct Binding {
    kind: &'static str,
    /// As messages name it: with the namespace behind it, if there is one.
    name: String,
    role_kind: String,
    role: String,
    subjects: Vec<(Subject, String)>,
}

/// ServiceAccounts are users, by the names that they have as such.
#[derive(Debug)]
enum Subject {
    User(String),
    Group(String),
}

/// A rule that applies, or why a binding's rules cannot be found.
type Found<'a> = Result<(&'a Rule, Source<'a>), String>;

/// The rules of a role, or why there are none.
type Rules<'a> = Result<&'a Arc<[Rule]>, String>;

/// Which binding gives a rule, and by which of its subjects.
#[derive(Clone, Copy)]
struct Source<'a> {
    binding: &'a Binding,
    subject: usize,
}

impl Index {
    pub fn build<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut index = Self::default();
        objects.into_iter().for_each(|object| index.put(object));
        index
    }

    /// Takes in a Role, ClusterRole, RoleBinding or ClusterRoleBinding as it is now. Other kinds are none of its business.
    pub fn put(&mut self, object: &Value) {
        self.remove(object);
        let (namespace, name) =
            (text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]));
        match text(object, &["kind"]) {
            "ClusterRole" => self.cluster.put_role(name, object),
            "ClusterRoleBinding" => self.cluster.put_binding(name, Binding::of_cluster(name, object)),
            "Role" => self.namespace(namespace).put_role(name, object),
            "RoleBinding" => {
                let binding = Binding::of_namespace(namespace, name, object);
                self.namespace(namespace).put_binding(name, binding);
            }
            _ => {}
        }
    }

    /// Forgets an object, of which kind, namespace and name are enough.
    pub fn remove(&mut self, object: &Value) {
        let (namespace, name) =
            (text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]));
        match text(object, &["kind"]) {
            "ClusterRole" => self.cluster.remove_role(name),
            "ClusterRoleBinding" => self.cluster.remove_binding(name),
            "Role" => self.in_namespace(namespace, |scope| scope.remove_role(name)),
            "RoleBinding" => self.in_namespace(namespace, |scope| scope.remove_binding(name)),
            _ => {}
        }
    }

    pub fn allowed(&self, user: &User, attributes: &Attributes) -> Decision {
        if user.is_in(MASTERS) {
            return Decision::Allowed(String::new());
        }
        let mut problems = Vec::new();
        for found in self.found(user, attributes.namespace()) {
            match found {
                Ok((rule, source)) if rule.allows(attributes) => return Decision::Allowed(source.reason()),
                Ok(_) => {}
                Err(problem) => problems.push(problem),
            }
        }
        let reason = if problems.is_empty() { String::new() } else { format!("RBAC: {}", joined(&problems)) };
        Decision::NoOpinion(reason)
    }

    /// Every rule that a user has in a namespace, or in the cluster, and what could not be found. The rules are complete
    /// but for those.
    pub fn rules(&self, user: &User, namespace: &str) -> (Vec<&Rule>, Vec<String>) {
        let (mut rules, mut problems) = (Vec::new(), Vec::new());
        for found in self.found(user, namespace) {
            match found {
                Ok((rule, _)) => rules.push(rule),
                Err(problem) => problems.push(problem),
            }
        }
        (rules, problems)
    }

    /// The rules of the role that a binding in a namespace, or in the cluster, refers to.
    pub(super) fn rules_of(&self, kind: &str, name: &str, namespace: &str) -> Rules<'_> {
        let found = match kind {
            "ClusterRole" => self.cluster.roles.get(name),
            "Role" => self.namespaces.get(namespace).and_then(|scope| scope.roles.get(name)),
            kind => return Err(format!("unsupported role reference kind: {}", Quoted(kind))),
        };
        found.ok_or_else(|| format!("{}.{GROUP} {} not found", kind.to_lowercase(), Quoted(name)))
    }

    /// Bindings of the cluster come first, then those of the namespace; both by name, so that the same question always
    /// has the same answer.
    fn found<'a>(&'a self, user: &User, namespace: &str) -> impl Iterator<Item = Found<'a>> + use<'a> {
        let local = self.namespaces.get(namespace).filter(|_| !namespace.is_empty());
        let scopes = [(Some(&self.cluster), ""), (local, namespace)].into_iter();
        let sources = scopes.filter_map(|(scope, namespace)| Some((scope?.sources(user), namespace)));
        let mut found: Vec<(Source<'a>, Rules<'a>)> = Vec::new();
        for (sources, namespace) in sources {
            found.extend(sources.into_iter().map(|source| {
                (source, self.rules_of(&source.binding.role_kind, &source.binding.role, namespace))
            }));
        }
        found.into_iter().flat_map(|(source, rules)| source.with(rules))
    }

    fn namespace(&mut self, name: &str) -> &mut Scope {
        self.namespaces.entry(name.to_owned()).or_default()
    }

    fn in_namespace(&mut self, name: &str, change: impl FnOnce(&mut Scope)) {
        if let Some(scope) = self.namespaces.get_mut(name) {
            change(scope);
            if scope.is_empty() {
                self.namespaces.remove(name);
            }
        }
    }
}

impl Scope {
    fn put_role(&mut self, name: &str, role: &Value) {
        self.roles.insert(name.to_owned(), Rule::parse_all(role).into());
    }

    fn put_binding(&mut self, name: &str, binding: Binding) {
        for (position, (subject, _)) in binding.subjects.iter().enumerate() {
            let (named, subject) = self.named(subject);
            // The first subject that applies is the one that a reason names.
            named.entry(subject.to_owned()).or_default().entry(name.to_owned()).or_insert(position);
        }
        self.bindings.insert(name.to_owned(), Arc::new(binding));
    }

    fn remove_role(&mut self, name: &str) {
        self.roles.remove(name);
    }

    fn remove_binding(&mut self, name: &str) {
        let Some(binding) = self.bindings.remove(name) else { return };
        for (subject, _) in &binding.subjects {
            let (named, subject) = self.named(subject);
            if let Some(bindings) = named.get_mut(subject) {
                bindings.remove(name);
                if bindings.is_empty() {
                    named.remove(subject);
                }
            }
        }
    }

    /// The bindings that apply to a user, by name.
    fn sources(&self, user: &User) -> Vec<Source<'_>> {
        let groups = user.groups.iter().filter_map(|group| self.groups.get(group));
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, position) in groups.chain(self.users.get(&user.name)).flatten() {
            let first = found.entry(name).or_insert(*position);
            *first = (*first).min(*position);
        }
        let sources = found.into_iter();
        sources
            .filter_map(|(name, subject)| Some(Source { binding: self.bindings.get(name)?, subject }))
            .collect()
    }

    fn named<'a>(&mut self, subject: &'a Subject) -> (&mut Named, &'a str) {
        match subject {
            Subject::User(name) => (&mut self.users, name),
            Subject::Group(name) => (&mut self.groups, name),
        }
    }

    fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.bindings.is_empty()
    }
}

impl Binding {
    fn of_cluster(name: &str, binding: &Value) -> Self {
        Self::parse("ClusterRoleBinding", name.to_owned(), "", binding)
    }

    fn of_namespace(namespace: &str, name: &str, binding: &Value) -> Self {
        Self::parse("RoleBinding", format!("{name}/{namespace}"), namespace, binding)
    }

    fn parse(kind: &'static str, name: String, namespace: &str, binding: &Value) -> Self {
        let subjects =
            at(binding, &["subjects"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Self {
            kind,
            name,
            role_kind: text(binding, &["roleRef", "kind"]).to_owned(),
            role: text(binding, &["roleRef", "name"]).to_owned(),
            subjects: subjects.iter().filter_map(|subject| parse_subject(subject, namespace)).collect(),
        }
    }
}

/// A subject, and how a reason describes it. Of other kinds than these, nobody is one.
fn parse_subject(subject: &Value, namespace: &str) -> Option<(Subject, String)> {
    let (kind, name) = (text(subject, &["kind"]), subject.get("name")?.as_str()?);
    match kind {
        "User" => Some((Subject::User(name.to_owned()), format!("User {}", Quoted(name)))),
        "Group" => Some((Subject::Group(name.to_owned()), format!("Group {}", Quoted(name)))),
        "ServiceAccount" => {
            let own = text(subject, &["namespace"]);
            let namespace = if own.is_empty() { namespace } else { own };
            let described = format!("ServiceAccount {}", Quoted(&format!("{name}/{namespace}")));
            let user = Subject::User(service_account::username(namespace, name));
            Some((user, described)).filter(|_| !namespace.is_empty())
        }
        _ => None,
    }
}

impl<'a> Source<'a> {
    fn with(self, rules: Rules<'a>) -> impl Iterator<Item = Found<'a>> + use<'a> {
        let (rules, problem): (&[Rule], _) = match rules {
            Ok(rules) => (rules, None),
            Err(problem) => (&[], Some(Err(problem))),
        };
        rules.iter().map(move |rule| Ok((rule, self))).chain(problem)
    }

    fn reason(&self) -> String {
        let Binding { kind, name, role_kind, role, subjects } = self.binding;
        let subject = &subjects[self.subject].1;
        format!("RBAC: allowed by {kind} {} of {role_kind} {} to {subject}", Quoted(name), Quoted(role))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::security::authorization::Resource;

    #[test]
    fn a_reason_names_the_first_subject_that_applies() {
        let subjects = json!([
            {"kind": "User", "name": "other"}, {"kind": "Group", "name": "b"},
            {"kind": "User", "name": "u"}, {"kind": "Group", "name": "a"},
        ]);
        let index = Index::build(&[
            json!({"kind": "ClusterRole", "metadata": {"name": "r"},
                "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}),
            json!({"kind": "ClusterRoleBinding", "metadata": {"name": "x"},
                "roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": subjects}),
        ]);
        let asked = Attributes::resource("get", Resource { resource: "pods".into(), ..Resource::default() });
        let decision = index.allowed(&User::new("u", &["a", "b"]), &asked);
        assert_eq!(
            decision.reason(),
            r#"RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "r" to Group "b""#
        );
    }
}
