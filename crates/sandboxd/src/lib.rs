//! The small program inside a sandbox: it runs commands, gives terminals and moves files for whoever may ask, and it is the
//! init of its container. Without the feature `server` this is what its clients need: [`wire`] is what is said to it, and
//! [`token`] how it knows who may. [docs/sandboxd.md](../../../docs/sandboxd.md) is for users.

pub mod token;
pub mod wire;

#[cfg(feature = "server")]
mod access;
#[cfg(feature = "server")]
mod failure;
#[cfg(feature = "server")]
mod files;
#[cfg(feature = "server")]
mod grpc;
#[cfg(feature = "server")]
mod http;
#[cfg(feature = "server")]
mod init;
#[cfg(feature = "server")]
mod install;
#[cfg(feature = "server")]
mod legacy;
#[cfg(feature = "server")]
mod processes;
#[cfg(feature = "server")]
pub mod program;
#[cfg(feature = "server")]
mod rest;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
mod settings;
#[cfg(feature = "server")]
mod sys;
#[cfg(feature = "server")]
mod timestamp;
