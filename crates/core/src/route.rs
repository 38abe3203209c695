//! Which Sandbox a request is for, and where that Sandbox is. Who may ask is decided elsewhere; carrying the request there
//! is the router's.

mod directory;
#[cfg(test)]
mod properties;
pub mod tunnel;
mod wanted;

pub use directory::{Directory, Entry, Found, Loopback, Place, Unreachable};
pub use wanted::{Asked, Bad, Field, Named, Wanted, below};
