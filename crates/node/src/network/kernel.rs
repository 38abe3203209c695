//! What is done in the kernel, step by step. Blocks; [`super::Network`] keeps it off other people's threads.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::thread;

use asb_core::network::cidr::Cidr;
use asb_core::network::member::interface;
use asb_core::network::rules::RuleSet;
use asb_core::object::Uid;

use super::connections::Connections;
use super::links::{Link, LinkError, Links, Uplink};
use super::netlink::NetlinkError;
use super::nftables::{Listed, Table};
use super::sysctl::{self, SysctlError};

const USUAL_MTU: u32 = 1500;

#[derive(Clone, Debug)]
pub struct Options {
    /// The name of our table.
    pub table: String,
    /// How the names of our links begin.
    pub prefix: String,
    /// The host's address among Pods.
    pub node: Ipv4Addr,
}

#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("cannot change the rules for packets")]
    Rules(#[source] NetlinkError),
    #[error("cannot forget connections")]
    Connections(#[source] NetlinkError),
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
    #[error("cannot start a thread for the network")]
    Thread(#[source] io::Error),
    #[error("the network has ended")]
    Ended,
}

/// What is ours in the kernel, with its owners.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    pub links: Vec<Link>,
    pub elements: Vec<Listed>,
}

pub struct Kernel {
    options: Options,
    links: Links,
    table: Table,
    leaving: mpsc::Sender<Leaving>,
    /// Whose links may still be there, and which addresses may still have connections.
    left: (BTreeSet<Uid>, BTreeSet<Ipv4Addr>),
    mtu: u32,
}

/// What the thread that takes links away is told.
enum Leaving {
    Link(Uid, Option<Ipv4Addr>),
    Connections(Vec<Ipv4Addr>),
    /// Answered when all before are gone.
    Mark(mpsc::Sender<()>),
}

/// Addresses and routes of this host that the range of Pods must avoid. A range that was chosen is to be kept: the next
/// start would find the host's address in it and avoid that.
pub fn in_use(prefix: &str) -> Result<Vec<Cidr>, NetworkError> {
    Ok(Links::open(prefix, Ipv4Addr::UNSPECIFIED)?.in_use()?)
}

impl Kernel {
    pub fn open(options: Options) -> Result<Self, NetworkError> {
        let links = Links::open(&options.prefix, options.node)?;
        let leaver = Links::open(&options.prefix, options.node)?;
        let connections = Connections::open().map_err(NetworkError::Connections)?;
        Ok(Self {
            links,
            table: Table::open(&options.table).map_err(NetworkError::Rules)?,
            leaving: start_leaver(leaver, connections)?,
            left: (BTreeSet::new(), BTreeSet::new()),
            mtu: USUAL_MTU,
            options,
        })
    }

    /// Gives the host its address among Pods, and lets answers to them in.
    ///
    /// On a host that forwards nothing, forwarding is switched on for the interfaces with a default route, and these are
    /// returned: rules must keep them from forwarding for anybody else. The setting of the whole host is left alone.
    pub fn prepare(&mut self) -> Result<Vec<Uplink>, NetworkError> {
        self.links.add_node_address()?;
        let uplinks = self.links.uplinks()?;
        self.mtu = uplinks.iter().map(|uplink| uplink.mtu).min().unwrap_or(USUAL_MTU);
        if sysctl::is_on("ipv4/ip_forward") {
            return Ok(Vec::new());
        }
        for uplink in &uplinks {
            sysctl::set(&format!("ipv4/conf/{}/forwarding", uplink.interface), "1")?;
        }
        Ok(uplinks)
    }

    pub fn apply(&mut self, rules: RuleSet) -> Result<(), NetworkError> {
        self.table.apply(rules).map_err(NetworkError::Rules)
    }

    pub fn attach(&mut self, uid: &Uid, address: Ipv4Addr, namespace: &OwnedFd) -> Result<(), NetworkError> {
        if self.left.0.contains(uid) || self.left.1.contains(&address) {
            self.settle()?;
        }
        Ok(self.links.attach(uid, address, namespace, self.mtu)?)
    }

    pub fn detach(&mut self, uid: &Uid, address: Option<Ipv4Addr>) -> Result<(), NetworkError> {
        self.left.0.insert(uid.clone());
        self.left.1.extend(address);
        self.leaving.send(Leaving::Link(uid.clone(), address)).map_err(|_| NetworkError::Ended)
    }

    /// Waits until the links of all who were detached are gone.
    pub fn settle(&mut self) -> Result<(), NetworkError> {
        let (mark, reached) = mpsc::channel();
        self.leaving.send(Leaving::Mark(mark)).map_err(|_| NetworkError::Ended)?;
        reached.recv().map_err(|_| NetworkError::Ended)?;
        self.left = (BTreeSet::new(), BTreeSet::new());
        Ok(())
    }

    pub fn census(&mut self) -> Result<Census, NetworkError> {
        self.settle()?;
        let elements = self.table.list().map_err(NetworkError::Rules)?;
        Ok(Census { links: self.links.list()?, elements })
    }

    pub fn sweep(&mut self, known: &BTreeSet<Uid>) -> Result<Vec<Link>, NetworkError> {
        self.settle()?;
        let names: BTreeMap<_, _> =
            known.iter().map(|uid| (interface(&self.options.prefix, uid), uid)).collect();
        let strangers = self.links.list()?.into_iter().filter(|link| !names.contains_key(&link.interface));
        let strangers: Vec<_> = strangers.collect();
        for link in &strangers {
            self.links.remove(&link.interface)?;
        }
        let addresses: Vec<_> = strangers.iter().flat_map(|link| link.addresses.iter().copied()).collect();
        self.leaving.send(Leaving::Connections(addresses)).map_err(|_| NetworkError::Ended)?;
        self.settle()?;
        Ok(strangers)
    }

    /// Removes one link of ours by its name.
    pub fn remove_link(&mut self, interface: &str) -> Result<(), NetworkError> {
        Ok(self.links.remove(interface)?)
    }

    /// Removes what rules say of somebody, by the remark.
    pub fn remove_elements(&mut self, remark: &str) -> Result<(), NetworkError> {
        let listed = self.table.list().map_err(NetworkError::Rules)?;
        let theirs = listed.iter().filter(|element| element.remark == remark);
        theirs
            .into_iter()
            .try_for_each(|element| self.table.remove_element(element))
            .map_err(NetworkError::Rules)
    }

    /// Removes our table alone. Links that stay are open to everybody whom the host forwards for.
    pub fn clear_rules(&mut self) -> Result<(), NetworkError> {
        self.table.remove().map_err(NetworkError::Rules)
    }

    pub fn clear(&mut self) -> Result<(), NetworkError> {
        self.sweep(&BTreeSet::new())?;
        self.clear_rules()?;
        Ok(self.links.remove_node_address()?)
    }
}

fn start_leaver(
    mut links: Links,
    mut connections: Connections,
) -> Result<mpsc::Sender<Leaving>, NetworkError> {
    let (leaving, told) = mpsc::channel();
    let work = move || {
        while let Ok(first) = told.recv() {
            let tasks: Vec<_> = [first].into_iter().chain(told.try_iter()).collect();
            leave(&mut links, &mut connections, tasks);
        }
    };
    thread::Builder::new().name("network-leave".to_owned()).spawn(work).map_err(NetworkError::Thread)?;
    Ok(leaving)
}

/// Links first: what is gone makes no more connections. These are looked through once for all who leave together.
fn leave(links: &mut Links, connections: &mut Connections, tasks: Vec<Leaving>) {
    let (mut addresses, mut marks) = (Vec::new(), Vec::new());
    for task in tasks {
        match task {
            Leaving::Link(uid, address) => {
                addresses.extend(address);
                if let Err(error) = links.detach(&uid) {
                    tracing::warn!(%error, %uid, "a link stays until the next sweep");
                }
            }
            Leaving::Connections(more) => addresses.extend(more),
            Leaving::Mark(reached) => marks.push(reached),
        }
    }
    if !addresses.is_empty()
        && let Err(error) = connections.forget(&addresses)
    {
        tracing::warn!(%error, "connections stay until they time out");
    }
    for reached in marks {
        // Whoever waited may have given up.
        let _ = reached.send(());
    }
}
