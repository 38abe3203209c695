//! The Go structs that Kubernetes' own kinds are decoded into, read once from the vendored facts.
//! Nothing is decided here: `typed` walks these for JSON, `protobuf` for the wire.

mod file;

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

/// All structs. What is read from the embedded file stays there: names are slices of its text.
pub(super) struct Structs {
    /// By apiVersion and kind.
    kinds: HashMap<(&'static str, &'static str), StructId>,
    all: Vec<Struct>,
    /// The struct of a JSON schema, which three types that hold one refer to.
    schema: StructId,
    /// The struct of the metadata of every object.
    metadata: StructId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StructId(u16);

pub(super) struct Struct {
    /// Such as `core/v1.Pod`
    name: &'static str,
    /// As JSON sees them: those of embedded structs among them, sorted by name.
    pub fields: Box<[Field]>,
    /// As protobuf sees them, sorted by number.
    numbers: Box<[(u32, Member)]>,
}

pub(super) struct Field {
    pub name: &'static str,
    pub kind: Type,
    /// The embedded struct that the field is in, as Go's messages name it.
    pub through: Option<&'static str>,
    pub omit: Omit,
}

/// When Go leaves a field out of the JSON of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Omit {
    Never,
    /// Empty text, lists and maps, zero, false and nothing; a struct is none of these.
    Empty,
    /// The same, and a struct that holds nothing.
    Zero,
}

/// What a number in protobuf stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Field(u16),
    Embedded(StructId),
}

#[derive(Clone)]
pub(super) enum Type {
    Bool,
    Int(Width),
    Float,
    String,
    Bytes,
    Own(Own),
    Struct(StructId),
    Pointer(Box<Type>),
    Slice(Box<Type>),
    Map(Box<(Type, Type)>),
    Named(Box<Named>),
}

/// A type with a name of its own that is no struct.
#[derive(Clone)]
pub(super) struct Named {
    name: &'static str,
    pub kind: Type,
    /// A list that is a message with one repeated field in protobuf.
    pub is_message: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Int32,
    Int64,
    Uint32,
}

/// Types that read and write themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    /// Any JSON, kept as it is: `RawExtension`, `FieldsV1` and the `JSON` of definitions.
    Raw(&'static str),
    SchemaOrArray,
    SchemaOrBool,
    SchemaOrStrings,
}

pub(super) fn structs() -> &'static Structs {
    static STRUCTS: LazyLock<Structs> = LazyLock::new(file::read);
    &STRUCTS
}

impl Structs {
    /// The struct of a kind. Options may be sent in the version of any group.
    pub(super) fn of_kind(&self, api_version: &str, kind: &str) -> Option<StructId> {
        let own = self.kinds.get(&(api_version, kind));
        let general =
            || matches!(kind, "DeleteOptions" | "WatchEvent").then(|| self.kinds.get(&("v1", kind)));
        own.or_else(|| general().flatten()).copied()
    }

    pub(super) fn get(&self, id: StructId) -> &Struct {
        &self.all[usize::from(id.0)]
    }

    pub(super) fn schema(&self) -> StructId {
        self.schema
    }

    pub(super) fn metadata(&self) -> StructId {
        self.metadata
    }
}

impl Struct {
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.binary_search_by(|field| field.name.cmp(name)).ok().map(|at| &self.fields[at])
    }

    pub(super) fn member(&self, number: u32) -> Option<Member> {
        self.numbers.binary_search_by_key(&number, |(number, _)| *number).ok().map(|at| self.numbers[at].1)
    }

    /// The name without its package, as Go's messages say it.
    pub(super) fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

impl Field {
    /// Whether the field is in the JSON even of an object that does not set it.
    pub(super) fn is_always_there(&self) -> bool {
        let is_value = matches!(self.kind, Type::Struct(_) | Type::Own(_));
        self.omit == Omit::Never || (is_value && self.omit == Omit::Empty)
    }
}

impl Type {
    /// The type under any name that was given to it.
    pub(super) fn plain(&self) -> &Type {
        match self {
            Type::Named(named) => named.kind.plain(),
            other => other,
        }
    }
}

/// As Go writes the type in messages: packages by their last name only.
impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = |name: &'static str| name.rsplit('/').next().unwrap_or(name);
        match self {
            Type::Bool => formatter.write_str("bool"),
            Type::Int(Width::Int32) => formatter.write_str("int32"),
            Type::Int(Width::Int64) => formatter.write_str("int64"),
            Type::Int(Width::Uint32) => formatter.write_str("uint32"),
            Type::Float => formatter.write_str("float64"),
            Type::String => formatter.write_str("string"),
            Type::Bytes => formatter.write_str("[]uint8"),
            Type::Own(own) => formatter.write_str(own.go_name()),
            Type::Struct(id) => formatter.write_str(last(structs().get(*id).name)),
            Type::Pointer(inner) => write!(formatter, "*{inner}"),
            Type::Slice(inner) => write!(formatter, "[]{inner}"),
            Type::Map(inner) => write!(formatter, "map[{}]{}", inner.0, inner.1),
            Type::Named(named) => formatter.write_str(last(named.name)),
        }
    }
}

impl Own {
    fn go_name(self) -> &'static str {
        match self {
            Own::Quantity => "resource.Quantity",
            Own::IntOrString => "intstr.IntOrString",
            Own::Time => "v1.Time",
            Own::MicroTime => "v1.MicroTime",
            Own::Raw(name) => name,
            Own::SchemaOrArray => "v1.JSONSchemaPropsOrArray",
            Own::SchemaOrBool => "v1.JSONSchemaPropsOrBool",
            Own::SchemaOrStrings => "v1.JSONSchemaPropsOrStringArray",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structure(kind: &str) -> &'static Struct {
        structs().get(structs().of_kind("v1", kind).unwrap())
    }

    #[test]
    fn fields_of_embedded_structs_are_fields_of_the_object() {
        let kind = structure("Pod").field("kind").unwrap();
        assert_eq!((kind.through, kind.kind.to_string()), (Some("TypeMeta"), "string".into()));
        assert!(structure("Pod").field("TypeMeta").is_none());
    }

    #[test]
    fn types_are_written_as_go_writes_them() {
        let text = |kind: &str, field: &str| structure(kind).field(field).unwrap().kind.to_string();
        assert_eq!(text("Pod", "spec"), "v1.PodSpec");
        assert_eq!(text("PodList", "items"), "[]v1.Pod");
        assert_eq!(text("Secret", "data"), "map[string][]uint8");
        assert_eq!(text("DeleteOptions", "propagationPolicy"), "*v1.DeletionPropagation");
    }

    #[test]
    fn delete_options_are_known_in_every_version() {
        assert_eq!(structs().of_kind("apps/v1", "DeleteOptions"), structs().of_kind("v1", "DeleteOptions"));
        assert_eq!(structs().of_kind("example.com/v1", "Pod"), None);
    }
}
