//! What a request says about the Sandbox that it is for: by headers, as SDKs do, by host name or by path, as browsers can.

use std::net::IpAddr;
use std::time::Duration;

use crate::object::Key;

const DEFAULT_NAMESPACE: &str = "default";
const DEFAULT_PORT: u16 = 8888;

/// Below this, paths name a Sandbox: `/sandboxes/<namespace>/<name>/<port>/…`.
const PREFIX: &str = "/sandboxes/";

/// The parts of a request that matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// `X-Sandbox-ID`.
    pub id: Field<'a>,
    /// `X-Sandbox-Namespace`.
    pub namespace: Field<'a>,
    /// `X-Sandbox-Port`.
    pub port: Field<'a>,
    /// `X-Sandbox-Pod-IP`.
    pub pod_ip: Field<'a>,
    /// `X-Sandbox-UID`.
    pub uid: Field<'a>,
    /// `X-Sandbox-Timeout`.
    pub timeout: Field<'a>,
    /// The host that was asked for, with or without a port.
    pub host: Option<&'a str>,
    /// The path as it was sent, escapes and all.
    pub path: &'a str,
    /// The domain below which host names are Sandboxes.
    pub domain: Option<&'a str>,
}

/// A header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field<'a> {
    #[default]
    Absent,
    One(&'a str),
    /// Several, or no text: whoever reads another of them than we do would reach another Sandbox.
    Unclear,
}

/// The Sandbox, the port in it, and how long its answer may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub named: Named,
    pub port: u16,
    /// Where the client believes it to be.
    pub pod_ip: Option<IpAddr>,
    pub uid: Option<String>,
    pub timeout: Option<Duration>,
    /// What is left of the path where its beginning named the Sandbox.
    pub path: Option<String>,
}

/// How it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    Exactly(Key),
    /// `<sandbox>-<namespace>`, where both may have hyphens: all that it can mean.
    Either(Vec<Key>),
}

/// What is wrong, in the words of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    #[error("X-Sandbox-ID header is required.")]
    NoId,
    #[error("Invalid sandbox ID format.")]
    Id,
    #[error("Invalid namespace format.")]
    Namespace,
    #[error("Invalid port format.")]
    Port,
    #[error("Invalid target IP address.")]
    Ip,
    #[error("Invalid sandbox UID format.")]
    Uid,
    #[error("Invalid timeout format.")]
    Timeout,
}

impl Wanted {
    /// Headers count first, then the host name, then the path.
    pub fn of(asked: &Asked<'_>) -> Result<Self, Bad> {
        if asked.id != Field::Absent {
            return by_headers(asked);
        }
        if let Some(wanted) = by_host(asked)? {
            return Ok(wanted);
        }
        by_path(asked)?.ok_or(Bad::NoId)
    }

    /// As people write it in a message.
    pub fn id(&self) -> &str {
        match &self.named {
            Named::Exactly(key) => &key.name,
            Named::Either(keys) => keys.first().map_or("", |key| &key.name),
        }
    }
}

fn by_headers(asked: &Asked<'_>) -> Result<Wanted, Bad> {
    let name = text(asked.id, Bad::Id)?.unwrap_or_default();
    let namespace = text(asked.namespace, Bad::Namespace)?.unwrap_or(DEFAULT_NAMESPACE);
    let port = text(asked.port, Bad::Port)?.map_or(Ok(DEFAULT_PORT), port)?;
    let named = Named::Exactly(key(namespace, name)?);
    Ok(Wanted { named, port, path: None, ..hints(asked)? })
}

fn by_host(asked: &Asked<'_>) -> Result<Option<Wanted>, Bad> {
    let (Some(host), Some(domain)) = (asked.host, asked.domain) else { return Ok(None) };
    let Some(label) = below(host, domain) else { return Ok(None) };
    let (number, rest) = label.split_once('-').ok_or(Bad::Id)?;
    let splits = rest.match_indices('-').map(|(at, _)| (&rest[..at], &rest[at + 1..]));
    let keys: Vec<Key> = splits.filter_map(|(name, namespace)| key(namespace, name).ok()).collect();
    if keys.is_empty() {
        return Err(Bad::Id);
    }
    Ok(Some(Wanted { named: Named::Either(keys), port: port(number)?, path: None, ..hints(asked)? }))
}

/// What of a host name, as requests have it, stands before the domain; nothing where it is not below it.
pub fn below(host: &str, domain: &str) -> Option<String> {
    let host = host.rsplit_once(':').map_or(host, |(name, _)| name).to_ascii_lowercase();
    let label = host.strip_suffix(domain)?.strip_suffix('.')?;
    Some(label.to_owned())
}

fn by_path(asked: &Asked<'_>) -> Result<Option<Wanted>, Bad> {
    let Some(rest) = asked.path.strip_prefix(PREFIX) else { return Ok(None) };
    let mut parts = rest.splitn(4, '/');
    let mut next = || parts.next().unwrap_or_default();
    let (namespace, name, number, rest) = (next(), next(), next(), next());
    let named = Named::Exactly(key(namespace, name)?);
    Ok(Some(Wanted { named, port: port(number)?, path: Some(format!("/{rest}")), ..hints(asked)? }))
}

/// What may be said however the Sandbox is named.
fn hints(asked: &Asked<'_>) -> Result<Wanted, Bad> {
    let uid = text(asked.uid, Bad::Uid)?;
    if uid.is_some_and(|uid| uid.is_empty() || uid.len() > 64) {
        return Err(Bad::Uid);
    }
    Ok(Wanted {
        named: Named::Either(Vec::new()),
        port: DEFAULT_PORT,
        pod_ip: text(asked.pod_ip, Bad::Ip)?.map(address).transpose()?,
        uid: uid.map(str::to_owned),
        timeout: text(asked.timeout, Bad::Timeout)?.map(seconds).transpose()?,
        path: None,
    })
}

fn text(field: Field<'_>, bad: Bad) -> Result<Option<&str>, Bad> {
    match field {
        Field::Absent => Ok(None),
        Field::One(text) => Ok(Some(text)),
        Field::Unclear => Err(bad),
    }
}

fn key(namespace: &str, name: &str) -> Result<Key, Bad> {
    if !is_label(name) {
        return Err(Bad::Id);
    }
    if !is_label(namespace) {
        return Err(Bad::Namespace);
    }
    Ok(Key::new(namespace, name))
}

/// DNS-1123, up to 63 characters.
fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn port(text: &str) -> Result<u16, Bad> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = is_number.then(|| text.parse().ok()).flatten();
    port.filter(|port| *port != 0).ok_or(Bad::Port)
}

/// Nobody's Pod is at one of these, and something else may be.
pub(super) fn is_special(address: IpAddr) -> bool {
    let of_its_family = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    address.is_loopback() || address.is_unspecified() || address.is_multicast() || of_its_family
}

fn address(text: &str) -> Result<IpAddr, Bad> {
    let address: IpAddr = text.parse().map_err(|_| Bad::Ip)?;
    let address = address.to_canonical();
    if is_special(address) { Err(Bad::Ip) } else { Ok(address) }
}

fn seconds(text: &str) -> Result<Duration, Bad> {
    let seconds: f64 = text.trim().parse().map_err(|_| Bad::Timeout)?;
    let is_sensible = seconds.is_finite() && seconds > 0.0;
    is_sensible.then(|| Duration::try_from_secs_f64(seconds).ok()).flatten().ok_or(Bad::Timeout)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers<'a>(id: &'a str, namespace: Field<'a>, port: Field<'a>) -> Asked<'a> {
        Asked { id: Field::One(id), namespace, port, path: "/execute", ..Asked::default() }
    }

    fn named(namespace: &str, name: &str) -> Named {
        Named::Exactly(Key::new(namespace, name))
    }

    #[test]
    fn an_id_alone_means_port_8888_in_the_default_namespace() {
        let wanted = Wanted::of(&headers("box", Field::Absent, Field::Absent)).expect("clear");
        assert_eq!((wanted.named, wanted.port), (named("default", "box"), 8888));
    }

    #[test]
    fn bad_headers_are_refused_in_the_words_of_the_contract() {
        let said = |asked: Asked<'_>| Wanted::of(&asked).expect_err("bad").to_string();
        let (absent, one) = (Field::Absent, Field::One);
        assert_eq!(said(Asked { path: "/", ..Asked::default() }), "X-Sandbox-ID header is required.");
        for id in ["", "Box", "a.b", "-a", "a-", "a/b", "127.0.0.1", &"a".repeat(64)] {
            assert_eq!(said(headers(id, absent, absent)), "Invalid sandbox ID format.", "{id}");
        }
        assert_eq!(said(headers("a", one("x.y"), absent)), "Invalid namespace format.");
        for port in ["0", "65536", "-1", "+80", "8o", "", " 80"] {
            assert_eq!(said(headers("a", absent, one(port))), "Invalid port format.", "{port}");
        }
        for ip in [
            "127.0.0.1",
            "::1",
            "::ffff:127.0.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "224.0.0.1",
            "fe80::1",
            "x",
        ] {
            let asked = Asked { pod_ip: one(ip), ..headers("a", absent, absent) };
            assert_eq!(said(asked), "Invalid target IP address.", "{ip}");
        }
        for timeout in ["0", "-1", "nan", "inf", "soon", "1e400"] {
            let asked = Asked { timeout: one(timeout), ..headers("a", absent, absent) };
            assert_eq!(said(asked), "Invalid timeout format.", "{timeout}");
        }
    }

    #[test]
    fn a_header_that_is_there_twice_means_nothing() {
        let asked = Asked { id: Field::Unclear, path: "/", ..Asked::default() };
        assert_eq!(Wanted::of(&asked), Err(Bad::Id));
        assert_eq!(Wanted::of(&headers("a", Field::Unclear, Field::Absent)), Err(Bad::Namespace));
    }

    #[test]
    fn fractions_of_seconds_are_fine() {
        let asked = Asked { timeout: Field::One("12.5"), ..headers("a", Field::Absent, Field::Absent) };
        assert_eq!(Wanted::of(&asked).expect("clear").timeout, Some(Duration::from_millis(12_500)));
    }

    fn by_name(host: &str) -> Result<Wanted, Bad> {
        let domain = Some("boxes.test");
        Wanted::of(&Asked { host: Some(host), domain, path: "/a%2Fb", ..Asked::default() })
    }

    #[test]
    fn a_host_name_says_port_sandbox_and_namespace() {
        let wanted = by_name("3000-My-App-team.boxes.test:8080").expect("clear");
        let keys = vec![Key::new("app-team", "my"), Key::new("team", "my-app")];
        assert_eq!((wanted.named, wanted.port, wanted.path), (Named::Either(keys), 3000, None));
        assert_eq!(by_name("boxes.test"), Err(Bad::NoId), "it is the router's own");
        assert_eq!(by_name("x.other.test"), Err(Bad::NoId));
        assert_eq!(by_name("80-a.boxes.test"), Err(Bad::Id), "no namespace");
        assert_eq!(by_name("http-a-b.boxes.test"), Err(Bad::Port));
        assert_eq!(by_name("80-a-b.c.boxes.test"), Err(Bad::Id), "one label");
    }

    #[test]
    fn a_path_says_namespace_sandbox_and_port() {
        let by_path = |path| Wanted::of(&Asked { path, ..Asked::default() });
        let wanted = by_path("/sandboxes/team/box/3000/a%2Fb/../c").expect("clear");
        assert_eq!((wanted.named, wanted.port), (named("team", "box"), 3000));
        assert_eq!(wanted.path.as_deref(), Some("/a%2Fb/../c"), "as it came");
        assert_eq!(by_path("/sandboxes/team/box/3000").expect("clear").path.as_deref(), Some("/"));
        assert_eq!(by_path("/sandboxes/team/box"), Err(Bad::Port));
        assert_eq!(by_path("/sandboxes/team/%62ox/80/"), Err(Bad::Id));
        assert_eq!(by_path("/other"), Err(Bad::NoId));
    }
}
