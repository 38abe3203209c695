//! The SDKs and tools that people already use, unmodified, against `asb up` with its operator, its router and its node. Every
//! public method of theirs is called over at least one connection; one that is not fails the suite.

mod gateway;
mod go;
mod opensandbox;
mod python;
mod stage;
