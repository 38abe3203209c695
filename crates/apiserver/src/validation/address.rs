//! Addresses and ranges of addresses, as strictly as Kubernetes takes them, and read as generously as it once did.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::at::At;

/// Addresses or ranges that an object had before, which may stay whatever they are.
pub(super) type Before<'v> = BTreeSet<&'v str>;

/// An address range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    fn mask(address: IpAddr, prefix: u8) -> IpAddr {
        match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(u32::from(32_u8.saturating_sub(prefix))).unwrap_or(0);
                Ipv4Addr::from(u32::from(address) & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(u32::from(128_u8.saturating_sub(prefix))).unwrap_or(0);
                Ipv6Addr::from(u128::from(address) & mask).into()
            }
        }
    }

    /// As it is written, once mapped addresses are taken for what they are and bits beyond the prefix are gone.
    pub(super) fn plain(self) -> String {
        format!("{}/{}", unmapped(Self::mask(self.address, self.prefix)), self.prefix)
    }

    /// The one address of it that was written, as a network of its own.
    pub(super) fn single(self) -> String {
        let bits = if self.is_v6() { 128 } else { 32 };
        format!("{}/{bits}", unmapped(self.address))
    }

    pub(super) fn is_mapped(self) -> bool {
        is_mapped(self.address)
    }

    pub(super) fn is_masked(self) -> bool {
        Self::mask(self.address, self.prefix) == self.address
    }

    pub(super) fn is_v6(self) -> bool {
        self.address.is_ipv6()
    }

    /// Whether the other network is a smaller part of this one.
    pub(super) fn strictly_contains(self, other: Self) -> bool {
        self.prefix < other.prefix
            && self.address.is_ipv4() == other.address.is_ipv4()
            && Self::mask(other.address, self.prefix) == Self::mask(self.address, self.prefix)
    }
}

impl At<'_, '_> {
    /// An address in a field that is older than the strict rules: what was there before may stay.
    pub(super) fn must_be_an_address(&self, before: &Before) {
        if before.contains(&self.text()) {
            return;
        }
        match sloppy_address(self.text()) {
            None => {
                self.invalid(self.text(), "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
            }
            Some(_) => match self.text().parse() {
                Err(_) => self.invalid(self.text(), "must not have leading 0s"),
                Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
                    self.invalid(self.text(), "must not be an IPv4-mapped IPv6 address");
                }
                Ok(_) => {}
            },
        }
    }

    /// An address in a newer field, in the one form that addresses have.
    pub(super) fn must_be_a_canonical_address(&self) {
        let before = self.reported();
        self.must_be_an_address(&Before::new());
        let Some(address) = sloppy_address(self.text()) else { return };
        if self.reported() == before && address.to_string() != self.text() {
            self.invalid(self.text(), format!("must be in canonical form (\"{address}\")"));
        }
    }

    /// A range of addresses; what was there before may stay.
    pub(super) fn must_be_a_network(&self, before: &Before) {
        self.must_be_network(self.text(), before);
    }

    pub(super) fn must_be_network(&self, text: &str, before: &Before) {
        if before.contains(&text) {
            return;
        }
        let message = match (sloppy_network(text), strict_network(text)) {
            (None, _) => "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            (_, None) => "must not have leading 0s in IP or prefix length",
            (_, Some(network)) if is_mapped(network.address) => "must not have an IPv4-mapped IPv6 address",
            (_, Some(network)) if !network.is_masked() => "must not have bits set beyond the prefix length",
            _ => return,
        };
        self.invalid(text, message);
    }

    /// An address that others can reach.
    pub(super) fn must_be_an_endpoint(&self) {
        let text = self.text();
        let Some(address) = sloppy_address(text).map(unmapped) else {
            return self.invalid(text, "must be a valid IP address");
        };
        if address.is_unspecified() {
            self.invalid(text, format!("may not be unspecified ({text})"));
        }
        if address.is_loopback() {
            self.invalid(text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
        }
        if is_link_local(address) {
            self.invalid(text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
        }
        if is_link_local_multicast(address) {
            self.invalid(text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
        }
    }
}

/// Whether there is one address or range of each family among them.
pub(super) fn is_dual_stack(families: impl Iterator<Item = Option<bool>>) -> bool {
    let (mut v4, mut v6) = (false, false);
    for family in families {
        v4 |= family == Some(false);
        v6 |= family == Some(true);
    }
    v4 && v6
}

pub(super) fn is_v6(text: &str) -> bool {
    family(text) == Some(true)
}

pub(super) fn is_v4(text: &str) -> bool {
    family(text) == Some(false)
}

/// Whether an address is one of IPv6; nothing if it is no address.
pub(super) fn family(text: &str) -> Option<bool> {
    sloppy_address(text).map(|address| unmapped(address).is_ipv6())
}

pub(super) fn unmapped(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4),
        v4 @ IpAddr::V4(_) => v4,
    }
}

pub(super) fn is_mapped(address: IpAddr) -> bool {
    unmapped(address) != address
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

/// Reads an address whose numbers may have zeros in front, as Kubernetes' server has always done.
pub(super) fn sloppy_address(text: &str) -> Option<IpAddr> {
    text.parse().ok().or_else(|| without_leading_zeros(text)?.parse().ok())
}

pub(super) fn sloppy_network(text: &str) -> Option<Network> {
    let (address, prefix) = text.split_once('/')?;
    let address = sloppy_address(address)?;
    network(address, prefix.parse().ok().filter(|_| prefix.bytes().all(|byte| byte.is_ascii_digit()))?)
}

pub(super) fn strict_network(text: &str) -> Option<Network> {
    let (address, prefix) = text.split_once('/')?;
    let plain = prefix == "0" || !prefix.starts_with('0') && prefix.bytes().all(|byte| byte.is_ascii_digit());
    network(address.parse().ok()?, prefix.parse().ok().filter(|_| plain)?)
}

fn network(address: IpAddr, prefix: u8) -> Option<Network> {
    let most = if address.is_ipv4() { 32 } else { 128 };
    (prefix <= most).then_some(Network { address, prefix })
}

/// The same address with its decimal numbers cut to the digits that count.
fn without_leading_zeros(text: &str) -> Option<String> {
    let start = text.rfind(':').map_or(0, |colon| colon + 1);
    let (front, numbers) = text.split_at(start);
    let mut plain = Vec::new();
    for number in numbers.split('.') {
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let cut = number.trim_start_matches('0');
        plain.push(if !digits {
            return None;
        } else if cut.is_empty() {
            "0"
        } else {
            cut
        });
    }
    Some(format!("{front}{}", plain.join(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_in_front_are_read_but_seen() {
        assert_eq!(sloppy_address("010.0.0.001"), "10.0.0.1".parse().ok());
        assert_eq!(sloppy_address("::ffff:010.0.0.1"), "::ffff:10.0.0.1".parse().ok());
        assert_eq!(sloppy_address("10.0.0"), None);
        assert!(sloppy_network("10.0.0.0/08").is_some() && strict_network("10.0.0.0/08").is_none());
        assert!(sloppy_network("10.0.0.0/33").is_none() && sloppy_network("10.0.0.0/+8").is_none());
    }

    #[test]
    fn a_network_contains_smaller_ones_of_its_family() {
        let network = |text| sloppy_network(text).unwrap();
        assert!(network("10.0.0.0/8").strictly_contains(network("10.1.0.0/16")));
        assert!(!network("10.0.0.0/8").strictly_contains(network("10.0.0.0/8")));
        assert!(!network("10.0.0.0/8").strictly_contains(network("11.0.0.0/16")));
        assert!(!network("0.0.0.0/0").strictly_contains(network("::/64")));
        assert!(network("::/0").strictly_contains(network("fe80::/10")));
    }
}
