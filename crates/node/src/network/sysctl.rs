//! Settings of the network namespace that the calling thread is in.

use std::fs;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
#[error("cannot set {path} to {value}")]
pub struct SysctlError {
    path: String,
    value: String,
    #[source]
    reason: io::Error,
}

/// `ipv4/ip_forward` and the like.
pub(super) fn set(name: &str, value: &str) -> Result<(), SysctlError> {
    let error = |reason| SysctlError { path: format!("net/{name}"), value: value.to_owned(), reason };
    fs::write(path(name), value).map_err(error)
}

/// Sets what this kernel has, and is silent about what it has not.
pub(super) fn set_if_there(name: &str, value: &str) -> Result<(), SysctlError> {
    if path(name).exists() { set(name, value) } else { Ok(()) }
}

pub(super) fn is_on(name: &str) -> bool {
    fs::read_to_string(path(name)).is_ok_and(|value| value.trim() == "1")
}

fn path(name: &str) -> PathBuf {
    PathBuf::from("/proc/sys/net").join(name)
}

/// The host's end of a Pod's link: forwards what the Pod sends, takes no address for granted, knows no IPv6.
pub(super) fn guard_link(interface: &str) -> Result<(), SysctlError> {
    let settings = [
        ("forwarding", "1"),
        ("rp_filter", "1"),
        ("accept_local", "0"),
        ("accept_redirects", "0"),
        ("accept_source_route", "0"),
        ("send_redirects", "0"),
        ("route_localnet", "0"),
        ("proxy_arp", "0"),
        ("arp_ignore", "8"),
    ];
    for (setting, value) in settings {
        set(&format!("ipv4/conf/{interface}/{setting}"), value)?;
    }
    set_if_there(&format!("ipv6/conf/{interface}/disable_ipv6"), "1")
}

/// A Pod's own side: no IPv6. What else there is to set is the Pod's choice, and was set with its namespaces.
pub(super) fn settle_pod() -> Result<(), SysctlError> {
    set_if_there("ipv6/conf/all/disable_ipv6", "1")?;
    set_if_there("ipv6/conf/default/disable_ipv6", "1")
}
