//! Pods' links: pairs of interfaces, one end in the Pod, the other on the host, with a route for the Pod's address alone.
//!
//! There is no bridge and no ARP: each end knows the other's hardware address from the beginning, and the host's end hears
//! none of what the Pod claims about addresses.

mod listing;
mod messages;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use asb_core::network::cidr::Cidr;
use asb_core::network::member::{interface, is_interface};
use asb_core::object::Uid;
use netlink_sys::protocols::NETLINK_ROUTE;
use rustix::io::Errno;

use listing::{Interface, Route};

use super::namespaces::{self, NamespaceError};
use super::netlink::{Message, Netlink, NetlinkError};
use super::sysctl::{self, SysctlError};

/// What a Pod calls its end.
const POD_INTERFACE: &str = "eth0";
const LOOPBACK: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("cannot {0}")]
    Kernel(&'static str, #[source] NetlinkError),
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("the interface {interface} belongs to the Pod {owner}")]
    Taken { interface: String, owner: Uid },
    #[error("the interface {0} is not there")]
    Missing(String),
}

/// One link of ours, as the kernel lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    pub interface: String,
    /// Whose it says it is; nothing if its making was cut off.
    pub owner: Option<Uid>,
    /// Routes that lead there.
    pub addresses: BTreeSet<Ipv4Addr>,
}

/// An interface with a way to everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uplink {
    pub interface: String,
    pub mtu: u32,
}

pub(super) struct Links {
    netlink: Netlink,
    prefix: String,
    node: Ipv4Addr,
}

impl Links {
    pub(super) fn open(prefix: &str, node: Ipv4Addr) -> Result<Self, LinkError> {
        let netlink =
            Netlink::open(NETLINK_ROUTE).map_err(|error| LinkError::Kernel("speak of links", error))?;
        Ok(Self { netlink, prefix: prefix.to_owned(), node })
    }

    /// Gives the host its address among Pods. It is on the loopback: there whether or not there is any Pod.
    pub(super) fn add_node_address(&mut self) -> Result<(), LinkError> {
        let up = messages::up(LOOPBACK);
        self.ask("bring up the loopback", &[up, messages::address(LOOPBACK, self.node)])
    }

    pub(super) fn remove_node_address(&mut self) -> Result<(), LinkError> {
        match self.netlink.send(&[messages::remove_address(LOOPBACK, self.node)]) {
            Err(error) if error.is(Errno::ADDRNOTAVAIL) => Ok(()),
            answer => answer.map_err(|error| LinkError::Kernel("remove the node's address", error)),
        }
    }

    /// Connects a Pod. What is left of an attempt that was cut off is replaced.
    pub(super) fn attach(
        &mut self,
        uid: &Uid,
        address: Ipv4Addr,
        namespace: &OwnedFd,
        mtu: u32,
    ) -> Result<(), LinkError> {
        let name = interface(&self.prefix, uid);
        let pair = messages::pair(&name, POD_INTERFACE, address, namespace.as_fd().as_raw_fd(), mtu);
        match self.netlink.send(std::slice::from_ref(&pair)) {
            Err(error) if error.is(Errno::EXIST) => {
                self.is_free_for(&name, uid)?;
                self.detach(uid)?;
                self.ask("make a link", &[pair])?;
            }
            answer => answer.map_err(|error| LinkError::Kernel("make a link", error))?,
        }
        sysctl::guard_link(&name)?;
        let index = self.index(&name)?;
        let host = [
            messages::owned(index, uid.as_str()),
            messages::silent(index),
            messages::neighbour(index, address, messages::pod_hardware(address)),
            messages::route_to_pod(index, address, self.node),
        ];
        self.ask("connect the host's end of a link", &host)?;
        let node = self.node;
        namespaces::within(namespace, || settle_pod(address, node))?
    }

    /// Two Pods may have the same name for their links, though hardly ever. The second does not start.
    fn is_free_for(&mut self, name: &str, uid: &Uid) -> Result<(), LinkError> {
        let held = self.list()?.into_iter().find(|link| link.interface == name).and_then(|link| link.owner);
        match held {
            Some(owner) if owner != *uid => Err(LinkError::Taken { interface: name.to_owned(), owner }),
            _ => Ok(()),
        }
    }

    /// Takes a Pod's link away, and with it its routes and neighbours. The kernel takes some 20 ms for it.
    pub(super) fn detach(&mut self, uid: &Uid) -> Result<(), LinkError> {
        self.remove(&interface(&self.prefix, uid))
    }

    pub(super) fn remove(&mut self, name: &str) -> Result<(), LinkError> {
        match self.netlink.send(&[messages::remove_link(name)]) {
            Err(error) if error.is(Errno::NODEV) => Ok(()),
            answer => answer.map_err(|error| LinkError::Kernel("remove a link", error)),
        }
    }

    /// All links whose names begin as ours do.
    pub(super) fn list(&mut self) -> Result<Vec<Link>, LinkError> {
        let routes = self.routes()?;
        let links = self.interfaces()?.into_iter().filter(|link| is_interface(&self.prefix, &link.name));
        let links = links.map(|link| {
            let to_it = routes.iter().filter(|route| route.out == Some(link.index));
            let addresses = to_it.map(|route| route.to.first()).collect();
            Link { interface: link.name, owner: link.alias.as_deref().map(Uid::from), addresses }
        });
        Ok(links.collect())
    }

    /// Where the default routes lead.
    pub(super) fn uplinks(&mut self) -> Result<Vec<Uplink>, LinkError> {
        let routes = self.routes()?;
        let defaults = routes.iter().filter(|route| route.to.length() == 0);
        let defaults: BTreeSet<_> = defaults.filter_map(|route| route.out).collect();
        let links = self.interfaces()?.into_iter().filter(|link| defaults.contains(&link.index));
        Ok(links.map(|link| Uplink { interface: link.name, mtu: link.mtu }).collect())
    }

    /// Addresses and routes of this host that are not ours.
    pub(super) fn in_use(&mut self) -> Result<Vec<Cidr>, LinkError> {
        let ours: BTreeSet<_> =
            self.list()?.into_iter().flat_map(|link| link.addresses).chain([self.node]).collect();
        let routes = self.routes()?.into_iter().map(|route| route.to);
        let addresses = self.dump(&messages::list_addresses(), "list addresses", listing::address)?;
        let all = routes.chain(addresses);
        Ok(all.filter(|block| block.length() < 32 || !ours.contains(&block.first())).collect())
    }

    fn index(&mut self, name: &str) -> Result<u32, LinkError> {
        let failed = |error| LinkError::Kernel("find a link", error);
        index(&mut self.netlink, name).map_err(failed)?.ok_or_else(|| LinkError::Missing(name.to_owned()))
    }

    fn interfaces(&mut self) -> Result<Vec<Interface>, LinkError> {
        self.dump(&messages::list_links(), "list links", listing::interface)
    }

    fn routes(&mut self) -> Result<Vec<Route>, LinkError> {
        self.dump(&messages::list_routes(), "list routes", listing::route)
    }

    /// What the reader takes of the answers; the rest is about something else.
    fn dump<T>(
        &mut self,
        request: &Message,
        what: &'static str,
        read: fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, LinkError> {
        let listed = self.netlink.dump(request).map_err(|error| LinkError::Kernel(what, error))?;
        Ok(listed.iter().filter_map(|message| read(&message.payload)).collect())
    }

    fn ask(&mut self, what: &'static str, messages: &[Message]) -> Result<(), LinkError> {
        self.netlink.send(messages).map_err(|error| LinkError::Kernel(what, error))
    }
}

/// In the Pod: an address, and one way for everything.
fn settle_pod(address: Ipv4Addr, node: Ipv4Addr) -> Result<(), LinkError> {
    sysctl::settle_pod()?;
    let failed = |error| LinkError::Kernel("connect the Pod's end of a link", error);
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed)?;
    let index = index(&mut netlink, POD_INTERFACE).map_err(failed)?;
    let index = index.ok_or_else(|| LinkError::Missing(POD_INTERFACE.to_owned()))?;
    let steps = [
        messages::up(LOOPBACK),
        messages::address(index, address),
        messages::up(index),
        messages::neighbour(index, node, messages::HOST_HARDWARE),
        messages::default_route(index, node),
    ];
    netlink.send(&steps).map_err(failed)
}

fn index(netlink: &mut Netlink, name: &str) -> Result<Option<u32>, NetlinkError> {
    let found = netlink.fetch(&messages::find_link(name))?;
    Ok(listing::interface(&found.payload).map(|interface| interface.index))
}
