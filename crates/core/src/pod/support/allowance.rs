//! What a Pod may do only where whoever started the node said so: each takes a layer of isolation away.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde_json::Value;

/// A word after `--allow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allowance {
    Privileged,
    PrivilegeEscalation,
    Capabilities,
    HostNetwork,
    /// Nobody asks for it: it comes with the host's network.
    HostPorts,
    HostIpc,
    HostPath,
    SeccompUnconfined,
    UnmaskedProc,
    UnsafeSysctls,
}

impl Allowance {
    pub const ALL: [Self; 10] = [
        Self::Privileged,
        Self::PrivilegeEscalation,
        Self::Capabilities,
        Self::HostNetwork,
        Self::HostPorts,
        Self::HostIpc,
        Self::HostPath,
        Self::SeccompUnconfined,
        Self::UnmaskedProc,
        Self::UnsafeSysctls,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Privileged => "privileged",
            Self::PrivilegeEscalation => "privilege-escalation",
            Self::Capabilities => "capabilities",
            Self::HostNetwork => "host-network",
            Self::HostPorts => "host-ports",
            Self::HostIpc => "host-ipc",
            Self::HostPath => "host-path",
            Self::SeccompUnconfined => "seccomp-unconfined",
            Self::UnmaskedProc => "unmasked-proc",
            Self::UnsafeSysctls => "unsafe-sysctls",
        }
    }
}

impl Allowance {
    /// How to get it, after "refused unless".
    pub(super) fn remedy(self) -> String {
        match self {
            Self::HostPorts => "on the host's network".to_owned(),
            other => format!("started with --allow {}", other.as_str()),
        }
    }
}

/// A word after `--allow` that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing called {0:?} can be allowed; choose among {list}", list = Allowances::words())]
pub struct UnknownAllowance(String);

impl FromStr for Allowance {
    type Err = UnknownAllowance;

    fn from_str(word: &str) -> Result<Self, UnknownAllowance> {
        let known = Self::ALL.into_iter().find(|allowance| allowance.as_str() == word);
        known.ok_or_else(|| UnknownAllowance(word.to_owned()))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowances(BTreeSet<Allowance>);

impl Allowances {
    pub fn all() -> Self {
        Allowance::ALL.into_iter().collect()
    }

    pub fn has(&self, allowance: Allowance) -> bool {
        self.0.contains(&allowance)
    }

    /// What holds for one Pod. On the host's network a port of the container is a port of the host, and the API server
    /// writes it down as one.
    pub(super) fn within(&self, spec: &Value) -> Self {
        let mut allowances = self.clone();
        if self.has(Allowance::HostNetwork) && spec["hostNetwork"] == true {
            allowances.0.insert(Allowance::HostPorts);
        }
        allowances
    }

    fn words() -> String {
        Allowance::ALL.map(Allowance::as_str).join(", ")
    }
}

impl FromIterator<Allowance> for Allowances {
    fn from_iter<I: IntoIterator<Item = Allowance>>(allowances: I) -> Self {
        Self(allowances.into_iter().collect())
    }
}
