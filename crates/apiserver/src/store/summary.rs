//! What is asked of objects so often that no text should be read for it: at each event, by each watch, for each object of a
//! list that a client selects from.

use serde_json::Value;

use crate::object::Object;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub uid: Box<str>,
    pub generation: i64,
    pub is_deleting: bool,
    pub has_owners: bool,
    labels: Box<[(Box<str>, Box<str>)]>,
    finalizers: Box<[Box<str>]>,
}

impl Summary {
    pub(super) fn of(object: &Value) -> Self {
        let labels = object.meta("labels").and_then(Value::as_object).into_iter().flatten();
        let labels = labels.filter_map(|(name, value)| Some((name.as_str().into(), value.as_str()?.into())));
        Self {
            uid: object.uid().into(),
            generation: object.generation(),
            is_deleting: object.is_deleting(),
            has_owners: !object.owners().is_empty(),
            labels: labels.collect(),
            finalizers: object.finalizers().map(Box::from).collect(),
        }
    }

    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| **label == *name).map(|(_, value)| &**value)
    }

    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.finalizers.iter().map(AsRef::as_ref)
    }

    pub fn has_finalizer(&self, name: &str) -> bool {
        self.finalizers().any(|finalizer| finalizer == name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_says_what_the_object_says() {
        let object = json!({"metadata": {
            "uid": "u", "generation": 3, "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"],
            "ownerReferences": [{"uid": "o"}], "labels": {"app": "web", "empty": ""},
        }});
        let summary = Summary::of(&object);
        assert_eq!((&*summary.uid, summary.generation), ("u", 3));
        assert!(summary.is_deleting && summary.has_owners && summary.has_finalizer("a/b"));
        assert_eq!(
            (summary.label("app"), summary.label("empty"), summary.label("x")),
            (Some("web"), Some(""), None)
        );
        assert_eq!(Summary::of(&json!({})), Summary::default());
    }
}
