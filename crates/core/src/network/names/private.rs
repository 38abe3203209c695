//! Names that mean something to the host's surroundings only.

/// Domains that are nobody's on the Internet.
const DOMAINS: [&str; 12] = [
    "local",
    "localhost",
    "localdomain",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
    "test",
    "invalid",
];
/// Reverse names of private and link-local addresses; those of 172.16.0.0/12 are asked for by number.
const REVERSE: [&str; 9] = [
    "10.in-addr.arpa",
    "127.in-addr.arpa",
    "168.192.in-addr.arpa",
    "254.169.in-addr.arpa",
    "c.f.ip6.arpa",
    "d.f.ip6.arpa",
    "8.e.f.ip6.arpa",
    "9.e.f.ip6.arpa",
    "a.e.f.ip6.arpa",
];

/// Whether a name would tell a Pod about the host's own network rather than about the Internet.
pub fn is_private(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_in =
        |domain: &str| name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.contains('.')
        || DOMAINS.into_iter().chain(REVERSE).any(is_in)
        || (16..32).any(|part| is_in(&format!("{part}.172.in-addr.arpa")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_neighbourhood_are_private_and_those_of_the_world_are_not() {
        for name in [
            "printer",
            "nas.local.",
            "db.Corp",
            "1.2.20.172.in-addr.arpa",
            "4.3.2.10.in-addr.arpa",
            "localhost",
        ] {
            assert!(is_private(name), "{name}");
        }
        for name in [
            "example.com.",
            "mylocal.example",
            "notlocal.org",
            "1.2.32.172.in-addr.arpa",
            "8.8.8.8.in-addr.arpa",
        ] {
            assert!(!is_private(name), "{name}");
        }
    }
}
