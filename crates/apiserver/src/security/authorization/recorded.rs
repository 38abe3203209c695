//! Every answer here is compared with the one that a kube-apiserver gave (`security/recorded`).

use serde_json::Value;

use super::*;
use crate::security::authentication::{User, review as authentication_review};
use crate::security::json::{text, texts};
use crate::status::Status;

pub(crate) fn recorded() -> Value {
    serde_json::from_str(include_str!("../recorded/authorization.json")).unwrap()
}

pub(crate) fn list<'a>(recorded: &'a Value, name: &str) -> &'a [Value] {
    recorded[name].as_array().unwrap()
}

/// The index of the cluster that was asked.
pub(crate) fn index(recorded: &Value) -> Index {
    let mut objects: Vec<Value> = bootstrap::objects();
    objects.extend_from_slice(list(recorded, "fixtures"));
    Index::build(&objects)
}

pub(crate) fn attributes(recorded: &Value) -> Attributes {
    let field = |name: &str| text(recorded, &[name]).to_owned();
    if recorded.get("path").is_some() {
        return Attributes::path(&field("verb"), &field("path"));
    }
    Attributes::resource(&field("verb"), Resource::read(field))
}

fn user(recorded: &Value, name: &str) -> User {
    let extra = recorded["extra"].as_object().into_iter().flatten();
    User {
        name: text(recorded, &[name]).to_owned(),
        uid: text(recorded, &["uid"]).to_owned(),
        groups: texts(recorded, &["groups"]),
        extra: extra.map(|(key, values)| (key.clone(), texts(values, &[]))).collect(),
    }
}

#[test]
fn decisions_and_their_reasons_are_those_of_the_real_server() {
    let recorded = recorded();
    let index = index(&recorded);
    for decision in list(&recorded, "decisions") {
        let spec = &decision["spec"];
        let wanted = spec.get("resourceAttributes").unwrap_or_else(|| &spec["nonResourceAttributes"]);
        let found = index.allowed(&user(spec, "user"), &attributes(wanted));
        assert_eq!(found.is_allowed(), decision["status"]["allowed"], "{spec}");
        assert_eq!(found.reason(), text(&decision["status"], &["reason"]), "{spec}");
    }
}

#[test]
fn refusals_are_worded_as_by_the_real_server() {
    let recorded = recorded();
    let index = index(&recorded);
    for refusal in list(&recorded, "refusals") {
        let name = refusal["user"].as_str().unwrap();
        let user =
            if name == "system:anonymous" { User::anonymous() } else { User::new(name, &[]).authenticated() };
        let wanted = attributes(&refusal["attributes"]);
        let decision = index.allowed(&user, &wanted);
        assert!(!decision.is_allowed(), "{refusal}");
        assert_eq!(forbidden(&user, &wanted, decision.reason()).to_json(), refusal["status"]);
    }
}

#[test]
fn nobody_grants_more_than_with_the_real_server() {
    let recorded = recorded();
    let index = index(&recorded);
    let stored: Vec<_> =
        bootstrap::objects().into_iter().chain(list(&recorded, "fixtures").to_vec()).collect();
    for attempt in list(&recorded, "escalations") {
        let object = &attempt["object"];
        let created = attempt["method"] == "POST";
        let request = Resource {
            group: GROUP.to_owned(),
            resource: format!("{}s", text(object, &["kind"]).to_lowercase()),
            namespace: text(object, &["metadata", "namespace"]).to_owned(),
            name: if created { String::new() } else { text(object, &["metadata", "name"]).to_owned() },
            ..Resource::default()
        };
        let old = stored.iter().find(|old| !created && name_of(old) == name_of(object));
        let answer = escalation::confirm(&index, &user(attempt, "user"), &request, object, old);
        assert_eq!(
            answer.map_or_else(|status| status.to_json(), |()| Value::Null),
            attempt["answer"],
            "{attempt}"
        );
    }
}

fn name_of(object: &Value) -> (&str, &str) {
    (text(object, &["kind"]), text(object, &["metadata", "name"]))
}

#[test]
fn reviews_are_answered_as_by_the_real_server() {
    let recorded = recorded();
    let index = index(&recorded);
    for review in list(&recorded, "reviews") {
        let asker = user(&review["user"], "username");
        let Some(answer) = answer(&index, &asker, review) else { continue };
        let mut expected = review["answer"].clone();
        let mut answer = answer.unwrap_or_else(|status| status.to_json());
        for answer in [&mut answer, &mut expected] {
            comparable(answer);
        }
        assert_eq!(answer, expected, "{review}");
    }
}

fn answer(index: &Index, user: &User, review: &Value) -> Option<Result<Value, Status>> {
    let body = &review["body"];
    Some(match text(review, &["resource"]) {
        "subjectaccessreviews" => review::subject_access(index, body),
        "localsubjectaccessreviews" => {
            review::local_subject_access(index, text(review, &["namespace"]), body)
        }
        "selfsubjectaccessreviews" => review::self_subject_access(index, user, body),
        "selfsubjectrulesreviews" => review::self_subject_rules(index, user, body),
        "selfsubjectreviews" => Ok(authentication_review::self_subject(user, jiff::Timestamp::UNIX_EPOCH)),
        _ => return None,
    })
}

/// The real server visits bindings in no order, and completes kind and version before it answers.
fn comparable(answer: &mut Value) {
    if answer["kind"] != "Status" {
        let fields = answer.as_object_mut().unwrap();
        fields.remove("kind");
        fields.remove("apiVersion");
        fields.entry("metadata").or_insert_with(|| serde_json::json!({}));
        fields["metadata"].as_object_mut().unwrap().remove("creationTimestamp");
        for rules in ["resourceRules", "nonResourceRules"] {
            if let Some(rules) = fields["status"].get_mut(rules).and_then(Value::as_array_mut) {
                rules.sort_by_key(Value::to_string);
            }
        }
    }
}

#[test]
fn aggregated_roles_gather_rules_as_the_real_controller_does() {
    let recorded = recorded();
    let roles: Vec<_> =
        list(&recorded, "fixtures").iter().filter(|object| object["kind"] == "ClusterRole").collect();
    let role = roles.iter().find(|role| role["aggregationRule"].is_object()).unwrap();
    let gathered = aggregation::aggregated(role, &roles).unwrap();
    assert_eq!(Value::from(gathered.clone()), recorded["aggregated"]);
    let mut settled = (*role).clone();
    settled["rules"] = gathered.into();
    assert_eq!(aggregation::aggregated(&settled, &roles), None);
}
