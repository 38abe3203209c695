//! The roles and bindings that a cluster starts with. The data is beside, in YAML; names, labels and rules are those of a
//! kube-apiserver, as far as they concern what is served here, and ours for the kinds of Agent Sandbox.

use serde_json::Value;

use super::reconciliation::AUTO_UPDATE;
use super::{GROUP, aggregation};

const ROLES: &str = include_str!("bootstrap/roles.yaml");
const BINDINGS: &str = include_str!("bootstrap/bindings.yaml");

/// Every ClusterRole and ClusterRoleBinding, complete with metadata; aggregated roles already hold their rules.
pub fn objects() -> Vec<Value> {
    let mut roles = parsed(ROLES, "ClusterRole");
    aggregation::settle(&mut roles);
    roles.into_iter().chain(parsed(BINDINGS, "ClusterRoleBinding")).collect()
}

fn parsed(text: &str, kind: &str) -> Vec<Value> {
    let objects: Vec<Value> = serde_saphyr::from_str(text).expect("a test reads the same text");
    objects.into_iter().map(|object| completed(object, kind)).collect()
}

fn completed(mut object: Value, kind: &str) -> Value {
    object["apiVersion"] = format!("{GROUP}/v1").into();
    object["kind"] = kind.into();
    object["metadata"]["labels"]["kubernetes.io/bootstrapping"] = "rbac-defaults".into();
    object["metadata"]["annotations"][AUTO_UPDATE] = "true".into();
    for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        subject["apiGroup"] = GROUP.into();
    }
    if let Some(role) = object.get_mut("roleRef") {
        role["apiGroup"] = GROUP.into();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::authentication::User;
    use crate::security::authorization::{Attributes, Index, Resource, Rule};

    fn index() -> Index {
        Index::build(&objects())
    }

    #[test]
    fn every_rule_of_the_bootstrap_policy_can_be_read() {
        for role in objects().iter().filter(|object| object["kind"] == "ClusterRole") {
            let rules = role["rules"].as_array().unwrap();
            assert_eq!(Rule::parse_all(role).len(), rules.len(), "{role}");
            assert!(!rules.is_empty(), "{role}");
        }
    }

    #[test]
    fn every_binding_refers_to_a_role_that_exists() {
        let objects = objects();
        let names = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
        for binding in names("ClusterRoleBinding") {
            let role = &binding["roleRef"]["name"];
            assert!(names("ClusterRole").any(|object| object["metadata"]["name"] == *role), "{role}");
        }
    }

    #[test]
    fn strangers_see_health_and_version_and_nothing_else() {
        let index = index();
        let allowed = |path| index.allowed(&User::anonymous(), &Attributes::path("get", path)).is_allowed();
        for path in ["/healthz", "/livez", "/readyz", "/version", "/version/"] {
            assert!(allowed(path), "{path}");
        }
        for path in
            ["/", "/api", "/apis", "/openapi/v3", "/metrics", "/healthz/log", "/openid/v1/jwks", "/version/x"]
        {
            assert!(!allowed(path), "{path}");
        }
        let (rules, _) = index.rules(&User::anonymous(), "default");
        assert!(rules.iter().all(|rule| rule.resources.is_empty()));
    }

    #[test]
    fn the_kinds_of_agent_sandbox_are_in_view_edit_and_admin() {
        let objects = objects();
        let holds = |role: &str, verb: &str, group: &str, resource: &str| {
            let role = objects.iter().find(|object| object["metadata"]["name"] == *role).unwrap();
            let resource = Resource { group: group.into(), resource: resource.into(), ..Resource::default() };
            let wanted = Attributes::resource(verb, resource);
            Rule::parse_all(role).iter().any(|rule| rule.allows(&wanted))
        };
        for role in ["edit", "admin"] {
            assert!(holds(role, "create", "agents.x-k8s.io", "sandboxes"), "{role}");
            assert!(holds(role, "delete", "extensions.agents.x-k8s.io", "sandboxclaims"), "{role}");
        }
        assert!(holds("view", "watch", "extensions.agents.x-k8s.io", "sandboxtemplates"));
        assert!(!holds("view", "create", "agents.x-k8s.io", "sandboxes"));
    }
}
