//! Gives out the addresses and node ports of Services: whatever no Service has is free.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use serde_json::Value;

use crate::pointer;

/// A block of IPv4 addresses: `10.96.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    first: u32,
    last: u32,
}

impl AddressRange {
    pub fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let (address, length): (Ipv4Addr, u32) = (address.parse().ok()?, length.parse().ok()?);
        let hosts = match length {
            0..=31 => u32::MAX >> length,
            32 => 0,
            _ => return None,
        };
        Some(Self { first: address.to_bits() & !hosts, last: address.to_bits() | hosts })
    }

    /// The first address stands for the block, the last for everybody in it.
    fn usable(self) -> RangeInclusive<u32> {
        self.first.saturating_add(1)..=self.last.saturating_sub(1)
    }
}

/// The addresses and node ports of one Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    addresses: BTreeSet<u32>,
    ports: BTreeSet<u32>,
}

impl Claims {
    pub fn of(service: &Value) -> Self {
        Self { addresses: addresses_of(service).collect(), ports: ports_of(service).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.ports.is_empty()
    }

    /// Whether another Service has any of them.
    pub fn meet(&self, other: &Value) -> bool {
        addresses_of(other).any(|address| self.addresses.contains(&address))
            || ports_of(other).any(|port| self.ports.contains(&port))
    }
}

/// Numbers of a range that are given out, each to one.
pub(super) struct Pool {
    range: RangeInclusive<u32>,
    /// So many at the beginning are given to those who ask for them as long as there are others.
    reserved: u32,
    used: BTreeSet<u32>,
}

/// The node ports of a default server.
pub(super) const PORTS: RangeInclusive<u32> = 30_000..=32_767;

/// Why a number cannot be had.
pub(super) enum Refused {
    OutOfRange,
    Taken,
}

impl Pool {
    pub(super) fn addresses(range: AddressRange, used: BTreeSet<u32>) -> Self {
        let range = range.usable();
        let size = range.end().saturating_sub(*range.start());
        Self { reserved: (size / 16).clamp(16, 256), range, used }
    }

    pub(super) fn ports(used: BTreeSet<u32>) -> Self {
        let size = PORTS.end() - PORTS.start();
        Self { reserved: (size / 32).clamp(16, 128), range: PORTS, used }
    }

    pub(super) fn take(&mut self, number: u32) -> Result<(), Refused> {
        if !self.range.contains(&number) {
            return Err(Refused::OutOfRange);
        }
        if self.used.insert(number) { Ok(()) } else { Err(Refused::Taken) }
    }

    /// A free number. The same name begins to look at the same place, so that who comes back may find it again; others
    /// look elsewhere, so that a number is not given to the next one at once.
    pub(super) fn next(&mut self, name: &str) -> Option<u32> {
        let open = self.range.start().saturating_add(self.reserved);
        let length = self.range.end().saturating_add(1).saturating_sub(open);
        let begin = open.saturating_add(hash(name).checked_rem(length).unwrap_or_default());
        let (start, end) = (*self.range.start(), *self.range.end());
        let mut candidates = (begin..=end).chain(open..begin.min(end)).chain(start..open.min(end));
        let free = candidates.find(|number| self.range.contains(number) && !self.used.contains(number))?;
        self.used.insert(free);
        Some(free)
    }
}

/// FNV-1a: the same on every machine and in every version, which is all that is asked of it.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The addresses that a Service has.
pub(super) fn addresses_of(service: &Value) -> impl Iterator<Item = u32> {
    let addresses = pointer::list(service, "/spec/clusterIPs").iter().filter_map(Value::as_str);
    addresses.filter_map(|address| address.parse::<Ipv4Addr>().ok()).map(Ipv4Addr::to_bits)
}

/// The node ports that a Service has, that of its health checks among them.
pub(super) fn ports_of(service: &Value) -> impl Iterator<Item = u32> {
    let ports = pointer::list(service, "/spec/ports").iter().map(|port| &port["nodePort"]);
    ports.chain(service.pointer("/spec/healthCheckNodePort")).filter_map(number).filter(|port| *port != 0)
}

pub(super) fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| number.try_into().ok())
}
