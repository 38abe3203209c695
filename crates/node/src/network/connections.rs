//! Connections that the kernel remembers. An address that goes to another Pod must not bring old ones along.

use std::net::Ipv4Addr;

use netlink_sys::protocols::NETLINK_NETFILTER;
use rustix::io::Errno;

use super::netlink::{ACKNOWLEDGE, Message, Netlink, NetlinkError, REQUEST};
use super::nftables::{Attributes, children};

const SUBSYSTEM: u16 = 1;
const GET: u16 = 1;
const REMOVE: u16 = 2;

const ORIGINAL: u16 = 1;
const REPLY: u16 = 2;
const IDENTITY: u16 = 12;
const TUPLE_ADDRESSES: u16 = 1;
const SOURCE_V4: u16 = 1;
const DESTINATION_V4: u16 = 2;
const IPV4: u8 = 2;

pub(super) struct Connections(Netlink);

impl Connections {
    pub(super) fn open() -> Result<Self, NetlinkError> {
        Netlink::open(NETLINK_NETFILTER).map(Self)
    }

    /// Forgets every connection that has one of these addresses at either end, before or after translation.
    pub(super) fn forget(&mut self, addresses: &[Ipv4Addr]) -> Result<usize, NetlinkError> {
        let listed = self.0.dump(&message(GET, Vec::new(), 0))?;
        let concerned = listed.iter().filter_map(|message| removal(message.payload.get(4..)?, addresses));
        let concerned: Vec<_> = concerned.collect();
        for attributes in &concerned {
            match self.0.send(&[message(REMOVE, attributes.clone(), ACKNOWLEDGE)]) {
                Err(error) if error.is(Errno::NOENT) => {}
                answer => answer?,
            }
        }
        Ok(concerned.len())
    }
}

/// What names a connection, if it concerns any of the addresses: its first tuple and its identity.
fn removal(attributes: &[u8], addresses: &[Ipv4Addr]) -> Option<Vec<u8>> {
    let tuples = children(attributes).filter(|(kind, _)| matches!(*kind, ORIGINAL | REPLY));
    let parts = tuples.flat_map(|(_, tuple)| children(tuple)).filter(|(kind, _)| *kind == TUPLE_ADDRESSES);
    let mut found = parts.flat_map(|(_, part)| children(part)).filter_map(address);
    if !found.any(|found| addresses.contains(&found)) {
        return None;
    }
    let named = children(attributes).filter(|(kind, _)| matches!(*kind, ORIGINAL | IDENTITY));
    let named = named.fold(Attributes::default(), |written, (kind, value)| match kind {
        ORIGINAL => written.bytes(kind | 0x8000, value),
        _ => written.bytes(kind, value),
    });
    Some(named.into_bytes())
}

fn address((kind, value): (u16, &[u8])) -> Option<Ipv4Addr> {
    let octets: [u8; 4] = value.try_into().ok()?;
    matches!(kind, SOURCE_V4 | DESTINATION_V4).then_some(octets.into())
}

fn message(kind: u16, attributes: Vec<u8>, flags: u16) -> Message {
    let payload = [vec![IPV4, 0, 0, 0], attributes].concat();
    Message { kind: SUBSYSTEM << 8 | kind, flags: flags | REQUEST, payload }
}
