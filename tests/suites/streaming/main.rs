//! The streams of the embedded API server, tried with the clients that people use: through the whole server, over TLS,
//! as somebody, to a Pod that exists. The processes of that Pod are processes of this machine.

mod clients;
mod commands;
mod files;
mod kubectl;
mod logs;
mod node;
mod permissions;
mod ports;
mod server;
mod terminal;
mod transports;
