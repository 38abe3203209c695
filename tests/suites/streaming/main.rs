//! The streaming transports of the embedded API server, tried with the clients that people use. Each finds a server
//! that knows one Pod, whose processes are processes of this machine.

mod clients;
mod commands;
mod files;
mod kubectl;
mod node;
mod ports;
mod server;
mod terminal;
