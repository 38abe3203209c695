//! The Rust SDK of Agent Sandbox. Makes sandboxes, waits for them, runs commands in them, copies files, forwards ports;
//! on one machine and on any Kubernetes, through nothing but the Kubernetes API. The command line `asb` is built on it.
//!
//! Everything begins with a [`Client`], which says whom it talks to. Sandboxes are named as people type them, by an
//! [`Address`]: by their own name, or by that of the claim that has them.
//!
//! ```no_run
//! use asb_client::{Client, Destination, NewSandbox};
//!
//! # async fn example() -> Result<(), asb_client::Error> {
//! let client = Client::connect(&Destination::Local("/var/lib/asb/kubeconfig".into())).await?;
//! let wanted = NewSandbox { image: "python:3.14".to_owned(), ..NewSandbox::default() };
//! let sandbox = client.create_sandbox(&wanted).await?;
//! client.wait_until_ready(&sandbox, |step| drop(step)).await?;
//! client.delete_sandbox(&sandbox, Default::default()).await?;
//! # Ok(())
//! # }
//! ```

mod address;
mod claims;
mod client;
mod copy;
mod destination;
mod error;
mod events;
mod forward;
mod logs;
mod objects;
mod pods;
mod pools;
mod process;
pub mod progress;
mod request;
mod resolve;
mod sandboxes;
mod sights;
mod templates;
mod usage;

pub use address::{Address, BadAddress, KindHint, Match};
pub use claims::NewClaim;
pub use client::{Client, Home};
pub use copy::{Copied, Location};
pub use destination::{Asked, Destination, Surroundings};
pub use error::Error;
pub use events::{EventFilter, event_time};
pub use forward::Tunnel;
pub use logs::LogOptions;
pub use pods::{Ending, default_container, ending, pod_name};
pub use pools::{NewPool, PoolSize};
pub use process::{Ends, Process, SizeSender, Wanted};
pub use progress::{Obstacle, Outlook, Step};
pub use request::{Mount, NewSandbox};
pub use resolve::Found;
pub use sandboxes::Deletion;
pub use sights::Snapshot;
pub use usage::Usage;
