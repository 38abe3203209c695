//! The index decides as a look at every object would, and the check against escalation never lets a permission through.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;
use crate::security::authentication::{User, service_account};

const NAMESPACES: [&str; 3] = ["", "a", "b"];
/// What reviews look at.
const FIELDS: [&str; 21] = [
    "metadata",
    "namespace",
    "spec",
    "user",
    "groups",
    "extra",
    "token",
    "resourceAttributes",
    "verb",
    "nonResourceAttributes",
    "fieldSelector",
    "labelSelector",
    "rawSelector",
    "requirements",
    "key",
    "operator",
    "values",
    "boundObjectRef",
    "name",
    "kind",
    "audiences",
];

fn some(texts: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(select(texts), 0..3)
}

fn rule() -> impl Strategy<Value = Value> {
    let lists = (
        some(&["get", "list", "*"]),
        some(&["", "apps", "*"]),
        some(&["pods", "pods/log", "*/log", "secrets", "*"]),
        some(&["one", "two"]),
        some(&["/x", "/x/*", "*"]),
    );
    lists.prop_map(|(verbs, groups, resources, names, urls)| {
        json!({"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names,
            "nonResourceURLs": urls})
    })
}

fn role() -> impl Strategy<Value = Value> {
    let parts = (select(&NAMESPACES[..]), select(&["r1", "r2"][..]), prop::collection::vec(rule(), 0..3));
    parts.prop_map(|(namespace, name, rules)| {
        let kind = if namespace.is_empty() { "ClusterRole" } else { "Role" };
        json!({"kind": kind, "metadata": {"name": name, "namespace": namespace}, "rules": rules})
    })
}

fn subject() -> impl Strategy<Value = Value> {
    let parts = (select(&["User", "Group", "ServiceAccount", "Robot"][..]), select(&["u", "v"][..]));
    (parts, select(&NAMESPACES[..]))
        .prop_map(|((kind, name), namespace)| json!({"kind": kind, "name": name, "namespace": namespace}))
}

fn binding() -> impl Strategy<Value = Value> {
    let parts = (select(&NAMESPACES[..]), select(&["b1", "b2"][..]), prop::collection::vec(subject(), 0..3));
    (parts, select(&["Role", "ClusterRole"][..]), select(&["r1", "r2", "r3"][..])).prop_map(
        |((namespace, name, subjects), kind, role)| {
            let own = if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
            json!({"kind": own, "metadata": {"name": name, "namespace": namespace},
                "roleRef": {"kind": kind, "name": role}, "subjects": subjects})
        },
    )
}

fn objects() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(prop_oneof![role(), binding()], 0..10)
}

fn user() -> impl Strategy<Value = User> {
    let accounts = NAMESPACES.map(|namespace| service_account::username(namespace, "u"));
    let names = accounts.into_iter().chain(["u".to_owned(), "w".to_owned()]).collect::<Vec<_>>();
    (select(names), some(&["u", "v", "w"])).prop_map(|(name, groups)| User::new(&name, &groups))
}

fn question() -> impl Strategy<Value = Attributes> {
    let resource = (
        select(&["", "apps"][..]),
        select(&["pods", "secrets"][..]),
        select(&["", "log"][..]),
        select(&NAMESPACES[..]),
        select(&["", "one", "three"][..]),
    );
    let resource = resource.prop_map(|(group, resource, subresource, namespace, name)| {
        Target::Resource(Resource {
            group: group.into(),
            resource: resource.into(),
            subresource: subresource.into(),
            namespace: namespace.into(),
            name: name.into(),
        })
    });
    let path = select(&["/x", "/x/y", "/z"][..]).prop_map(|path| Target::Path(path.into()));
    (select(&["get", "list", "watch"][..]), prop_oneof![3 => resource, 1 => path])
        .prop_map(|(verb, target)| Attributes { verb: verb.into(), target })
}

/// A rule with short lists, which is often covered.
fn narrow_rule() -> impl Strategy<Value = Value> {
    let resources = (
        select(&["get", "list", "*"][..]),
        select(&["", "apps", "*"][..]),
        select(&["pods", "pods/log", "*/log", "*"][..]),
        some(&["one", "two"]),
    );
    let resources = resources.prop_map(|(verb, group, resource, names)| {
        json!({"verbs": [verb], "apiGroups": [group], "resources": [resource], "resourceNames": names})
    });
    let urls = (select(&["get", "*"][..]), select(&["/x", "/x/*", "/x/y", "*"][..]));
    prop_oneof![3 => resources, 1 => urls.prop_map(|(verb, url)| json!({"verbs": [verb], "nonResourceURLs": [url]}))]
}

/// A cluster in which one user has some rules.
fn owner_of(rules: &[Value]) -> [Value; 2] {
    [
        json!({"kind": "ClusterRole", "metadata": {"name": "owned"}, "rules": rules}),
        json!({"kind": "ClusterRoleBinding", "metadata": {"name": "owner"},
            "roleRef": {"kind": "ClusterRole", "name": "owned"}, "subjects": [{"kind": "User", "name": "owner"}]}),
    ]
}

/// Everything that could be asked with a few words.
fn questions() -> impl Iterator<Item = Attributes> {
    let words = |words: &'static [&'static str]| words.iter().copied();
    let all = words(&["", "apps"]).flat_map(move |group| {
        words(&["pods", "secrets"]).flat_map(move |resource| {
            words(&["", "log"]).flat_map(move |subresource| {
                words(&["", "one", "three"]).map(move |name| {
                    let (group, resource) = (group.to_owned(), resource.to_owned());
                    let (subresource, name) = (subresource.to_owned(), name.to_owned());
                    Target::Resource(Resource { group, resource, subresource, name, ..Resource::default() })
                })
            })
        })
    });
    let all = all.chain(words(&["/x", "/x/", "/x/y", "/z"]).map(|path| Target::Path(path.to_owned())));
    all.flat_map(move |target| {
        words(&["get", "list", "watch"])
            .map(move |verb| Attributes { verb: verb.to_owned(), target: target.clone() })
    })
}

/// JSON with the fields that reviews look at, and anything in them.
fn body() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        "[a-z=(,!]{0,4}".prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        let fields = prop::collection::btree_map(select(&FIELDS[..]), inner.clone(), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            fields.prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

/// Looks at every binding, every subject and every role.
fn allowed_naively(objects: &[Value], user: &User, wanted: &Attributes) -> bool {
    let scope = |object: &Value| object["metadata"]["namespace"].as_str().unwrap().to_owned();
    let bindings = objects.iter().filter(|object| object.get("roleRef").is_some());
    let mut bindings = bindings.filter(|binding| ["", wanted.namespace()].contains(&scope(binding).as_str()));
    bindings.any(|binding| {
        let namespace = scope(binding);
        let mut subjects = binding["subjects"].as_array().unwrap().iter();
        let role = |role: &&Value| {
            let in_scope = if role["kind"] == "Role" { scope(role) == namespace } else { true };
            role["kind"] == binding["roleRef"]["kind"]
                && *named(role) == binding["roleRef"]["name"]
                && in_scope
        };
        subjects.any(|subject| is_subject(user, subject, &namespace))
            && objects.iter().filter(role).flat_map(Rule::parse_all).any(|rule| rule.allows(wanted))
    })
}

fn named(object: &Value) -> &Value {
    &object["metadata"]["name"]
}

fn is_subject(user: &User, subject: &Value, namespace: &str) -> bool {
    let name = subject["name"].as_str().unwrap();
    match subject["kind"].as_str().unwrap() {
        "User" => user.name == name,
        "Group" => user.is_in(name),
        "ServiceAccount" => {
            let own = subject["namespace"].as_str().unwrap();
            let namespace = if own.is_empty() { namespace } else { own };
            !namespace.is_empty() && user.name == service_account::username(namespace, name)
        }
        _ => false,
    }
}

/// Of several objects with one name, the last counts.
fn current(objects: &[Value]) -> Vec<Value> {
    let key = |object: &Value| (object["kind"].clone(), object["metadata"].clone());
    let is_last =
        |position: usize| !objects[position + 1..].iter().any(|later| key(later) == key(&objects[position]));
    (0..objects.len())
        .filter(|&position| is_last(position))
        .map(|position| objects[position].clone())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_index_decides_as_a_look_at_everything_would(objects in objects(), user in user(), wanted in question()) {
        let index = Index::build(&objects);
        let naive = allowed_naively(&current(&objects), &user, &wanted);
        prop_assert_eq!(index.allowed(&user, &wanted).is_allowed(), naive);
    }

    #[test]
    fn what_was_removed_leaves_nothing(objects in objects(), others in objects(), user in user(), wanted in question()) {
        let mut index = Index::build(objects.iter().chain(&others));
        for other in &others {
            index.remove(other);
        }
        let names = |object: &Value| (object["kind"].clone(), object["metadata"].clone());
        let left: Vec<_> =
            current(&objects).into_iter().filter(|own| !others.iter().any(|other| names(other) == names(own))).collect();
        prop_assert_eq!(index.allowed(&user, &wanted), Index::build(&left).allowed(&user, &wanted));
    }

    #[test]
    fn a_role_that_is_let_through_allows_nothing_new(
        owned in prop::collection::vec(rule(), 1..3), wanted in prop::collection::vec(narrow_rule(), 1..3),
    ) {
        let index = Index::build(&owner_of(&owned));
        let owner = User::new("owner", &[]);
        let role = json!({"kind": "ClusterRole", "metadata": {"name": "new"}, "rules": wanted});
        let request = Resource { group: GROUP.into(), resource: "clusterroles".into(), ..Resource::default() };
        // Who may do everything with objects may also escalate, and so give away what they do not have.
        let may_escalate = index.allowed(&owner, &Attributes::resource("escalate", request.clone())).is_allowed();
        if !may_escalate && escalation::confirm(&index, &owner, &request, &role, None).is_ok() {
            let rules = Rule::parse_all(&role);
            let mut gained = questions().filter(|question| rules.iter().any(|rule| rule.allows(question)));
            prop_assert!(gained.all(|question| index.allowed(&owner, &question).is_allowed()));
        }
    }

    #[test]
    fn whoever_has_a_rule_may_give_it(objects in objects(), user in user()) {
        let index = Index::build(&objects);
        let (rules, _) = index.rules(&user, "");
        // Names with paths are not valid, and as in the real server nothing covers them.
        let rules = rules.into_iter().filter(|rule| rule.resource_names.is_empty() || rule.non_resource_urls.is_empty());
        let rules: Vec<_> = rules.map(Rule::to_json).collect();
        let role = json!({"kind": "ClusterRole", "metadata": {"name": "new"}, "rules": rules});
        let request = Resource { group: GROUP.into(), resource: "clusterroles".into(), ..Resource::default() };
        prop_assert_eq!(escalation::confirm(&index, &user, &request, &role, None), Ok(()));
    }
}

proptest! {
    #[test]
    fn no_body_makes_a_review_panic(body in body()) {
        let (index, user) = (Index::default(), User::anonymous());
        let _ = review::subject_access(&index, &body);
        let _ = review::local_subject_access(&index, "a", &body);
        let _ = review::self_subject_access(&index, &user, &body);
        let _ = review::self_subject_rules(&index, &user, &body);
        let _ = Index::build([&body]);
    }
}
