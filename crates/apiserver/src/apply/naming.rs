//! What the items of a list are called: by their keys, or by what they are.

use serde_json::{Map, Value};

use super::element::Element;
use super::typing::{List, ListKind, Type};

impl List<'_> {
    /// The name of an item, or why it has none.
    pub(super) fn element(&self, item: &Value) -> Result<Element, String> {
        match self.kind {
            None => Err("invalid indexing of non-associative list".into()),
            Some(ListKind::Set) => set_element(item),
            Some(ListKind::Keyed(keys)) => self.keyed_element(keys, item),
        }
    }

    fn keyed_element(&self, keys: &[String], item: &Value) -> Result<Element, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => return Err("associative list with keys may not have a null element".into()),
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let mut key: Vec<(String, Value)> =
            keys.iter().filter_map(|name| Some((name.clone(), self.key_value(fields, name)?))).collect();
        if key.is_empty() && !keys.is_empty() {
            let names: Vec<String> = keys.iter().map(|name| format!("{name:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] \
                 (and doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        key.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Element::Key(key))
    }

    /// A key that is not given has the value that it is about to get.
    fn key_value(&self, fields: &Map<String, Value>, name: &str) -> Option<Value> {
        let default = || match self.items {
            Type::Declared { schema, .. } => schema.field(name).and_then(|field| field.default.clone()),
            Type::Deduced | Type::Opaque => None,
        };
        fields.get(name).cloned().or_else(default)
    }
}

fn set_element(item: &Value) -> Result<Element, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
        scalar => Ok(Element::Value(scalar.clone())),
    }
}
