//! Where images of a registry are to be had on this machine: mirrors first, then the registry, and how far each is
//! trusted.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::super::reference::Reference;
use super::retry::Retry;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Settings {
    /// By host and port, as references name them: `docker.io`, `registry.example:5000`.
    pub registries: BTreeMap<String, Registry>,
    /// How many layers of an image are fetched and unpacked at the same time.
    pub parallel_layers: usize,
    pub retry: Retry,
    /// How long to wait for a connection, and for the next bytes of an answer.
    pub connect_seconds: u64,
    pub stall_seconds: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Registry {
    /// Tried in this order before the registry itself.
    pub mirrors: Vec<Mirror>,
    /// Verified, but for registries on this machine itself, which are spoken to plainly.
    pub security: Option<Security>,
    /// Certificates to trust besides the machine's own, as PEM.
    pub authorities: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mirror {
    pub address: Address,
    /// An address with `http` needs to say so here too.
    #[serde(default)]
    pub security: Option<Security>,
    #[serde(default)]
    pub authorities: Option<PathBuf>,
}

/// `https://host:port/path`, of which only the host is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address {
    host: String,
    path: String,
}

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no address of a registry: a host, with a port and a path if needed")]
pub struct InvalidAddress(String);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Security {
    /// HTTPS, and the certificate must be good.
    #[default]
    Verified,
    /// HTTPS with whatever certificate.
    Unverified,
    /// HTTP.
    Plain,
}

/// One place to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub host: String,
    /// Before `/v2`.
    pub path: String,
    pub security: Security,
    pub authorities: Option<PathBuf>,
    /// Which registry a mirror is asked to stand for.
    pub stands_for: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            registries: BTreeMap::new(),
            parallel_layers: 3,
            retry: Retry::default(),
            connect_seconds: 30,
            stall_seconds: 60,
        }
    }
}

impl Settings {
    /// Where to ask for an image, in this order.
    pub fn endpoints(&self, reference: &Reference) -> Vec<Endpoint> {
        let name = reference.registry();
        let nothing = Registry::default();
        let registry = self.registries.get(name).unwrap_or(&nothing);
        let mirrors = registry.mirrors.iter().map(|mirror| Endpoint {
            host: mirror.address.host.clone(),
            path: mirror.address.path.clone(),
            security: mirror.security.unwrap_or_else(|| usual(&mirror.address.host)),
            authorities: mirror.authorities.clone(),
            stands_for: Some(name.to_owned()),
        });
        let origin = Endpoint {
            // The name of the hub is not that of its server.
            host: if name == "docker.io" { "registry-1.docker.io".to_owned() } else { name.to_owned() },
            path: String::new(),
            security: registry.security.unwrap_or_else(|| usual(name)),
            authorities: registry.authorities.clone(),
            stands_for: None,
        };
        mirrors.chain([origin]).collect()
    }
}

impl Endpoint {
    pub fn scheme(&self) -> &'static str {
        if self.security == Security::Plain { "http" } else { "https" }
    }
}

/// What never leaves the machine needs no protection on the way.
fn usual(host: &str) -> Security {
    let name = host.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_here = name == "localhost" || address.is_ok_and(|address| address.is_loopback());
    if is_here { Security::Plain } else { Security::Verified }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let invalid = || InvalidAddress(text.to_owned());
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
        let uri: http::Uri = format!("https://{rest}").parse().map_err(|_| invalid())?;
        let authority = uri.authority().filter(|it| !it.as_str().contains('@')).ok_or_else(invalid)?;
        if uri.query().is_some() {
            return Err(invalid());
        }
        let path = uri.path().trim_end_matches('/');
        let path = path.strip_suffix("/v2").unwrap_or(path);
        Ok(Self { host: authority.to_string(), path: path.to_owned() })
    }
}

impl TryFrom<String> for Address {
    type Error = InvalidAddress;

    fn try_from(text: String) -> Result<Self, InvalidAddress> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.host + &address.path
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn endpoints(settings: serde_json::Value, name: &str) -> Vec<String> {
        let settings: Settings = serde_json::from_value(settings).unwrap();
        let show = |it: Endpoint| {
            format!("{:?} {}{} for {}", it.security, it.host, it.path, it.stands_for.unwrap_or_default())
        };
        settings.endpoints(&name.parse().unwrap()).into_iter().map(show).collect()
    }

    #[test]
    fn without_settings_the_registry_itself_is_asked() {
        assert_eq!(endpoints(json!({}), "busybox"), ["Verified registry-1.docker.io for "]);
        assert_eq!(endpoints(json!({}), "a.b:5000/c"), ["Verified a.b:5000 for "]);
    }

    #[test]
    fn registries_on_this_machine_are_spoken_to_plainly_unless_told_otherwise() {
        for host in ["localhost", "localhost:5000", "127.0.0.1:5000", "127.1.2.3:5000", "[::1]:5000"] {
            assert_eq!(endpoints(json!({}), &format!("{host}/c")), [format!("Plain {host} for ")]);
        }
        let settings = json!({"registries": {"localhost": {"security": "verified"}}});
        assert_eq!(endpoints(settings, "localhost/c"), ["Verified localhost for "]);
    }

    #[test]
    fn mirrors_come_first_and_know_what_they_stand_for() {
        let settings = json!({"registries": {"docker.io": {"mirrors": [
            {"address": "https://mirror.example/hub/v2/"},
            {"address": "10.0.0.1:5000", "security": "plain"},
        ]}}});
        assert_eq!(
            endpoints(settings, "busybox"),
            [
                "Verified mirror.example/hub for docker.io",
                "Plain 10.0.0.1:5000 for docker.io",
                "Verified registry-1.docker.io for ",
            ]
        );
    }

    #[test]
    fn mistakes_in_settings_are_refused() {
        for settings in [
            json!({"registry": {}}),
            json!({"registries": {"a": {"insecure": true}}}),
            json!({"registries": {"a": {"mirrors": [{"address": "https://user:pass@a.b"}]}}}),
            json!({"registries": {"a": {"mirrors": [{"address": "a b"}]}}}),
            json!({"registries": {"a": {"mirrors": [{"address": "a?b"}]}}}),
        ] {
            assert!(serde_json::from_value::<Settings>(settings.clone()).is_err(), "{settings}");
        }
    }
}
