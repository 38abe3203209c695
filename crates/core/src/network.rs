//! The network of Pods on one machine: who has which address, what a Service's address stands for, what a name means, and
//! which packets may pass. Rules come out as data ([`rules`]); carrying them to the kernel is left to `node`.
//!
//! IPv4 only: Pods have no IPv6 address and their links carry none, so a rule about IPv6 addresses holds by itself.

pub mod addresses;
pub mod cidr;
pub mod member;
pub mod names;
pub mod policy;
pub mod ranges;
pub mod reservations;
pub mod resolver;
pub mod rules;
pub mod ruleset;
pub mod selector;
pub mod services;
pub mod slices;

#[cfg(test)]
mod evaluate;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod properties;
