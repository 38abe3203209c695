//! The way into Sandboxes: finds the Sandbox that a request is for, asks whether whoever sent it may reach that Sandbox,
//! and carries the request there and the answer back, whatever it is: HTTP/1.1, HTTP/2, gRPC, WebSocket, events.
//!
//! Which Sandbox is meant and where it is, is decided in `asb_core::route`. Nothing here changes an object.

mod alive;
mod authorization;
mod carrier;
mod connector;
mod conversation;
mod entrance;
mod follow;
mod forwarding;
mod limits;
mod linger;
mod listener;
mod metrics;
mod preview;
mod probes;
mod refusal;
mod router;
mod settings;
mod stay;
mod tls;
pub mod token;
mod tunnel;

pub use authorization::{Authority, Caller, User};
pub use metrics::Metrics;
pub use probes::serve_probes;
pub use router::{Handle, Router};
pub use settings::Settings;
pub use tls::{BadTls, ClientCertificates, Tls};
pub use tunnel::Tunnel;
