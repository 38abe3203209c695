//! What whoever starts the node decides about it.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use asb_core::network::cidr::Cidr;
use asb_core::pod::support::Allowances;

use crate::carried::Carried;
use crate::images;
use crate::shim::client::Program;

#[derive(Clone, Debug)]
pub struct Settings {
    /// Where everything of the node is kept: `<data>/node`.
    pub root: PathBuf,
    /// What the Node is called.
    pub name: String,
    /// What Pods may do beyond the usual.
    pub allow: Allowances,
    pub images: images::Settings,
    /// The addresses of Pods; without it, a range is chosen that the machine does not use.
    pub pods: Option<Cidr>,
    /// Where the API server listens, which Pods may be let to.
    pub api: SocketAddr,
    /// How the shim of a Pod is started.
    pub shim: Program,
    /// What Sandboxes that ask for sandboxd get.
    pub carried: Option<Carried>,
    /// OCI runtime programs by the handlers of RuntimeClasses, besides those that are found.
    pub runtimes: BTreeMap<String, PathBuf>,
    /// How old a token of a ServiceAccount gets in a Pod before it is replaced, however long it holds.
    pub token_age: Duration,
}

/// A day, as with kubelets.
pub const TOKEN_AGE: Duration = Duration::from_hours(24);

/// The domain of names in the cluster.
pub const DOMAIN: &str = "cluster.local";

/// The addresses of Services, as the embedded API server gives them out.
pub const SERVICES: Cidr = Cidr::new(Ipv4Addr::new(10, 96, 0, 0), 16);
