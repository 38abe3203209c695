//! Impersonations, compared with those that a kube-apiserver let through or refused (`security/recorded`).

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::super::service_account;
use super::*;
use crate::security::authorization::{forbidden, recorded};
use crate::security::json::text;

fn headers(attempt: &Value) -> HeaderMap {
    let pairs = attempt["headers"].as_array().unwrap().iter();
    let pairs = pairs.map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap()));
    pairs
        .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap()))
        .collect()
}

fn requestor(attempt: &Value) -> User {
    match text(attempt, &["as"]) {
        "admin" => User::new("admin", &["system:masters"]),
        name => User {
            name: service_account::username("security", name),
            groups: service_account::groups("security"),
            ..User::default()
        },
    }
    .authenticated()
}

/// What the server would answer: the user, or a refusal of the impersonation or of the request.
fn answer(index: &Index, attempt: &Value) -> Value {
    let (requestor, request) = (requestor(attempt), recorded::attributes(&attempt["attributes"]));
    // The real server remembers who used the old mode with success, and tells its refusals from then on.
    let last = ["legacy", "admin"].contains(&text(attempt, &["as"])).then_some(Mode::Legacy);
    let user = wanted(&headers(attempt))
        .and_then(|wanted| impersonate(index, &requestor, &wanted.unwrap(), &request, last));
    match user {
        Err(status) => status.message.into(),
        Ok((user, _)) => match index.allowed(&user, &request) {
            decision if !decision.is_allowed() => {
                forbidden(&user, &request, decision.reason()).message.into()
            }
            _ if attempt["answer"] == "ok" => "ok".into(),
            _ => user.to_json(),
        },
    }
}

#[test]
fn impersonations_end_as_with_the_real_server() {
    let attempts: Value = serde_json::from_str(include_str!("../../recorded/authentication.json")).unwrap();
    let index = recorded::index(&recorded::recorded());
    for attempt in recorded::list(&attempts, "impersonations") {
        assert_eq!(answer(&index, attempt), attempt["answer"], "{attempt}");
    }
}

fn index(verbs: [&str; 2], names: &Value) -> Index {
    Index::build(&[
        json!({"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [
            {"verbs": [verbs[0]], "apiGroups": ["authentication.k8s.io"], "resources": ["nodes"], "resourceNames": names},
            {"verbs": [verbs[1]], "apiGroups": [""], "resources": ["pods"]},
        ]}),
        json!({"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "agent", "namespace": "kube-system"}]}),
    ])
}

fn agent(node: &str) -> User {
    let mut user = User::new("system:serviceaccount:kube-system:agent", &[]);
    user.extra.insert("authentication.kubernetes.io/node-name".into(), vec![node.into()]);
    user
}

#[test]
fn a_pod_may_be_its_own_node_and_no_other() {
    let request = recorded::attributes(&json!({"verb": "list", "resource": "pods"}));
    let verbs = ["impersonate:associated-node", "impersonate-on:associated-node:list"];
    let wanted = User::new("system:node:n1", &[]);
    let all = index(verbs, &json!([]));
    let (user, mode) = impersonate(&all, &agent("n1"), &wanted, &request, None).unwrap();
    assert_eq!(user.groups, ["system:nodes", "system:authenticated"]);
    assert_eq!(mode, Mode::AssociatedNode);
    assert!(impersonate(&all, &agent("n2"), &wanted, &request, None).is_err());
    let one = index(verbs, &json!(["n1"]));
    assert!(impersonate(&one, &agent("n1"), &wanted, &request, None).is_err());
}

#[test]
fn names_that_are_not_text_are_refused() {
    let mut headers = HeaderMap::new();
    headers.insert("impersonate-user", HeaderValue::from_bytes(b"a\xff").unwrap());
    assert_eq!(wanted(&headers).unwrap_err().code, 400);
    assert_eq!(wanted(&HeaderMap::new()).unwrap(), None);
}
