//! What is said to the kernel about links, addresses, neighbours and routes.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::RawFd;

use netlink_packet_core::NetlinkSerializable;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::network::netlink::{ACKNOWLEDGE, CREATE, EXCLUSIVE, Message, REPLACE, REQUEST};

/// The host's end of every link: each is alone on its wire. Addresses of our own making, as their second bit says.
pub(super) const HOST_HARDWARE: [u8; 6] = [0x02, 0x61, 0, 0, 0, 1];

/// Marks routes as ours in what administrators list.
const PROTOCOL: RouteProtocol = RouteProtocol::Other(165);

pub(super) fn pod_hardware(address: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = address.octets();
    [0x02, 0x62, a, b, c, d]
}

/// Both ends at once, the other one in the Pod's namespace from its first moment.
pub(super) fn pair(name: &str, peer_name: &str, address: Ipv4Addr, namespace: RawFd, mtu: u32) -> Message {
    let mut peer = LinkMessage::default();
    peer.attributes = vec![
        LinkAttribute::IfName(peer_name.to_owned()),
        LinkAttribute::Address(pod_hardware(address).to_vec()),
        LinkAttribute::Mtu(mtu),
        LinkAttribute::NetNsFd(namespace),
    ];
    let mut link = LinkMessage::default();
    link.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::Address(HOST_HARDWARE.to_vec()),
        LinkAttribute::Mtu(mtu),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]),
    ];
    message(RouteNetlinkMessage::NewLink(link), CREATE | EXCLUSIVE)
}

/// Writes down whose a link is.
pub(super) fn owned(index: u32, owner: &str) -> Message {
    let mut link = link(index);
    link.attributes = vec![LinkAttribute::IfAlias(owner.to_owned())];
    message(RouteNetlinkMessage::SetLink(link), 0)
}

/// Brings a link up that neither asks nor answers who has an address.
pub(super) fn silent(index: u32) -> Message {
    let mut link = link(index);
    link.header.flags = LinkFlags::Up | LinkFlags::Noarp;
    link.header.change_mask = LinkFlags::Up | LinkFlags::Noarp;
    message(RouteNetlinkMessage::SetLink(link), 0)
}

pub(super) fn up(index: u32) -> Message {
    let mut link = link(index);
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    message(RouteNetlinkMessage::SetLink(link), 0)
}

pub(super) fn remove_link(name: &str) -> Message {
    let mut link = LinkMessage::default();
    link.attributes = vec![LinkAttribute::IfName(name.to_owned())];
    message(RouteNetlinkMessage::DelLink(link), 0)
}

pub(super) fn address(index: u32, address: Ipv4Addr) -> Message {
    message(RouteNetlinkMessage::NewAddress(address_message(index, address)), CREATE | REPLACE)
}

pub(super) fn remove_address(index: u32, address: Ipv4Addr) -> Message {
    message(RouteNetlinkMessage::DelAddress(address_message(index, address)), 0)
}

/// One that stays whatever anybody says.
pub(super) fn neighbour(index: u32, address: Ipv4Addr, hardware: [u8; 6]) -> Message {
    let mut neighbour = NeighbourMessage::default();
    neighbour.header.family = AddressFamily::Inet;
    neighbour.header.ifindex = index;
    neighbour.header.state = NeighbourState::Permanent;
    neighbour.attributes = vec![
        NeighbourAttribute::Destination(NeighbourAddress::Inet(address)),
        NeighbourAttribute::LinkLayerAddress(hardware.to_vec()),
    ];
    message(RouteNetlinkMessage::NewNeighbour(neighbour), CREATE | REPLACE)
}

/// The host speaks to Pods with its address among them.
pub(super) fn route_to_pod(index: u32, address: Ipv4Addr, node: Ipv4Addr) -> Message {
    let mut route = route(index, RouteScope::Link);
    route.header.destination_prefix_length = 32;
    route.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(address)));
    route.attributes.push(RouteAttribute::PrefSource(RouteAddress::Inet(node)));
    message(RouteNetlinkMessage::NewRoute(route), CREATE | REPLACE)
}

/// The gateway is at the other end of the link, though no address says so.
pub(super) fn default_route(index: u32, gateway: Ipv4Addr) -> Message {
    let mut route = route(index, RouteScope::Universe);
    route.header.flags = RouteFlags::Onlink;
    route.attributes.push(RouteAttribute::Gateway(RouteAddress::Inet(gateway)));
    message(RouteNetlinkMessage::NewRoute(route), CREATE | REPLACE)
}

pub(super) fn find_link(name: &str) -> Message {
    let mut link = LinkMessage::default();
    link.attributes = vec![LinkAttribute::IfName(name.to_owned())];
    message(RouteNetlinkMessage::GetLink(link), 0)
}

pub(super) fn list_links() -> Message {
    message(RouteNetlinkMessage::GetLink(LinkMessage::default()), 0)
}

pub(super) fn list_routes() -> Message {
    let mut route = RouteMessage::default();
    route.header.address_family = AddressFamily::Inet;
    message(RouteNetlinkMessage::GetRoute(route), 0)
}

pub(super) fn list_addresses() -> Message {
    let mut address = AddressMessage::default();
    address.header.family = AddressFamily::Inet;
    message(RouteNetlinkMessage::GetAddress(address), 0)
}

fn link(index: u32) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link
}

fn address_message(index: u32, address: Ipv4Addr) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = 32;
    message.header.index = index;
    message.attributes =
        vec![AddressAttribute::Local(IpAddr::V4(address)), AddressAttribute::Address(IpAddr::V4(address))];
    message
}

fn route(index: u32, scope: RouteScope) -> RouteMessage {
    let mut route = RouteMessage::default();
    route.header.address_family = AddressFamily::Inet;
    route.header.table = RouteHeader::RT_TABLE_MAIN;
    route.header.protocol = PROTOCOL;
    route.header.scope = scope;
    route.header.kind = RouteType::Unicast;
    route.attributes = vec![RouteAttribute::Oif(index)];
    route
}

fn message(content: RouteNetlinkMessage, flags: u16) -> Message {
    let mut payload = vec![0; content.buffer_len()];
    content.serialize(&mut payload);
    Message { kind: content.message_type(), flags: flags | REQUEST | ACKNOWLEDGE, payload }
}
