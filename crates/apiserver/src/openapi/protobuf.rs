//! OpenAPI v2 in protobuf, which is how client-go asks for it: the messages of gnostic's `openapi.v2`, written from the
//! JSON by a table of their fields.

mod messages;

use serde_json::Value;

use messages::{DOCUMENT, TEXT_OF_ANY};

/// A message: under which numbers the fields of a JSON object go.
struct Message {
    fields: &'static [(&'static str, u32, Form)],
    /// Where fields go that begin with `x-`.
    extensions: u32,
}

/// How a value is written.
enum Form {
    Text,
    Flag,
    Whole,
    Number,
    /// Anything, as text in YAML; JSON is YAML.
    Any,
    Message(&'static Message),
    /// All of a list, one after another.
    Each(&'static Form),
    /// Alone in a message, under this number.
    Within(u32, &'static Form),
    /// The fields of an object as named values, under this number of a message.
    Named(u32, &'static Form),
    /// The form of those that fit what the value is.
    Choice(fn(&Value) -> &'static Form),
}

/// A document of OpenAPI v2.
pub fn encoded(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    message(&DOCUMENT, document, &mut out);
    out
}

fn message(kind: &Message, object: &Value, out: &mut Vec<u8>) {
    for (name, value) in object.as_object().into_iter().flatten() {
        if let Some((_, number, form)) = kind.fields.iter().find(|(field, ..)| field == name) {
            field(*number, form, value, out);
        } else if name.starts_with("x-") {
            named(kind.extensions, name, &Form::Any, value, out);
        }
    }
}

fn field(number: u32, form: &Form, value: &Value, out: &mut Vec<u8>) {
    match form {
        Form::Text => bytes(number, value.as_str().unwrap_or_default().as_bytes(), out),
        Form::Flag => varint_field(number, value.as_bool().unwrap_or_default().into(), out),
        Form::Whole => varint_field(number, value.as_i64().unwrap_or_default().cast_unsigned(), out),
        Form::Number => {
            varint(u64::from(number) << 3 | 1, out);
            out.extend(value.as_f64().unwrap_or_default().to_le_bytes());
        }
        Form::Any => nested(number, out, |out| bytes(TEXT_OF_ANY, value.to_string().as_bytes(), out)),
        Form::Message(kind) => nested(number, out, |out| message(kind, value, out)),
        Form::Each(form) => {
            value.as_array().into_iter().flatten().for_each(|item| field(number, form, item, out));
        }
        Form::Within(inner, form) => nested(number, out, |out| field(*inner, form, value, out)),
        Form::Named(inner, form) => nested(number, out, |out| {
            let fields = value.as_object().into_iter().flatten();
            fields.for_each(|(name, value)| named(*inner, name, form, value, out));
        }),
        Form::Choice(choose) => field(number, choose(value), value, out),
    }
}

fn named(number: u32, name: &str, form: &Form, value: &Value, out: &mut Vec<u8>) {
    nested(number, out, |out| {
        bytes(1, name.as_bytes(), out);
        field(2, form, value, out);
    });
}

fn nested(number: u32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inside = Vec::new();
    write(&mut inside);
    bytes(number, &inside, out);
}

fn bytes(number: u32, content: &[u8], out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | 2, out);
    varint(content.len() as u64, out);
    out.extend(content);
}

fn varint_field(number: u32, value: u64, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3, out);
    varint(value, out);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(schema: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        message(&messages::SCHEMA, schema, &mut out);
        out
    }

    #[test]
    fn values_are_written_under_their_numbers() {
        assert_eq!(schema(&json!({"$ref": "#/a"})), b"\x0a\x03#/a");
        assert_eq!(schema(&json!({"maxLength": 300})), b"\x58\xac\x02");
        assert_eq!(schema(&json!({"uniqueItems": true})), b"\x80\x01\x01");
        assert_eq!(schema(&json!({"minimum": 1.0})), b"\x49\0\0\0\0\0\0\xf0\x3f");
        assert_eq!(schema(&json!({"type": "array"})), b"\xb2\x01\x07\x0a\x05array");
        assert_eq!(schema(&json!({"enum": ["a"]})), b"\xa2\x01\x05\x12\x03\"a\"");
    }

    #[test]
    fn extensions_are_text_and_a_choice_is_written_as_what_it_is() {
        assert_eq!(
            schema(&json!({"x-kubernetes-list-type": "set"})),
            b"\xfa\x01\x21\x0a\x16x-kubernetes-list-type\x12\x07\x12\x05\"set\""
        );
        assert_eq!(schema(&json!({"additionalProperties": true})), b"\xaa\x01\x02\x10\x01");
        assert_eq!(schema(&json!({"additionalProperties": {"$ref": "a"}})), b"\xaa\x01\x05\x0a\x03\x0a\x01a");
    }

    #[test]
    fn nothing_of_the_document_is_left_out() {
        let document = super::super::swagger(&crate::registry::Registry::new());
        let mut unknown = Vec::new();
        unwritten(&DOCUMENT, &document, &mut unknown);
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    fn unwritten(kind: &Message, object: &Value, found: &mut Vec<String>) {
        for (name, value) in
            object.as_object().into_iter().flatten().filter(|(name, _)| !name.starts_with("x-"))
        {
            match kind.fields.iter().find(|(field, ..)| field == name) {
                Some((.., form)) => inside(form, value, found),
                None => found.push(name.clone()),
            }
        }
    }

    fn inside(form: &Form, value: &Value, found: &mut Vec<String>) {
        match form {
            Form::Message(kind) => unwritten(kind, value, found),
            Form::Each(form) => value.as_array().unwrap().iter().for_each(|item| inside(form, item, found)),
            Form::Within(_, form) => inside(form, value, found),
            Form::Named(_, form) => {
                value.as_object().unwrap().values().for_each(|it| inside(form, it, found));
            }
            Form::Choice(choose) => inside(choose(value), value, found),
            Form::Text | Form::Flag | Form::Whole | Form::Number | Form::Any => {}
        }
    }
}
