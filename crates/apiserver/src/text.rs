//! Objects as text: the form in which they are kept, on disk and in memory, and in which most answers show them. A tree of
//! the same object takes several times the memory, and is made only for whoever computes with it.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

/// What an object says of its kind, in the order of writing. Lists leave it out of their items.
const KIND: [&str; 2] = ["apiVersion", "kind"];
const METADATA: &str = "metadata";

/// JSON of one object, which begins with its version and kind, and then its metadata.
#[derive(Clone, PartialEq, Eq)]
pub struct Text {
    json: Bytes,
    /// Where version and kind end.
    rest: usize,
    metadata: Range<usize>,
}

impl Text {
    pub fn of(object: &Value) -> Self {
        let mut json = Vec::with_capacity(1024);
        let Some(fields) = object.as_object() else {
            serde_json::to_writer(&mut json, object).expect("a JSON value becomes JSON");
            return Self { rest: json.len(), metadata: 0..0, json: json.into_boxed_slice().into() };
        };
        json.push(b'{');
        for field in KIND.iter().filter_map(|name| fields.get_key_value(*name)) {
            write_field(&mut json, field);
        }
        let rest = json.len();
        let metadata = fields.get_key_value(METADATA).map_or(0..0, |field| write_field(&mut json, field));
        for field in fields.iter().filter(|(name, _)| !KIND.contains(&name.as_str()) && *name != METADATA) {
            write_field(&mut json, field);
        }
        json.push(b'}');
        Self { json: json.into_boxed_slice().into(), rest, metadata }
    }

    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The fields after version and kind, and the brace that closes the object.
    pub fn rest(&self) -> &[u8] {
        let rest = self.json.get(self.rest..).unwrap_or_default();
        rest.strip_prefix(b",").unwrap_or(rest)
    }

    /// The metadata, as JSON.
    pub fn metadata(&self) -> &[u8] {
        if self.metadata.is_empty() { b"{}" } else { &self.json[self.metadata.clone()] }
    }

    /// Whether the object says that it is in this version.
    pub fn is_in(&self, api_version: &str) -> bool {
        let said = self.json.strip_prefix(b"{\"apiVersion\":\"");
        said.and_then(|said| said.strip_prefix(api_version.as_bytes()))
            .is_some_and(|after| after.starts_with(b"\""))
    }

    pub fn value(&self) -> Value {
        read(&self.json).expect("it was written from a value")
    }

    /// The tree without who owns which fields, which is a large part of small objects and of no interest to most.
    pub fn value_without_managers(&self) -> Value {
        let value = Without(&[METADATA, "managedFields"]).deserialize(&mut reader(&self.json));
        value.unwrap_or_else(|_| self.value())
    }

    /// What stands under a pointer of field names such as `/spec/nodeName`, without making a tree of the rest.
    pub fn at(&self, pointer: &str) -> Option<Value> {
        let path: Vec<&str> = pointer.split('/').skip(1).collect();
        Path(&path).deserialize(&mut reader(&self.json)).ok().flatten()
    }
}

/// The tree of a text that this server wrote.
pub(crate) fn read(json: &[u8]) -> serde_json::Result<Value> {
    let mut reader = reader(json);
    let value = serde::Deserialize::deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

/// Objects were let in as deep as they are.
fn reader(json: &[u8]) -> serde_json::Deserializer<serde_json::de::SliceRead<'_>> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    reader.disable_recursion_limit();
    reader
}

/// Writes a field, and says where its value is.
fn write_field(json: &mut Vec<u8>, (name, value): (&String, &Value)) -> Range<usize> {
    if json.len() > 1 {
        json.push(b',');
    }
    serde_json::to_writer(&mut *json, name).expect("text becomes JSON");
    json.push(b':');
    let start = json.len();
    serde_json::to_writer(&mut *json, value).expect("a JSON value becomes JSON");
    start..json.len()
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(&self.json))
    }
}

/// Reads the value under the path, and passes over all others.
struct Path<'a>(&'a [&'a str]);

impl<'de> DeserializeSeed<'de> for Path<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => serde::Deserialize::deserialize(reader).map(Some),
            _ => reader.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Path<'_> {
    type Value = Option<Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let Some((name, inner)) = self.0.split_first() else { return Ok(None) };
        let mut found = None;
        while let Some(field) = fields.next_key::<std::borrow::Cow<'de, str>>()? {
            if field == *name {
                found = fields.next_value_seed(Path(inner))?;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Reads everything but what stands under the path.
struct Without<'a>(&'a [&'a str]);

impl<'de> DeserializeSeed<'de> for Without<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Without<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(field) = fields.next_key::<String>()? {
            match self.0 {
                [name] if *name == field => drop(fields.next_value::<IgnoredAny>()?),
                [name, inner @ ..] if *name == field => {
                    object.insert(field, fields.next_value_seed(Without(inner))?);
                }
                _ => drop(object.insert(field, fields.next_value()?)),
            }
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text() -> Text {
        Text::of(
            &json!({"metadata": {"name": "a"}, "kind": "Pod", "apiVersion": "v1", "a": [1, 2.5, null], "\n": "ä"}),
        )
    }

    #[test]
    fn an_object_begins_with_its_version_and_kind() {
        assert!(format!("{:?}", text()).starts_with(r#"{"apiVersion":"v1","kind":"Pod","metadata":"#));
        assert_eq!(text().rest(), r#""metadata":{"name":"a"},"\n":"ä","a":[1,2.5,null]}"#.as_bytes());
        assert_eq!(text().metadata(), br#"{"name":"a"}"#);
        assert!(text().is_in("v1") && !text().is_in("v") && !text().is_in("v1beta1"));
    }

    #[test]
    fn what_is_missing_is_left_out() {
        for object in
            [json!({}), json!({"kind": "Pod"}), json!({"a": 1}), json!({"apiVersion": "v1"}), json!(3)]
        {
            assert_eq!(Text::of(&object).value(), object);
        }
        assert_eq!(Text::of(&json!({"a": 1})).rest(), br#""a":1}"#);
        assert_eq!(Text::of(&json!({"kind": "Pod"})).rest(), b"}");
        assert_eq!(Text::of(&json!({"kind": "Pod"})).metadata(), b"{}");
    }

    #[test]
    fn what_goes_in_comes_out_however_deep_and_to_the_last_digit() {
        let deep = (0..400).fold(json!({}), |inner, _| json!({"a": [inner]}));
        for object in [deep, json!({"a": 6.022_140_76e23, "b": 0.1 + 0.2, "c": 1e300 / 7.0, "d": 1.0})] {
            assert_eq!(Text::of(&object).value(), object);
        }
    }

    #[test]
    fn a_tree_without_managers_is_otherwise_whole() {
        let object =
            json!({"a": [{}], "metadata": {"name": "a", "managedFields": [{"f": {}}]}, "managedFields": 1});
        let without = json!({"a": [{}], "metadata": {"name": "a"}, "managedFields": 1});
        assert_eq!(Text::of(&object).value_without_managers(), without);
        for object in [json!({}), json!({"metadata": 3}), json!([1])] {
            assert_eq!(Text::of(&object).value_without_managers(), object);
        }
    }

    #[test]
    fn one_value_is_read_without_the_others() {
        assert_eq!(text().at("/metadata/name"), Some(json!("a")));
        assert_eq!(text().at("/a"), Some(json!([1, 2.5, null])));
        for pointer in ["/metadata/uid", "/a/b", "/metadata/name/x", "/status"] {
            assert_eq!(text().at(pointer), None, "{pointer}");
        }
    }
}
