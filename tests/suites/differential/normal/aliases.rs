//! The names that stand for a server's inventions within one case.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Given, is_collection, patterns};

/// What the names of volumes with an account's token begin with.
const TOKEN_VOLUME: &str = "kube-api-access-";

pub(super) struct Aliases<'a> {
    given: &'a Given<'a>,
    /// In order of appearance.
    uids: Vec<String>,
    /// In ascending order: every server's versions grow.
    versions: BTreeSet<u64>,
    /// Names made from a prefix, with that prefix.
    generated: Vec<(String, String)>,
}

impl<'a> Aliases<'a> {
    pub(super) fn collect(answers: &[Value], given: &'a Given<'a>) -> Self {
        let mut aliases = Self { given, uids: Vec::new(), versions: BTreeSet::new(), generated: Vec::new() };
        for answer in answers {
            aliases.look_at(answer);
        }
        for answer in answers {
            aliases.look_for_uids(answer);
        }
        aliases
    }

    /// Whether the author of the case did not write this.
    pub(super) fn is_new(&self, text: &str) -> bool {
        !self.given.source.contains(text)
    }

    pub(super) fn version(&self, version: &str) -> String {
        let known = version.parse().ok().filter(|number| self.versions.contains(number));
        let rank = |number: u64| self.versions.range(..=number).count();
        known.map_or_else(|| version.to_owned(), |number| format!("<version {}>", rank(number)))
    }

    pub(super) fn text(&self, text: &str) -> String {
        if patterns::is_address(text) && self.is_new(text) {
            return "<address>".to_owned();
        }
        let mut text = text.to_owned();
        for (name, prefix) in &self.generated {
            text = text.replace(name, &format!("{prefix}<random>"));
        }
        for (name, alias) in &self.given.names {
            text = text.replace(name, alias);
        }
        text = patterns::replace_uids(&text, |uid| self.uid(uid));
        text = patterns::replace_times(&text, |time| self.is_new(time));
        patterns::replace_versions_in_messages(&patterns::replace_tokens(&text), |version| {
            self.is_new(version)
        })
    }

    fn uid(&self, uid: &str) -> Option<String> {
        let number = self.uids.iter().position(|known| known == uid)?;
        Some(format!("<uid {}>", number + 1))
    }

    /// What is told by the field it is in. Fields named `uid` come first, so that their order in the objects, and not
    /// that of keys made from them, numbers them.
    fn look_at(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.look_at(item)),
            Value::Object(fields) => {
                let collection = is_collection(fields);
                for (key, field) in fields {
                    match (key.as_str(), field) {
                        ("metadata", _) if collection => {}
                        ("uid", Value::String(uid)) => self.add_uid(uid),
                        ("resourceVersion", Value::String(version)) => self.add_version(version),
                        _ => self.look_at(field),
                    }
                }
                let (prefix, name) = (fields.get("generateName"), fields.get("name").and_then(Value::as_str));
                self.add_generated(prefix.and_then(Value::as_str), name);
                self.add_generated(Some(TOKEN_VOLUME), name);
            }
            _ => {}
        }
    }

    fn look_for_uids(&mut self, value: &Value) {
        match value {
            Value::String(text) => patterns::uids(text).iter().for_each(|uid| self.add_uid(uid)),
            Value::Array(items) => items.iter().for_each(|item| self.look_for_uids(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.look_for_uids(field)),
            _ => {}
        }
    }

    fn add_uid(&mut self, uid: &str) {
        if patterns::is_uid(uid) && self.is_new(uid) && !self.uids.iter().any(|known| known == uid) {
            self.uids.push(uid.to_owned());
        }
    }

    fn add_version(&mut self, version: &str) {
        self.versions.extend(version.parse::<u64>().ok().filter(|number| *number > 0));
    }

    fn add_generated(&mut self, prefix: Option<&str>, name: Option<&str>) {
        let (Some(prefix), Some(name)) = (prefix, name) else { return };
        if name.starts_with(prefix) && name.len() == prefix.len() + 5 {
            self.generated.push((name.to_owned(), prefix.to_owned()));
        }
    }
}
