//! What a value is to server-side apply: a leaf, a list whose items have names, or a map. The schema says, and where it
//! does not, the value itself.

use serde_json::Value;

use crate::schema::{Fields, ListType, Schema, Shape};

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type<'a> {
    Declared {
        schema: &'a Schema,
        /// An object around this one keeps fields that it does not know, and so does this one.
        is_open: bool,
    },
    /// Nothing is known: maps are taken apart, lists are not.
    Deduced,
    /// Inside a list of which nothing is known.
    Opaque,
}

/// How one value is taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) enum Atom<'a> {
    Scalar(Scalar),
    List(List<'a>),
    Map(Fielded<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Numeric,
    Text,
    Boolean,
    Untyped,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a> {
    pub(super) items: Type<'a>,
    /// `None` is an atomic list.
    pub(super) kind: Option<ListKind<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ListKind<'a> {
    Set,
    Keyed(&'a [String]),
}

/// An object or a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fielded<'a> {
    known: Option<&'a Fields>,
    others: Option<Untyped>,
    pub(super) is_atomic: bool,
    is_open: bool,
    /// Its metadata is that of any object, and closed.
    is_resource: bool,
}

/// What fields of unknown names are, where no schema says.
#[derive(Clone, Copy, Debug)]
enum Untyped {
    Deduced,
    Opaque,
}

/// The ways in which values of a type may be taken apart.
struct Choice<'a> {
    scalar: Option<Scalar>,
    list: Option<List<'a>>,
    map: Option<Fielded<'a>>,
}

impl<'a> Type<'a> {
    pub(super) fn of(schema: &'a Schema) -> Self {
        Self::Declared { schema, is_open: false }
    }

    /// The way for a value. Where the value fits none, or is absent, the first that there is.
    pub(super) fn atom(self, value: Option<&Value>) -> Atom<'a> {
        let choice = self.choice();
        let fitting = match value {
            Some(Value::Array(_)) => choice.list.map(Atom::List),
            Some(Value::Object(_)) => choice.map.map(Atom::Map),
            Some(Value::Null) | None => None,
            Some(_) => choice.scalar.map(Atom::Scalar),
        };
        fitting.unwrap_or_else(|| choice.first())
    }

    fn choice(self) -> Choice<'a> {
        match self {
            Self::Declared { schema, is_open } => {
                declared(schema, is_open || schema.preserves_unknown_fields)
            }
            Self::Deduced => Choice::any(false),
            Self::Opaque => Choice::any(true),
        }
    }
}

impl<'a> Choice<'a> {
    fn first(self) -> Atom<'a> {
        let map = self.map.map(Atom::Map);
        let map = map.or(self.scalar.map(Atom::Scalar)).or(self.list.map(Atom::List));
        map.expect("every type can be taken apart in some way")
    }

    fn any(is_atomic: bool) -> Self {
        let untyped = if is_atomic { Untyped::Opaque } else { Untyped::Deduced };
        Self {
            scalar: Some(Scalar::Untyped),
            list: Some(List { items: Type::Opaque, kind: None }),
            map: Some(Fielded {
                known: None,
                others: Some(untyped),
                is_atomic,
                is_open: false,
                is_resource: false,
            }),
        }
    }

    fn scalar(scalar: Scalar) -> Self {
        Self { scalar: Some(scalar), list: None, map: None }
    }
}

fn declared(schema: &Schema, is_open: bool) -> Choice<'_> {
    match &schema.shape {
        // Quantities are published as a choice of scalars.
        Shape::Any if schema.rules.as_ref().is_some_and(|rules| !rules.one_of.is_empty()) => {
            Choice::scalar(Scalar::Untyped)
        }
        Shape::Any => {
            let any = Choice::any(false);
            Choice { map: any.map.map(|map| Fielded { is_atomic: schema.is_atomic, ..map }), ..any }
        }
        Shape::IntOrString => Choice::any(false),
        Shape::Object(fields) => {
            Choice { scalar: None, list: None, map: Some(object(schema, fields, is_open)) }
        }
        Shape::Array(items) => {
            let items = Type::Declared { schema: items, is_open };
            Choice { scalar: None, list: Some(List { items, kind: list_kind(&schema.list) }), map: None }
        }
        Shape::String => Choice::scalar(text(schema)),
        Shape::Integer | Shape::Number => Choice::scalar(Scalar::Numeric),
        Shape::Boolean => Choice::scalar(Scalar::Boolean),
    }
}

fn object<'a>(schema: &'a Schema, fields: &'a Fields, is_open: bool) -> Fielded<'a> {
    let lets_others_in = fields.others.is_none() && (is_open || fields.known.is_empty());
    Fielded {
        known: Some(fields),
        others: lets_others_in.then_some(Untyped::Deduced),
        is_atomic: schema.is_atomic,
        is_open,
        is_resource: schema.is_embedded_resource,
    }
}

fn list_kind(list: &ListType) -> Option<ListKind<'_>> {
    match list {
        ListType::Atomic => None,
        ListType::Set => Some(ListKind::Set),
        ListType::Map(keys) => Some(ListKind::Keyed(keys)),
    }
}

/// Text in a format of its own, such as a date, may be any scalar.
fn text(schema: &Schema) -> Scalar {
    match schema.rules.as_ref().and_then(|rules| rules.format.as_deref()) {
        None | Some("" | "byte") => Scalar::Text,
        Some(_) => Scalar::Untyped,
    }
}

impl<'a> Fielded<'a> {
    /// Whether the schema names the field, as it does those of a structure and does not those of a map.
    pub(super) fn names(&self, field: &str) -> bool {
        self.known.is_some_and(|fields| fields.known.contains_key(field))
    }

    /// The type of a field; none where the schema has no room for it.
    pub(super) fn field(&self, name: &str) -> Option<Type<'a>> {
        let is_open = self.is_open && !(self.is_resource && name == "metadata");
        let declared = self.known.and_then(|fields| fields.known.get(name).or(fields.others.as_ref()));
        match (declared, self.others) {
            (Some(schema), _) => Some(Type::Declared { schema, is_open }),
            (None, Some(Untyped::Deduced)) => Some(Type::Deduced),
            (None, Some(Untyped::Opaque)) => Some(Type::Opaque),
            (None, None) => None,
        }
    }

    /// A map of which nothing but that is known.
    pub(super) fn is_untyped(&self) -> bool {
        let declares = |fields: &Fields| !fields.known.is_empty() || fields.others.is_some();
        self.others.is_some() && !self.known.is_some_and(declares)
    }
}
