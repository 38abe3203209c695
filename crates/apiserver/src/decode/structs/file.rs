//! Reads the vendored file of facts into the table of structs.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::{Field, Member, Named, Omit, Own, Struct, StructId, Structs, Type, Width};

const FILE: &str = include_str!("../../../kubernetes/fields.json");

/// The file, as it is written: kinds and names as text, structs as lists of fields.
#[derive(Deserialize)]
struct Facts {
    #[serde(borrow)]
    kinds: BTreeMap<&'static str, &'static str>,
    #[serde(borrow)]
    names: BTreeMap<&'static str, &'static str>,
    #[serde(borrow)]
    structs: BTreeMap<&'static str, Vec<Line>>,
}

/// The name in JSON, empty for what is embedded; the number in protobuf; the Go type; when it is omitted.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Kept(&'static str, u32, &'static str),
    Omitted(&'static str, u32, &'static str, &'static str),
}

impl Line {
    fn parts(&self) -> (&'static str, u32, &'static str, Omit) {
        match *self {
            Line::Kept(name, number, kind) => (name, number, kind, Omit::Never),
            Line::Omitted(name, number, kind, flags) if flags.contains("omitzero") => {
                (name, number, kind, Omit::Zero)
            }
            Line::Omitted(name, number, kind, _) => (name, number, kind, Omit::Empty),
        }
    }
}

pub(super) fn read() -> Structs {
    let facts: Facts = serde_json::from_str(FILE).expect("the vendored facts are what `xtask vendor` writes");
    let ids: HashMap<_, _> = facts.structs.keys().copied().zip((0..).map(StructId)).collect();
    let reader = Reader { facts: &facts, ids: &ids };
    let kinds = facts.kinds.iter().map(|(kind, name)| {
        let key = kind.split_once(' ').expect("a kind is written after its version");
        (key, reader.id(name))
    });
    Structs {
        kinds: kinds.collect(),
        all: facts.structs.keys().map(|name| reader.structure(name)).collect(),
        schema: reader.id("apiextensions/v1.JSONSchemaProps"),
        metadata: reader.id("meta/v1.ObjectMeta"),
    }
}

struct Reader<'a> {
    facts: &'a Facts,
    ids: &'a HashMap<&'static str, StructId>,
}

impl Reader<'_> {
    fn id(&self, name: &str) -> StructId {
        *self.ids.get(name).unwrap_or_else(|| panic!("{name} is among the vendored structs"))
    }

    fn structure(&self, name: &'static str) -> Struct {
        let mut fields = self.fields(name, None);
        fields.sort_by_key(|(field, _)| field.name);
        let own =
            fields.iter().enumerate().filter(|(_, (field, number))| field.through.is_none() && *number > 0);
        let own =
            own.map(|(at, (_, number))| (*number, Member::Field(u16::try_from(at).expect("few fields"))));
        let mut numbers: Vec<_> = own.chain(self.embedded(name)).collect();
        numbers.sort_by_key(|(number, _)| *number);
        Struct { name, fields: fields.into_iter().map(|(field, _)| field).collect(), numbers: numbers.into() }
    }

    /// The fields of a struct and of those embedded in it, with their numbers in their own struct.
    fn fields(&self, name: &'static str, through: Option<&'static str>) -> Vec<(Field, u32)> {
        let mut fields = Vec::new();
        for line in &self.facts.structs[name] {
            match line.parts() {
                ("", _, kind, _) => fields.extend(self.fields(kind, kind.rsplit('.').next())),
                (name, number, kind, omit) => {
                    fields.push((Field { name, kind: self.kind(kind), through, omit }, number));
                }
            }
        }
        fields
    }

    fn embedded(&self, name: &'static str) -> impl Iterator<Item = (u32, Member)> {
        self.facts.structs[name].iter().filter_map(|line| match line.parts() {
            ("", number @ 1.., kind, _) => Some((number, Member::Embedded(self.id(kind)))),
            _ => None,
        })
    }

    fn kind(&self, text: &'static str) -> Type {
        if let Some(inner) = text.strip_prefix('*') {
            return Type::Pointer(Box::new(self.kind(inner)));
        }
        if let Some((key, value)) = text.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
            return Type::Map(Box::new((self.kind(key), self.kind(value))));
        }
        match text.strip_prefix("[]") {
            Some("byte") => Type::Bytes,
            Some(inner) => Type::Slice(Box::new(self.kind(inner))),
            None => self.name(text),
        }
    }

    fn name(&self, name: &'static str) -> Type {
        match name {
            "bool" => Type::Bool,
            "int32" => Type::Int(Width::Int32),
            "int64" | "int" => Type::Int(Width::Int64),
            "uint32" => Type::Int(Width::Uint32),
            "float64" => Type::Float,
            "string" => Type::String,
            name => own(name).map_or_else(|| self.declared(name), Type::Own),
        }
    }

    fn declared(&self, name: &'static str) -> Type {
        let Some(kind) = self.facts.names.get(name) else { return Type::Struct(self.id(name)) };
        let message = kind.strip_prefix("message ");
        let kind = self.kind(message.unwrap_or(kind));
        Type::Named(Box::new(Named { name, kind, is_message: message.is_some() }))
    }
}

fn own(name: &str) -> Option<Own> {
    Some(match name {
        "api/resource.Quantity" => Own::Quantity,
        "apiextensions/v1.JSON" => Own::Raw("v1.JSON"),
        "apiextensions/v1.JSONSchemaPropsOrArray" => Own::SchemaOrArray,
        "apiextensions/v1.JSONSchemaPropsOrBool" => Own::SchemaOrBool,
        "apiextensions/v1.JSONSchemaPropsOrStringArray" => Own::SchemaOrStrings,
        "meta/v1.FieldsV1" => Own::Raw("v1.FieldsV1"),
        "meta/v1.MicroTime" => Own::MicroTime,
        "meta/v1.Time" => Own::Time,
        "runtime.RawExtension" => Own::Raw("runtime.RawExtension"),
        "util/intstr.IntOrString" => Own::IntOrString,
        _ => return None,
    })
}
