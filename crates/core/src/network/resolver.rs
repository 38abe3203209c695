//! The `/etc/resolv.conf` of a Pod, as kubelet writes it for each `dnsPolicy`, and what is read of the host's own.

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};

use k8s_openapi::api::core::v1::{PodDNSConfig, PodSpec};

/// What resolvers in common use take.
const MOST_SERVERS: usize = 3;
const MOST_SEARCHES: usize = 32;
const LONGEST_SEARCH: usize = 2048;

/// A resolver's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolver {
    pub servers: Vec<String>,
    pub searches: Vec<String>,
    pub options: Vec<String>,
}

/// What the cluster contributes.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    pub server: Ipv4Addr,
    pub zone: &'a str,
}

/// A file, and what had to be left out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub text: String,
    pub left_out: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dnsPolicy {0:?}")]
pub struct UnknownPolicy(String);

impl Resolver {
    /// Reads a `resolv.conf`. Of several `search` lines the last counts.
    pub fn read(text: &str) -> Self {
        let mut resolver = Self::default();
        for line in text.lines().map(|line| line.split(['#', ';']).next().unwrap_or_default()) {
            let mut words = line.split_whitespace().map(str::to_owned);
            match words.next().as_deref() {
                Some("nameserver") => resolver.servers.extend(words.next()),
                Some("search" | "domain") => resolver.searches = words.collect(),
                Some("options") => resolver.options = words.collect(),
                _ => {}
            }
        }
        resolver
    }

    /// What can be asked: servers, without those that are not addresses.
    pub fn upstreams(&self) -> Vec<IpAddr> {
        let plain = |server: &String| server.split('%').next().and_then(|address| address.parse().ok());
        self.servers.iter().filter_map(plain).collect()
    }
}

/// The file of a Pod in its namespace, given the host's settings.
pub fn file(
    spec: &PodSpec,
    namespace: &str,
    cluster: Cluster<'_>,
    host: &Resolver,
) -> Result<File, UnknownPolicy> {
    let policy = spec.dns_policy.as_deref().unwrap_or("ClusterFirst");
    let in_host = spec.host_network == Some(true);
    let base = match policy {
        "None" => Resolver::default(),
        "Default" => as_host(cluster, host, in_host),
        "ClusterFirst" if in_host => as_host(cluster, host, in_host),
        "ClusterFirst" | "ClusterFirstWithHostNet" => as_cluster(namespace, cluster, host),
        other => return Err(UnknownPolicy(other.to_owned())),
    };
    Ok(write(&with(base, spec.dns_config.as_ref())))
}

/// A server on the host's loopback is not one on the Pod's: ours asks it.
fn as_host(cluster: Cluster<'_>, host: &Resolver, in_host: bool) -> Resolver {
    let mut resolver = host.clone();
    for server in resolver.servers.iter_mut().filter(|_| !in_host) {
        if server.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()) {
            *server = cluster.server.to_string();
        }
    }
    resolver.servers = unique(resolver.servers);
    resolver
}

fn as_cluster(namespace: &str, cluster: Cluster<'_>, host: &Resolver) -> Resolver {
    let zone = cluster.zone;
    let own = [format!("{namespace}.svc.{zone}"), format!("svc.{zone}"), zone.to_owned()];
    Resolver {
        servers: vec![cluster.server.to_string()],
        searches: unique(own.into_iter().chain(host.searches.clone()).collect()),
        options: vec!["ndots:5".to_owned()],
    }
}

/// Servers and searches come behind; an option takes the place of one with its name.
fn with(mut resolver: Resolver, config: Option<&PodDNSConfig>) -> Resolver {
    let Some(config) = config else { return resolver };
    resolver.servers.extend(config.nameservers.iter().flatten().cloned());
    resolver.servers = unique(resolver.servers);
    resolver.searches.extend(config.searches.iter().flatten().cloned());
    resolver.searches = unique(resolver.searches);
    for option in config.options.iter().flatten() {
        let name = option.name.as_deref().unwrap_or_default();
        let value = option.value.as_deref().filter(|value| !value.is_empty());
        let written = value.map_or_else(|| name.to_owned(), |value| format!("{name}:{value}"));
        match resolver.options.iter_mut().find(|other| other.split(':').next() == Some(name)) {
            Some(other) => *other = written,
            None => resolver.options.push(written),
        }
    }
    resolver
}

fn unique(list: Vec<String>) -> Vec<String> {
    list.into_iter().fold(Vec::new(), |mut kept, item| {
        if !kept.contains(&item) {
            kept.push(item);
        }
        kept
    })
}

fn write(resolver: &Resolver) -> File {
    let mut left_out = Vec::new();
    let servers = first(&resolver.servers, MOST_SERVERS, "nameserver", &mut left_out);
    let searches = first(&resolver.searches, MOST_SEARCHES, "search", &mut left_out);
    let searches = short(searches, &mut left_out);
    let mut text = String::new();
    for server in servers {
        let _ = writeln!(text, "nameserver {server}");
    }
    if !searches.is_empty() {
        let _ = writeln!(text, "search {}", searches.join(" "));
    }
    if !resolver.options.is_empty() {
        let _ = writeln!(text, "options {}", resolver.options.join(" "));
    }
    File { text, left_out }
}

fn first<'a>(list: &'a [String], most: usize, what: &str, left_out: &mut Vec<String>) -> &'a [String] {
    let (kept, rest) = list.split_at(most.min(list.len()));
    left_out.extend(rest.iter().map(|item| format!("{what} {item}")));
    kept
}

fn short<'a>(searches: &'a [String], left_out: &mut Vec<String>) -> &'a [String] {
    let lengths = searches.iter().scan(0, |sum, item| {
        *sum += item.len() + 1;
        Some(*sum)
    });
    first(searches, lengths.take_while(|sum| *sum <= LONGEST_SEARCH + 1).count(), "search", left_out)
}
