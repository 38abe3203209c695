//! The operations of a resource as OpenAPI v3 describes them, by the paths at which they are.

use serde_json::{Map, Value, json};

use super::{META, definition, part_definition, reference};
use crate::resource::{Resource, Subresource, Verb};

pub(super) fn of_resource(resource: &Resource) -> Vec<(String, Value)> {
    let root = match resource.group.as_str() {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    let (place, scope): (String, &[&str]) = if resource.is_namespaced {
        (format!("{root}/namespaces/{{namespace}}/{}", resource.plural), &["namespace"])
    } else {
        (format!("{root}/{}", resource.plural), &[])
    };
    let named: Vec<&str> = ["name"].iter().chain(scope).copied().collect();
    let mut paths = Vec::new();
    if resource.is_namespaced && resource.allows(Verb::List) {
        paths.push((format!("{root}/{}", resource.plural), path_item(resource, None, &[Verb::List], &[])));
    }
    let on_collection = [Verb::List, Verb::Create, Verb::DeleteCollection];
    paths.push((place.clone(), path_item(resource, None, &allowed(resource.verbs, &on_collection), scope)));
    let on_object = [Verb::Get, Verb::Update, Verb::Patch, Verb::Delete];
    let on_object = allowed(resource.verbs, &on_object);
    if !on_object.is_empty() {
        paths.push((format!("{place}/{{name}}"), path_item(resource, None, &on_object, &named)));
    }
    for part in &resource.subresources {
        let item = path_item(resource, Some(part), part.verbs, &named);
        paths.push((format!("{place}/{{name}}/{}", part.name), item));
    }
    paths
}

fn allowed(verbs: &[Verb], some: &[Verb]) -> Vec<Verb> {
    some.iter().copied().filter(|verb| verbs.contains(verb)).collect()
}

fn path_item(resource: &Resource, part: Option<&Subresource>, verbs: &[Verb], in_path: &[&str]) -> Value {
    let mut item = Map::new();
    for verb in verbs {
        let method = match verb {
            Verb::Get | Verb::List | Verb::Watch => "get",
            Verb::Create => "post",
            Verb::Update => "put",
            Verb::Patch => "patch",
            Verb::Delete | Verb::DeleteCollection => "delete",
        };
        item.insert(method.to_owned(), operation(resource, part, *verb));
    }
    let parameter = |name: &&str| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "uniqueItems": true}});
    if !in_path.is_empty() {
        item.insert("parameters".to_owned(), in_path.iter().map(parameter).collect());
    }
    item.into()
}

fn operation(resource: &Resource, part: Option<&Subresource>, verb: Verb) -> Value {
    let answer = match (part, verb) {
        (None, Verb::List) => definition(resource, &resource.list_kind),
        (None, Verb::Delete | Verb::DeleteCollection) => format!("{META}.Status"),
        (None, _) => definition(resource, &resource.kind),
        (Some(part), _) => part_definition(resource, part).unwrap_or_default(),
    };
    let kind = match part.and_then(|part| part.kind) {
        Some((group, version, kind)) => json!({"group": group, "version": version, "kind": kind}),
        None => json!({"group": resource.group, "version": resource.version, "kind": resource.kind}),
    };
    let mut operation = json!({
        "operationId": operation_id(resource, part, verb),
        "responses": {
            "200": {"description": "OK", "content": content(&answer, &["application/json", "application/yaml"])},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": action(part, verb),
        "x-kubernetes-group-version-kind": kind,
    });
    let parameters: Vec<Value> =
        parameters(verb).iter().map(|(name, kind)| query_parameter(name, kind)).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = body(resource, &answer, verb) {
        operation["requestBody"] = body;
    }
    operation
}

fn action(part: Option<&Subresource>, verb: Verb) -> &'static str {
    match verb {
        Verb::Create if part.is_some_and(|part| part.verbs.contains(&Verb::Get)) => "connect",
        Verb::Create => "post",
        Verb::Update => "put",
        other => other.name(),
    }
}

fn operation_id(resource: &Resource, part: Option<&Subresource>, verb: Verb) -> String {
    let words =
        [verb.name(), &resource.group, &resource.version, &resource.kind, part.map_or("", |part| part.name)];
    let capital = |word: &str| -> String {
        let mut characters = word.chars();
        characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
    };
    let parts = words.iter().flat_map(|word| word.split(['.', '-'])).filter(|word| !word.is_empty());
    parts.enumerate().map(|(at, word)| if at == 0 { word.to_owned() } else { capital(word) }).collect()
}

fn content(definition: &str, types: &[&str]) -> Value {
    if definition.is_empty() {
        return json!({});
    }
    types
        .iter()
        .map(|media| ((*media).to_owned(), json!({"schema": reference(definition)})))
        .collect::<Map<_, _>>()
        .into()
}

fn body(resource: &Resource, sent: &str, verb: Verb) -> Option<Value> {
    let json_and_yaml = ["application/json", "application/yaml"];
    let (content, required) = match verb {
        Verb::Create | Verb::Update if !sent.is_empty() => (content(sent, &json_and_yaml), true),
        Verb::Delete | Verb::DeleteCollection => {
            (content(&format!("{META}.DeleteOptions"), &json_and_yaml), false)
        }
        Verb::Patch => {
            let mut types = vec![
                "application/apply-patch+yaml",
                "application/json-patch+json",
                "application/merge-patch+json",
            ];
            types.extend(resource.is_built_in().then_some("application/strategic-merge-patch+json"));
            (content(&format!("{META}.Patch"), &types), true)
        }
        _ => return None,
    };
    Some(json!({"content": content, "required": required}))
}

fn parameters(verb: Verb) -> &'static [(&'static str, &'static str)] {
    match verb {
        Verb::List | Verb::DeleteCollection | Verb::Watch => &[
            ("allowWatchBookmarks", "boolean"),
            ("continue", "string"),
            ("fieldSelector", "string"),
            ("labelSelector", "string"),
            ("limit", "integer"),
            ("resourceVersion", "string"),
            ("resourceVersionMatch", "string"),
            ("sendInitialEvents", "boolean"),
            ("timeoutSeconds", "integer"),
            ("watch", "boolean"),
        ],
        Verb::Create | Verb::Update => {
            &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")]
        }
        Verb::Patch => &[
            ("dryRun", "string"),
            ("fieldManager", "string"),
            ("fieldValidation", "string"),
            ("force", "boolean"),
        ],
        Verb::Delete => &[
            ("dryRun", "string"),
            ("gracePeriodSeconds", "integer"),
            ("orphanDependents", "boolean"),
            ("propagationPolicy", "string"),
        ],
        Verb::Get => &[],
    }
}

fn query_parameter(name: &str, kind: &str) -> Value {
    json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}})
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;
    use crate::registry::Registry;

    #[test]
    fn a_patch_says_that_it_takes_field_validation() {
        let document = document(&Registry::new(), "", "v1").unwrap();
        let patch = &document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Pod");
        let names: Vec<_> =
            patch["parameters"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
        assert!(names.contains(&json!("fieldValidation")), "{names:?}");
    }
}
