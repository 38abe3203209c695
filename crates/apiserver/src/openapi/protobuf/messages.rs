//! The fields of the messages of gnostic's `openapi.v2`, as far as our document has them. The numbers are those of its
//! `OpenAPIv2.proto`.

use serde_json::Value;

use super::Form::{Any, Choice, Each, Flag, Named, Number, Text, Whole, Within};
use super::{Form, Message};

/// Where `Any` has its text.
pub(super) const TEXT_OF_ANY: u32 = 2;

const TEXTS: Form = Each(&Text);

pub(super) static DOCUMENT: Message = Message {
    fields: &[
        ("swagger", 1, Text),
        ("info", 2, Form::Message(&INFO)),
        ("paths", 8, Named(2, &Form::Message(&PATH_ITEM))),
        ("definitions", 9, Named(1, &Form::Message(&SCHEMA))),
    ],
    extensions: 16,
};

static INFO: Message = Message { fields: &[("title", 1, Text), ("version", 2, Text)], extensions: 7 };

static PATH_ITEM: Message = Message {
    fields: &[
        ("get", 2, Form::Message(&OPERATION)),
        ("put", 3, Form::Message(&OPERATION)),
        ("post", 4, Form::Message(&OPERATION)),
        ("delete", 5, Form::Message(&OPERATION)),
        ("patch", 8, Form::Message(&OPERATION)),
        ("parameters", 9, Each(&PARAMETER)),
    ],
    extensions: 10,
};

static OPERATION: Message = Message {
    fields: &[
        ("operationId", 5, Text),
        ("produces", 6, TEXTS),
        ("consumes", 7, TEXTS),
        ("parameters", 8, Each(&PARAMETER)),
        ("responses", 9, Named(1, &Within(1, &Form::Message(&RESPONSE)))),
        ("schemes", 10, TEXTS),
    ],
    extensions: 13,
};

static RESPONSE: Message = Message {
    fields: &[("description", 1, Text), ("schema", 2, Within(1, &Form::Message(&SCHEMA)))],
    extensions: 5,
};

/// A parameter of its own, not a reference to one; within that a message for each place that it can be in.
static PARAMETER: Form = Within(1, &Choice(by_place));

fn by_place(parameter: &Value) -> &'static Form {
    static BODY: Form = Within(1, &Form::Message(&BODY_PARAMETER));
    static PATH: Form = Within(2, &Within(4, &Form::Message(&PATH_PARAMETER)));
    static QUERY: Form = Within(2, &Within(3, &Form::Message(&QUERY_PARAMETER)));
    match parameter["in"].as_str() {
        Some("body") => &BODY,
        Some("path") => &PATH,
        _ => &QUERY,
    }
}

static BODY_PARAMETER: Message = Message {
    fields: &[
        ("name", 2, Text),
        ("in", 3, Text),
        ("required", 4, Flag),
        ("schema", 5, Form::Message(&SCHEMA)),
    ],
    extensions: 6,
};

static PATH_PARAMETER: Message = Message {
    fields: &[
        ("required", 1, Flag),
        ("in", 2, Text),
        ("name", 4, Text),
        ("type", 5, Text),
        ("uniqueItems", 19, Flag),
    ],
    extensions: 22,
};

static QUERY_PARAMETER: Message = Message {
    fields: &[("in", 2, Text), ("name", 4, Text), ("type", 6, Text), ("uniqueItems", 20, Flag)],
    extensions: 23,
};

pub(super) static SCHEMA: Message = Message {
    fields: &[
        ("$ref", 1, Text),
        ("format", 2, Text),
        ("title", 3, Text),
        ("description", 4, Text),
        ("multipleOf", 6, Number),
        ("maximum", 7, Number),
        ("exclusiveMaximum", 8, Flag),
        ("minimum", 9, Number),
        ("exclusiveMinimum", 10, Flag),
        ("maxLength", 11, Whole),
        ("minLength", 12, Whole),
        ("pattern", 13, Text),
        ("maxItems", 14, Whole),
        ("minItems", 15, Whole),
        ("uniqueItems", 16, Flag),
        ("maxProperties", 17, Whole),
        ("minProperties", 18, Whole),
        ("required", 19, TEXTS),
        ("enum", 20, Each(&Any)),
        ("additionalProperties", 21, Choice(flag_or_schema)),
        ("type", 22, Within(1, &Text)),
        ("items", 23, Within(1, &Form::Message(&SCHEMA))),
        ("properties", 25, Named(1, &Form::Message(&SCHEMA))),
    ],
    extensions: 31,
};

fn flag_or_schema(value: &Value) -> &'static Form {
    static FLAG: Form = Within(2, &Flag);
    static INSIDE: Form = Within(1, &Form::Message(&SCHEMA));
    if value.is_boolean() { &FLAG } else { &INSIDE }
}
