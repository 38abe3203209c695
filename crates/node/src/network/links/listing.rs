//! What the kernel answers about interfaces, routes and addresses. Only the few attributes that we ask for are read, so
//! that whatever else a kernel says of other people's interfaces cannot confuse.

use std::net::Ipv4Addr;

use asb_core::network::cidr::Cidr;

use crate::network::nftables::children;

pub(super) struct Interface {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) alias: Option<String>,
    pub(super) mtu: u32,
}

/// One of the main table.
pub(super) struct Route {
    pub(super) to: Cidr,
    pub(super) out: Option<u32>,
}

pub(super) fn interface(payload: &[u8]) -> Option<Interface> {
    const HEADER: usize = 16;
    let attributes = payload.get(HEADER..)?;
    Some(Interface {
        index: number(payload.get(4..8)?)?,
        name: text(attribute(attributes, 3)?),
        mtu: number(attribute(attributes, 4)?)?,
        alias: attribute(attributes, 20).map(text),
    })
}

pub(super) fn route(payload: &[u8]) -> Option<Route> {
    const HEADER: usize = 12;
    const MAIN_TABLE: u8 = 254;
    let (header, attributes) = payload.split_at_checked(HEADER)?;
    let to = attribute(attributes, 1).map_or(Some(Ipv4Addr::UNSPECIFIED), address_in)?;
    let out = attribute(attributes, 4).and_then(number);
    (header[4] == MAIN_TABLE).then_some(Route { to: Cidr::new(to, header[1]), out })
}

/// An address with the network that it is in.
pub(super) fn address(payload: &[u8]) -> Option<Cidr> {
    const HEADER: usize = 8;
    let (header, attributes) = payload.split_at_checked(HEADER)?;
    Some(Cidr::new(address_in(attribute(attributes, 2)?)?, header[1]))
}

fn attribute(attributes: &[u8], kind: u16) -> Option<&[u8]> {
    children(attributes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

fn address_in(bytes: &[u8]) -> Option<Ipv4Addr> {
    <[u8; 4]>::try_from(bytes).ok().map(Ipv4Addr::from)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}
