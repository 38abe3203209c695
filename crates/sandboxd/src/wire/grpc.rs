//! The messages of gRPC: `process.v1`, as upstream's sandboxd has it, and what server reflection needs. Written by hand, so that
//! building takes no protoc; [`crate::wire::grpc`] and the descriptors in `grpc::descriptors` say the same, and a test holds them
//! together.

use std::collections::HashMap;

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessConfig {
    /// The program and its arguments; no shell.
    #[prost(string, repeated, tag = "1")]
    pub command: Vec<String>,
    #[prost(map = "string, string", tag = "2")]
    pub env_vars: HashMap<String, String>,
    #[prost(string, optional, tag = "3")]
    pub cwd: Option<String>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Pty {
    #[prost(uint32, tag = "1")]
    pub cols: u32,
    #[prost(uint32, tag = "2")]
    pub rows: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StartRequest {
    #[prost(message, optional, tag = "1")]
    pub config: Option<ProcessConfig>,
    #[prost(message, optional, tag = "2")]
    pub pty: Option<Pty>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StartResponse {
    #[prost(oneof = "StartEvent", tags = "1, 2, 3, 4")]
    pub event: Option<StartEvent>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum StartEvent {
    #[prost(message, tag = "1")]
    Init(InitEvent),
    #[prost(bytes, tag = "2")]
    Stdout(Vec<u8>),
    #[prost(bytes, tag = "3")]
    Stderr(Vec<u8>),
    #[prost(message, tag = "4")]
    Exit(ExitEvent),
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct InitEvent {
    #[prost(int32, tag = "1")]
    pub process_id: i32,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ExitEvent {
    #[prost(int32, tag = "1")]
    pub exit_code: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExecuteRequest {
    #[prost(message, optional, tag = "1")]
    pub config: Option<ProcessConfig>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExecuteResponse {
    #[prost(int32, tag = "1")]
    pub exit_code: i32,
    #[prost(bytes = "vec", tag = "2")]
    pub stdout: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub stderr: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct WriteStdinRequest {
    #[prost(int32, tag = "1")]
    pub process_id: i32,
    #[prost(oneof = "StdinPayload", tags = "2, 3")]
    pub payload: Option<StdinPayload>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum StdinPayload {
    #[prost(bytes, tag = "2")]
    Input(Vec<u8>),
    /// No more will come.
    #[prost(message, tag = "3")]
    Eof(()),
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SendSignalRequest {
    #[prost(int32, tag = "1")]
    pub process_id: i32,
    /// SIGINT 2, SIGKILL 9, SIGTERM 15.
    #[prost(int32, tag = "2")]
    pub signal: i32,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ResizeTtyRequest {
    #[prost(int32, tag = "1")]
    pub process_id: i32,
    #[prost(uint32, tag = "2")]
    pub cols: u32,
    #[prost(uint32, tag = "3")]
    pub rows: u32,
}

/// Of `grpc.reflection.v1` and `v1alpha`, which are alike.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ReflectionRequest {
    #[prost(string, tag = "1")]
    pub host: String,
    #[prost(oneof = "ReflectionQuestion", tags = "3, 4, 5, 6, 7")]
    pub question: Option<ReflectionQuestion>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ReflectionQuestion {
    #[prost(string, tag = "3")]
    FileByFilename(String),
    #[prost(string, tag = "4")]
    FileContainingSymbol(String),
    #[prost(message, tag = "5")]
    FileContainingExtension(ExtensionRequest),
    #[prost(string, tag = "6")]
    AllExtensionNumbersOfType(String),
    #[prost(string, tag = "7")]
    ListServices(String),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExtensionRequest {
    #[prost(string, tag = "1")]
    pub containing_type: String,
    #[prost(int32, tag = "2")]
    pub extension_number: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ReflectionResponse {
    #[prost(string, tag = "1")]
    pub valid_host: String,
    #[prost(message, optional, tag = "2")]
    pub original_request: Option<ReflectionRequest>,
    #[prost(oneof = "ReflectionAnswer", tags = "4, 6, 7")]
    pub answer: Option<ReflectionAnswer>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ReflectionAnswer {
    #[prost(message, tag = "4")]
    Files(FileDescriptors),
    #[prost(message, tag = "6")]
    Services(ServiceList),
    #[prost(message, tag = "7")]
    Error(ReflectionError),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FileDescriptors {
    /// Each the bytes of one FileDescriptorProto.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceList {
    #[prost(message, repeated, tag = "1")]
    pub services: Vec<ServiceName>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ServiceName {
    #[prost(string, tag = "1")]
    pub name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ReflectionError {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
}
