//! Variables of a container: from whole objects, then one by one, each seeing those before it; beside them those of Services,
//! and around them what image and runtime bring along.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{
    ConfigMapKeySelector, Container, EnvFromSource, EnvVar, EnvVarSource, SecretKeySelector,
};

use super::expansion::expand;
use super::{Account, Error, Image, Resolved, amounts, fields, services};

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Variables in the order in which they were first named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Variables(Vec<(String, String)>);

impl Variables {
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn set(&mut self, name: &str, value: String) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Without changing what is there.
    fn propose(&mut self, name: &str, value: &str) {
        if self.get(name).is_none() {
            self.set(name, value.to_owned());
        }
    }
}

/// What the Pod says: this is what `$(NAME)` can stand for.
pub(super) fn variables(resolved: &Resolved<'_>, container: &Container) -> Result<Variables, Error> {
    let links = resolved.spec()?.enable_service_links != Some(false);
    let services = services::variables(resolved.services, resolved.namespace(), links);
    let mut variables = Variables::default();
    for source in container.env_from.iter().flatten() {
        for (name, value) in whole(resolved, source)? {
            variables.set(&name, value);
        }
    }
    let services = Variables(services);
    for variable in container.env.iter().flatten() {
        if let Some(value) = one(resolved, container, variable, &variables, &services)? {
            variables.set(&variable.name, value);
        }
    }
    services.0.iter().for_each(|(name, value)| variables.propose(name, value));
    Ok(variables)
}

/// All that the process gets, as `NAME=value`.
pub(super) fn complete(
    resolved: &Resolved<'_>,
    container: &Container,
    image: &Image,
    account: &Account,
    variables: &Variables,
) -> Result<Vec<String>, Error> {
    let mut all = Variables::default();
    all.set("PATH", PATH.to_owned());
    all.set("HOSTNAME", resolved.names()?.hostname);
    if container.tty == Some(true) {
        all.set("TERM", "xterm".to_owned());
    }
    for (name, value) in image.env.iter().filter_map(|variable| variable.split_once('=')) {
        all.set(name, value.to_owned());
    }
    for (name, value) in &variables.0 {
        all.set(name, value.clone());
    }
    all.propose("HOME", if account.home.is_empty() { "/" } else { &account.home });
    all.0.iter().map(|(name, value)| written(name, value)).collect()
}

fn written(name: &str, value: &str) -> Result<String, Error> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(Error::Variable(name.to_owned()));
    }
    if value.contains('\0') { Err(Error::Nul(name.to_owned())) } else { Ok(format!("{name}={value}")) }
}

fn whole(resolved: &Resolved<'_>, source: &EnvFromSource) -> Result<Vec<(String, String)>, Error> {
    let prefix = source.prefix.as_deref().unwrap_or_default();
    let mut variables = Vec::new();
    if let Some(wanted) = &source.config_map_ref {
        let object = resolved.config_maps.get(&wanted.name);
        if object.is_none() && wanted.optional != Some(true) {
            return Err(Error::NoConfigMap(wanted.name.clone()));
        }
        let data = object.and_then(|object| object.data.as_ref()).into_iter().flatten();
        variables.extend(data.map(|(key, value)| (format!("{prefix}{key}"), value.clone())));
    }
    if let Some(wanted) = &source.secret_ref {
        let object = resolved.secrets.get(&wanted.name);
        if object.is_none() && wanted.optional != Some(true) {
            return Err(Error::NoSecret(wanted.name.clone()));
        }
        for (key, value) in object.and_then(|object| object.data.as_ref()).into_iter().flatten() {
            let name = format!("{prefix}{key}");
            variables.push((name.clone(), text(&name, value)?));
        }
    }
    Ok(variables)
}

/// Nothing for a value that may be missing, and is.
fn one(
    resolved: &Resolved<'_>,
    container: &Container,
    variable: &EnvVar,
    before: &Variables,
    services: &Variables,
) -> Result<Option<String>, Error> {
    if let Some(value) = variable.value.as_deref().filter(|value| !value.is_empty()) {
        return Ok(Some(expand(value, |name| before.get(name).or_else(|| services.get(name)))));
    }
    match &variable.value_from {
        Some(source) => sourced(resolved, container, &variable.name, source),
        None => Ok(Some(String::new())),
    }
}

fn sourced(
    resolved: &Resolved<'_>,
    container: &Container,
    name: &str,
    source: &EnvVarSource,
) -> Result<Option<String>, Error> {
    if let Some(field) = &source.field_ref {
        return fields::value(resolved.pod, &field.field_path, &resolved.whereabouts()).map(Some);
    }
    if let Some(selector) = &source.resource_field_ref {
        let allocatable = &resolved.node.allocatable;
        return amounts::value(resolved.spec()?, selector, &container.name, allocatable).map(Some);
    }
    if let Some(wanted) = &source.config_map_key_ref {
        return of_config_map(resolved, wanted);
    }
    if let Some(wanted) = &source.secret_key_ref {
        return of_secret(resolved, name, wanted);
    }
    if source.file_key_ref.is_some() {
        return Err(Error::FromFile(name.to_owned()));
    }
    Ok(Some(String::new()))
}

fn of_config_map(resolved: &Resolved<'_>, wanted: &ConfigMapKeySelector) -> Result<Option<String>, Error> {
    let object = resolved.config_maps.get(&wanted.name);
    let value = object.and_then(|object| object.data.as_ref()?.get(&wanted.key));
    match (object, value) {
        (_, Some(value)) => Ok(Some(value.clone())),
        _ if wanted.optional == Some(true) => Ok(None),
        (None, _) => Err(Error::NoConfigMap(wanted.name.clone())),
        _ => Err(no_key(resolved, "ConfigMap", &wanted.name, &wanted.key)),
    }
}

fn of_secret(
    resolved: &Resolved<'_>,
    variable: &str,
    wanted: &SecretKeySelector,
) -> Result<Option<String>, Error> {
    let object = resolved.secrets.get(&wanted.name);
    let value = object.and_then(|object| object.data.as_ref()?.get(&wanted.key));
    match (object, value) {
        (_, Some(value)) => text(variable, value).map(Some),
        _ if wanted.optional == Some(true) => Ok(None),
        (None, _) => Err(Error::NoSecret(wanted.name.clone())),
        _ => Err(no_key(resolved, "Secret", &wanted.name, &wanted.key)),
    }
}

fn no_key(resolved: &Resolved<'_>, kind: &'static str, name: &str, key: &str) -> Error {
    let namespace = resolved.namespace().to_owned();
    Error::NoKey { kind, namespace, name: name.to_owned(), key: key.to_owned() }
}

fn text(name: &str, value: &ByteString) -> Result<String, Error> {
    String::from_utf8(value.0.clone()).map_err(|_| Error::NotText(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::blueprint::fixtures::Case;

    fn case(container: Value) -> Case {
        Case::with(container)
            .config_map("settings", json!({"COLOUR": "red", "SIZE": "big"}))
            .secret("keys", json!({"TOKEN": "c2VjcmV0", "RAW": "/w=="}))
            .service("db", "10.0.0.9")
    }

    fn value(case: &Case, name: &str) -> Option<String> {
        variables(&case.resolved(), case.container()).unwrap().get(name)
    }

    fn message(container: Value) -> String {
        let case = case(container);
        let error = variables(&case.resolved(), case.container()).unwrap_err();
        assert_eq!(error.reason(), "CreateContainerConfigError");
        error.to_string()
    }

    #[test]
    fn objects_come_first_and_variables_override_them() {
        let case = case(json!({
            "envFrom": [{"configMapRef": {"name": "settings"}, "prefix": "P_"}, {"configMapRef": {"name": "settings"}}],
            "env": [{"name": "SIZE", "value": "small $(P_SIZE) $(SIZE)"}, {"name": "EMPTY"}],
        }));
        assert_eq!(value(&case, "COLOUR").unwrap(), "red");
        assert_eq!(value(&case, "P_COLOUR").unwrap(), "red");
        assert_eq!(value(&case, "SIZE").unwrap(), "small big big");
        assert_eq!(value(&case, "EMPTY").unwrap(), "");
    }

    #[test]
    fn a_variable_sees_those_before_it_and_services_but_none_after() {
        let case = case(json!({"env": [
            {"name": "EARLY", "value": "$(LATE) $(DB_SERVICE_HOST)"},
            {"name": "LATE", "value": "$(EARLY)!"},
            {"name": "DB_SERVICE_PORT", "value": "mine"},
        ]}));
        assert_eq!(value(&case, "EARLY").unwrap(), "$(LATE) 10.0.0.9");
        assert_eq!(value(&case, "LATE").unwrap(), "$(LATE) 10.0.0.9!");
        assert_eq!(value(&case, "DB_SERVICE_PORT").unwrap(), "mine");
    }

    #[test]
    fn values_come_from_keys_fields_and_resources() {
        let case = case(json!({
            "resources": {"limits": {"memory": "64Mi"}},
            "env": [
                {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "SIZE"}}},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "TOKEN"}}},
                {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
            ],
        }));
        let values = ["A", "B", "C", "D"].map(|name| value(&case, name).unwrap());
        assert_eq!(values, ["big", "secret", "10.1.0.2", "64"]);
    }

    #[test]
    fn what_is_optional_may_be_missing_altogether_or_lack_the_key() {
        let case = case(json!({
            "envFrom": [{"secretRef": {"name": "none", "optional": true}}],
            "env": [
                {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "k", "optional": true}}},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "k", "optional": true}}},
            ],
        }));
        assert_eq!(["A", "B"].map(|name| value(&case, name)), [None, None]);
    }

    #[test]
    fn what_is_missing_is_said_as_a_kubelet_says_it() {
        let key = |kind: &str, name: &str| {
            let source = json!({kind: {"name": name, "key": "k"}});
            message(json!({"env": [{"name": "A", "valueFrom": source}]}))
        };
        assert_eq!(key("configMapKeyRef", "none"), "configmap \"none\" not found");
        assert_eq!(key("secretKeyRef", "none"), "secret \"none\" not found");
        assert_eq!(key("configMapKeyRef", "settings"), "couldn't find key k in ConfigMap n/settings");
        assert_eq!(key("secretKeyRef", "keys"), "couldn't find key k in Secret n/keys");
        let whole = |kind: &str| message(json!({"envFrom": [{kind: {"name": "none"}}]}));
        assert_eq!(whole("configMapRef"), "configmap \"none\" not found");
        assert_eq!(whole("secretRef"), "secret \"none\" not found");
    }

    #[test]
    fn bytes_that_no_variable_can_hold_are_refused() {
        let raw = case(json!({"envFrom": [{"secretRef": {"name": "keys"}}]}));
        let error = variables(&raw.resolved(), raw.container()).unwrap_err();
        assert_eq!(error, Error::NotText("RAW".into()));
        let nul = case(json!({"env": [{"name": "A", "value": "a\u{0}b"}]}));
        let variables = variables(&nul.resolved(), nul.container()).unwrap();
        let complete =
            complete(&nul.resolved(), nul.container(), &Image::default(), &Account::default(), &variables);
        assert_eq!(complete.unwrap_err(), Error::Nul("A".into()));
    }

    #[test]
    fn the_image_is_overridden_and_the_runtime_fills_in() {
        let case = case(json!({"tty": true, "env": [{"name": "LANG", "value": "de"}]}));
        let image = Image { env: vec!["LANG=en".into(), "PATH=/opt/bin".into()], ..Image::default() };
        let account = Account { home: "/srv".into(), ..Account::default() };
        let variables = variables(&case.resolved(), case.container()).unwrap();
        let all = complete(&case.resolved(), case.container(), &image, &account, &variables).unwrap();
        let expected = ["PATH=/opt/bin", "HOSTNAME=p", "TERM=xterm", "LANG=de"];
        assert_eq!(all[..4], expected);
        assert_eq!(all.last().unwrap(), "HOME=/srv");
    }
}
