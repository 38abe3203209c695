//! `fieldsV1`: a set of paths as an object that mirrors the tree. An empty object is a member without more; `.` marks a
//! node that is a member besides leading to others.

use serde_json::{Map, Value};

use super::element::{Element, Unreadable};
use super::field_set::{FieldSet, Node};

/// Sets nested deeper than this are refused: no object is, and whoever wrote them wants to see the server fall.
const DEEPEST: usize = 128;

/// Why a `fieldsV1` is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error(transparent)]
    Step(#[from] Unreadable),
    #[error("expected an object")]
    NotAnObject,
    #[error("nested deeper than {DEEPEST} levels")]
    TooDeep,
}

impl FieldSet {
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(self.nodes.iter().map(|(element, node)| (element.encoded(), node.to_json())).collect())
    }

    /// The text of `fieldsV1` with its keys in the order in which Kubernetes writes them, which differs from that of
    /// their spelling.
    pub fn to_fields_v1_text(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(|(element, node)| node.text(element)).collect();
        format!("{{{}}}", nodes.join(","))
    }

    pub fn from_fields_v1(text: &Value) -> Result<Self, Malformed> {
        Ok(node(text, 0)?.below)
    }
}

impl Node {
    fn to_json(&self) -> Value {
        let mut fields = self.below.to_fields_v1();
        if let Value::Object(fields) = &mut fields
            && self.is_member
            && !fields.is_empty()
        {
            fields.insert(".".into(), Value::Object(Map::new()));
        }
        fields
    }

    fn text(&self, element: &Element) -> String {
        let below = self.below.to_fields_v1_text();
        let name = Value::from(element.encoded());
        match below.strip_prefix('{') {
            Some(rest) if self.is_member && !self.below.is_empty() => format!("{name}:{{\".\":{{}},{rest}"),
            _ => format!("{name}:{below}"),
        }
    }
}

/// A node with nothing readable below it is a member, whether or not it says so.
fn node(text: &Value, depth: usize) -> Result<Node, Malformed> {
    if depth > DEEPEST {
        return Err(Malformed::TooDeep);
    }
    let mut read = Node::default();
    let fields = match text {
        Value::Object(fields) => fields,
        Value::Null => return Ok(Node::leaf()),
        _ => return Err(Malformed::NotAnObject),
    };
    for (name, value) in fields {
        if name == "." {
            read.is_member = true;
        } else if let Some(element) = Element::parse(name)? {
            read.below.attach(element, node(value, depth + 1)?);
        }
    }
    read.is_member |= read.below.is_empty();
    Ok(read)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_is_marked_only_where_it_also_leads_to_others() {
        let text = json!({"f:a": {}, "f:b": {"f:c": {}}, "f:d": {".": {}, "k:{\"name\":\"x\"}": {"f:y": {}}, "v:1": {}}});
        let set = FieldSet::from_fields_v1(&text).unwrap();
        assert_eq!(set.to_fields_v1(), text);
        let paths: Vec<String> =
            set.paths().iter().map(|path| super::super::field_set::shown(path)).collect();
        assert_eq!(paths, [".a", ".d", ".b.c", ".d[=1]", r#".d[name="x"].y"#]);
    }

    #[test]
    fn the_text_sorts_by_value_and_not_by_spelling() {
        let text = json!({"k:{\"port\":443}": {}, "k:{\"port\":80}": {}, "f:z": {".": {}, "f:y": {}}, "i:0": {}, "v:2": {}});
        let set = FieldSet::from_fields_v1(&text).unwrap();
        let expected =
            r#"{"f:z":{".":{},"f:y":{}},"k:{\"port\":80}":{},"k:{\"port\":443}":{},"v:2":{},"i:0":{}}"#;
        assert_eq!(set.to_fields_v1_text(), expected);
    }

    #[test]
    fn steps_of_a_later_release_are_dropped_and_nonsense_is_refused() {
        let read = |text: Value| FieldSet::from_fields_v1(&text);
        assert_eq!(read(json!({"f:a": {"x:1": {}}})), Ok(FieldSet::of_fields(&[&["a"]])));
        assert_eq!(read(json!(null)), Ok(FieldSet::default()));
        for nonsense in
            [json!({"q": {}}), json!({"f:a": 1}), json!({"v:": {}}), json!({"k:1": {}}), json!({"i:x": {}})]
        {
            assert!(read(nonsense.clone()).is_err(), "{nonsense}");
        }
        let deep = (0..200).fold(json!({}), |below, _| json!({"f:a": below}));
        assert_eq!(read(deep), Err(Malformed::TooDeep));
    }
}
