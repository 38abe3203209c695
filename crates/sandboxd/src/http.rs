//! HTTP as such: connections, bodies, what a path means, files and WebSockets. What is done with a request is the business of
//! `legacy`, `rest` and `grpc`.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod file;
pub(crate) mod frames;
pub(crate) mod multipart;
pub(crate) mod payload;
pub(crate) mod query;
mod range;
pub(crate) mod receive;
pub(crate) mod route;
pub(crate) mod stream;
pub(crate) mod websocket;
