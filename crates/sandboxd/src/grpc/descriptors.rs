//! What `.proto` files would say of our services, as a table, and its encoding as FileDescriptorProto for reflection.

use prost::Message;

/// How a field is written on the wire, or which message it is.
#[derive(Clone, Copy)]
enum Type {
    Int32,
    Uint32,
    String,
    Bytes,
    Message(&'static str),
    Enum(&'static str),
    /// `map<string, string>`, whose entries are a message of this name.
    Map(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Plain,
    Repeated,
    /// `optional` of proto3.
    Optional,
    /// In the one `oneof` that the message has.
    Choice(&'static str),
}

type Field = (&'static str, u8, Type, Label);
type Structure = (&'static str, &'static [Field]);
/// Name, question, answer, and whether each of them is a stream.
type Method = (&'static str, &'static str, &'static str, bool, bool);

const EMPTY: &str = ".google.protobuf.Empty";

const PROCESS: &[Structure] = &[
    (
        "ProcessConfig",
        &[
            ("command", 1, Type::String, Label::Repeated),
            ("env_vars", 2, Type::Map("EnvVarsEntry"), Label::Repeated),
            ("cwd", 3, Type::String, Label::Optional),
        ],
    ),
    ("PTY", &[("cols", 1, Type::Uint32, Label::Plain), ("rows", 2, Type::Uint32, Label::Plain)]),
    (
        "StartRequest",
        &[
            ("config", 1, Type::Message(".process.v1.ProcessConfig"), Label::Plain),
            ("pty", 2, Type::Message(".process.v1.PTY"), Label::Optional),
        ],
    ),
    ("InitEvent", &[("process_id", 1, Type::Int32, Label::Plain)]),
    ("ExitEvent", &[("exit_code", 1, Type::Int32, Label::Plain)]),
    (
        "StartResponse",
        &[
            ("init", 1, Type::Message(".process.v1.InitEvent"), Label::Choice("event")),
            ("stdout", 2, Type::Bytes, Label::Choice("event")),
            ("stderr", 3, Type::Bytes, Label::Choice("event")),
            ("exit", 4, Type::Message(".process.v1.ExitEvent"), Label::Choice("event")),
        ],
    ),
    ("ExecuteRequest", &[("config", 1, Type::Message(".process.v1.ProcessConfig"), Label::Plain)]),
    (
        "ExecuteResponse",
        &[
            ("exit_code", 1, Type::Int32, Label::Plain),
            ("stdout", 2, Type::Bytes, Label::Plain),
            ("stderr", 3, Type::Bytes, Label::Plain),
        ],
    ),
    (
        "WriteStdinRequest",
        &[
            ("process_id", 1, Type::Int32, Label::Plain),
            ("input", 2, Type::Bytes, Label::Choice("payload")),
            ("eof", 3, Type::Message(EMPTY), Label::Choice("payload")),
        ],
    ),
    ("WriteStdinResponse", &[]),
    (
        "SendSignalRequest",
        &[
            ("process_id", 1, Type::Int32, Label::Plain),
            ("signal", 2, Type::Enum(".process.v1.Signal"), Label::Plain),
        ],
    ),
    ("SendSignalResponse", &[]),
    (
        "ResizeTTYRequest",
        &[
            ("process_id", 1, Type::Int32, Label::Plain),
            ("cols", 2, Type::Uint32, Label::Plain),
            ("rows", 3, Type::Uint32, Label::Plain),
        ],
    ),
    ("ResizeTTYResponse", &[]),
];

const PROCESS_METHODS: &[Method] = &[
    ("Start", "StartRequest", "StartResponse", false, true),
    ("Execute", "ExecuteRequest", "ExecuteResponse", false, false),
    ("WriteStdin", "WriteStdinRequest", "WriteStdinResponse", false, false),
    ("SendSignal", "SendSignalRequest", "SendSignalResponse", false, false),
    ("ResizeTTY", "ResizeTTYRequest", "ResizeTTYResponse", false, false),
];

const SIGNALS: &[(&str, i32)] =
    &[("SIGNAL_UNSPECIFIED", 0), ("SIGNAL_SIGINT", 2), ("SIGNAL_SIGKILL", 9), ("SIGNAL_SIGTERM", 15)];

/// Only what a client needs for asking. Types are relative, because two packages have them.
const REFLECTION: &[Structure] = &[
    (
        "ServerReflectionRequest",
        &[
            ("host", 1, Type::String, Label::Plain),
            ("file_by_filename", 3, Type::String, Label::Choice("message_request")),
            ("file_containing_symbol", 4, Type::String, Label::Choice("message_request")),
            ("list_services", 7, Type::String, Label::Choice("message_request")),
        ],
    ),
    ("FileDescriptorResponse", &[("file_descriptor_proto", 1, Type::Bytes, Label::Repeated)]),
    ("ServiceResponse", &[("name", 1, Type::String, Label::Plain)]),
    ("ListServiceResponse", &[("service", 1, Type::Message("ServiceResponse"), Label::Repeated)]),
    (
        "ErrorResponse",
        &[("error_code", 1, Type::Int32, Label::Plain), ("error_message", 2, Type::String, Label::Plain)],
    ),
    (
        "ServerReflectionResponse",
        &[
            ("valid_host", 1, Type::String, Label::Plain),
            ("original_request", 2, Type::Message("ServerReflectionRequest"), Label::Plain),
            (
                "file_descriptor_response",
                4,
                Type::Message("FileDescriptorResponse"),
                Label::Choice("message_response"),
            ),
            (
                "list_services_response",
                6,
                Type::Message("ListServiceResponse"),
                Label::Choice("message_response"),
            ),
            ("error_response", 7, Type::Message("ErrorResponse"), Label::Choice("message_response")),
        ],
    ),
];

const REFLECTION_METHODS: &[Method] =
    &[("ServerReflectionInfo", "ServerReflectionRequest", "ServerReflectionResponse", true, true)];

/// One `.proto` file.
pub(super) struct File {
    name: &'static str,
    package: &'static str,
    imports: &'static [&'static str],
    structures: &'static [Structure],
    enumeration: Option<(&'static str, &'static [(&'static str, i32)])>,
    service: Option<(&'static str, &'static [Method])>,
}

pub(super) fn files() -> Vec<File> {
    let reflection = |name, package| File {
        name,
        package,
        imports: &[],
        structures: REFLECTION,
        enumeration: None,
        service: Some(("ServerReflection", REFLECTION_METHODS)),
    };
    vec![
        File {
            name: "process/v1/process.proto",
            package: "process.v1",
            imports: &["google/protobuf/empty.proto"],
            structures: PROCESS,
            enumeration: Some(("Signal", SIGNALS)),
            service: Some(("ProcessService", PROCESS_METHODS)),
        },
        reflection("grpc/reflection/v1/reflection.proto", "grpc.reflection.v1"),
        reflection("grpc/reflection/v1alpha/reflection.proto", "grpc.reflection.v1alpha"),
        File {
            name: "google/protobuf/empty.proto",
            package: "google.protobuf",
            imports: &[],
            structures: &[("Empty", &[])],
            enumeration: None,
            service: None,
        },
    ]
}

impl File {
    pub(super) fn name(&self) -> &str {
        self.name
    }

    pub(super) fn services(&self) -> Option<String> {
        self.service.map(|(name, _)| self.full(name))
    }

    /// All that it defines, by full names.
    pub(super) fn symbols(&self) -> Vec<String> {
        let messages = self.structures.iter().map(|(name, _)| self.full(name));
        let enumeration = self.enumeration.map(|(name, _)| self.full(name));
        let methods = self.service.iter().flat_map(|(service, methods)| {
            methods.iter().map(move |(name, ..)| self.full(&format!("{service}.{name}")))
        });
        messages.chain(enumeration).chain(self.services()).chain(methods).collect()
    }

    /// Encoded, followed by what it imports.
    pub(super) fn with_imports(&self, files: &[Self]) -> Vec<Vec<u8>> {
        let imported = files.iter().filter(|file| self.imports.contains(&file.name));
        [self].into_iter().chain(imported).map(|file| file.encoded().encode_to_vec()).collect()
    }

    /// The number of a field.
    #[cfg(test)]
    pub(super) fn number(&self, structure: &str, field: &str) -> Option<u8> {
        let (_, fields) = self.structures.iter().find(|(name, _)| *name == structure)?;
        fields.iter().find(|(name, ..)| *name == field).map(|(_, number, ..)| *number)
    }

    fn full(&self, name: &str) -> String {
        format!("{}.{name}", self.package)
    }

    /// Names of our own package are written short in the tables.
    fn type_name(&self, name: &str) -> String {
        if name.starts_with('.') { name.to_owned() } else { format!(".{}.{name}", self.package) }
    }

    fn encoded(&self) -> FileProto {
        let enumeration = self.enumeration.map(|(name, values)| EnumProto {
            name: name.to_owned(),
            value: values
                .iter()
                .map(|(name, number)| EnumValueProto { name: (*name).to_owned(), number: Some(*number) })
                .collect(),
        });
        let service = self.service.map(|(name, methods)| ServiceProto {
            name: name.to_owned(),
            method: methods.iter().map(|method| self.method(method)).collect(),
        });
        FileProto {
            name: self.name.to_owned(),
            package: self.package.to_owned(),
            dependency: self.imports.iter().map(|import| (*import).to_owned()).collect(),
            message_type: self.structures.iter().map(|structure| self.message(structure)).collect(),
            enum_type: enumeration.into_iter().collect(),
            service: service.into_iter().collect(),
            syntax: "proto3".to_owned(),
        }
    }

    fn method(&self, (name, input, output, asks, answers): &Method) -> MethodProto {
        MethodProto {
            name: (*name).to_owned(),
            input_type: self.type_name(input),
            output_type: self.type_name(output),
            client_streaming: *asks,
            server_streaming: *answers,
        }
    }

    fn message(&self, (name, fields): &Structure) -> MessageProto {
        let mut oneofs: Vec<String> = Vec::new();
        let mut encoded = Vec::new();
        for field in *fields {
            encoded.push(self.field(name, field, &mut oneofs));
        }
        let maps = fields.iter().filter_map(|(_, _, kind, _)| match kind {
            Type::Map(entry) => Some(map_entry(entry)),
            _ => None,
        });
        MessageProto {
            name: (*name).to_owned(),
            field: encoded,
            nested_type: maps.collect(),
            options: None,
            oneof_decl: oneofs.into_iter().map(|name| OneofProto { name }).collect(),
        }
    }

    fn field(
        &self,
        parent: &str,
        (name, number, kind, label): &Field,
        oneofs: &mut Vec<String>,
    ) -> FieldProto {
        let (kind, type_name) = match kind {
            Type::Int32 => (5, None),
            Type::Uint32 => (13, None),
            Type::String => (9, None),
            Type::Bytes => (12, None),
            Type::Message(name) => (11, Some(self.type_name(name))),
            Type::Enum(name) => (14, Some(self.type_name(name))),
            Type::Map(entry) => (11, Some(format!(".{}.{parent}.{entry}", self.package))),
        };
        // An optional field of proto3 is in a choice of its own.
        let oneof = match label {
            Label::Choice(name) => Some((*name).to_owned()),
            Label::Optional => Some(format!("_{name}")),
            Label::Plain | Label::Repeated => None,
        };
        FieldProto {
            name: (*name).to_owned(),
            number: i32::from(*number),
            label: if *label == Label::Repeated { 3 } else { 1 },
            kind,
            type_name,
            oneof_index: oneof.map(|name| index(oneofs, name)),
            proto3_optional: (*label == Label::Optional).then_some(true),
        }
    }
}

fn index(names: &mut Vec<String>, name: String) -> i32 {
    let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    i32::try_from(at).unwrap_or_default()
}

fn map_entry(name: &str) -> MessageProto {
    let field = |name: &str, number| FieldProto {
        name: name.to_owned(),
        number,
        label: 1,
        kind: 9,
        ..FieldProto::default()
    };
    MessageProto {
        name: name.to_owned(),
        field: vec![field("key", 1), field("value", 2)],
        options: Some(MessageOptions { map_entry: true }),
        ..MessageProto::default()
    }
}

/// As much of `descriptor.proto` as the tables need.
#[derive(Clone, PartialEq, Message)]
struct FileProto {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    package: String,
    #[prost(string, repeated, tag = "3")]
    dependency: Vec<String>,
    #[prost(message, repeated, tag = "4")]
    message_type: Vec<MessageProto>,
    #[prost(message, repeated, tag = "5")]
    enum_type: Vec<EnumProto>,
    #[prost(message, repeated, tag = "6")]
    service: Vec<ServiceProto>,
    #[prost(string, tag = "12")]
    syntax: String,
}

#[derive(Clone, PartialEq, Message)]
struct MessageProto {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "2")]
    field: Vec<FieldProto>,
    #[prost(message, repeated, tag = "3")]
    nested_type: Vec<Self>,
    #[prost(message, optional, tag = "7")]
    options: Option<MessageOptions>,
    #[prost(message, repeated, tag = "8")]
    oneof_decl: Vec<OneofProto>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct MessageOptions {
    #[prost(bool, tag = "7")]
    map_entry: bool,
}

#[derive(Clone, PartialEq, Message)]
struct OneofProto {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct FieldProto {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "3")]
    number: i32,
    #[prost(int32, tag = "4")]
    label: i32,
    #[prost(int32, tag = "5")]
    kind: i32,
    #[prost(string, optional, tag = "6")]
    type_name: Option<String>,
    #[prost(int32, optional, tag = "9")]
    oneof_index: Option<i32>,
    #[prost(bool, optional, tag = "17")]
    proto3_optional: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
struct EnumProto {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "2")]
    value: Vec<EnumValueProto>,
}

#[derive(Clone, PartialEq, Message)]
struct EnumValueProto {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, optional, tag = "2")]
    number: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct ServiceProto {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "2")]
    method: Vec<MethodProto>,
}

#[derive(Clone, PartialEq, Message)]
struct MethodProto {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    input_type: String,
    #[prost(string, tag = "3")]
    output_type: String,
    #[prost(bool, tag = "5")]
    client_streaming: bool,
    #[prost(bool, tag = "6")]
    server_streaming: bool,
}
