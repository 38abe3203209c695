//! How a pod is reached and what it calls others: ports, names and DNS.

use std::collections::BTreeSet;

use super::super::address::Before;
use super::super::at::At;
use crate::names;

const MOST_NAMESERVERS: usize = 3;
const MOST_SEARCHES: usize = 32;
const MOST_OF_SEARCHES: usize = 2048;
const MOST_OF_HOST_NAME: usize = 64;

pub(super) fn ports(ports: &At) {
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let name = port.field("name");
        if !name.text().is_empty() {
            let before = name.reported();
            name.must(names::port_name);
            if name.reported() == before && !seen.insert(name.text()) {
                name.duplicate(name.text());
            }
        }
        let number = port.field("containerPort");
        if number.integer() == 0 {
            number.required("");
        } else {
            number.must_be_a_port();
        }
        if port.integer_of("hostPort") != 0 {
            port.field("hostPort").must_be_a_port();
        }
        port.field("protocol").must_be_given_and_one_of(&["SCTP", "TCP", "UDP"]);
    }
}

/// No two containers of `some` want the same port of the host. Errors number them from the start of `all`.
pub(super) fn unique_host_ports<'v, 'p>(all: &At, some: impl Iterator<Item = At<'v, 'p>>) {
    let mut seen = BTreeSet::new();
    for (index, container) in some.enumerate() {
        let place = all.index(index);
        let (ports, shown) = (container.field("ports"), place.field("ports"));
        for (number, port) in ports.items().enumerate() {
            if port.integer_of("hostPort") == 0 {
                continue;
            }
            let wanted = format!(
                "{}/{}/{}",
                port.text_of("protocol"),
                port.text_of("hostIP"),
                port.integer_of("hostPort")
            );
            if seen.contains(&wanted) {
                shown.index(number).field("hostPort").duplicate(wanted);
            } else {
                seen.insert(wanted);
            }
        }
    }
}

/// On the host's network, a port is what it is.
pub(super) fn host_ports(spec: &At) {
    if !spec.flag_of("hostNetwork") {
        return;
    }
    for container in spec.field("containers").items() {
        for port in container.field("ports").items() {
            let on_host = port.field("hostPort");
            if on_host.integer() != port.integer_of("containerPort") {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                on_host.invalid(on_host.integer(), detail);
            }
        }
    }
}

pub(super) fn dns(spec: &At) {
    let config = spec.field("dnsConfig");
    let servers = config.field("nameservers");
    if spec.text_of("dnsPolicy") == "None" {
        if !config.exists() {
            return config.required("must provide `dnsConfig` when `dnsPolicy` is None");
        }
        if servers.is_empty() {
            return servers.required("must provide at least one DNS nameserver when `dnsPolicy` is None");
        }
    }
    if servers.len() > MOST_NAMESERVERS {
        let detail = format!("must not have more than {MOST_NAMESERVERS} nameservers");
        servers.invalid(servers.value.clone(), detail);
    }
    servers.items().for_each(|server| server.must_be_an_address(&Before::new()));
    searches(&config.field("searches"));
    for option in config.field("options").items() {
        if option.text_of("name").is_empty() {
            option.required("must not be empty");
        }
    }
}

fn searches(searches: &At) {
    let shown = || searches.value.clone();
    if searches.len() > MOST_SEARCHES {
        searches.invalid(shown(), format!("must not have more than {MOST_SEARCHES} search paths"));
    }
    let length = searches.texts().map(|search| search.len() + 1).sum::<usize>().saturating_sub(1);
    if length > MOST_OF_SEARCHES {
        searches.invalid(
            shown(),
            format!(
                "must not have more than {MOST_OF_SEARCHES} characters (including spaces) in the search list"
            ),
        );
    }
    for search in searches.items().filter(|search| search.text() != ".") {
        let name = search.text().strip_suffix('.').unwrap_or(search.text());
        search.must_hold(name, names::dns_subdomain_with_underscores);
    }
}

pub(super) fn host_aliases(aliases: &At) {
    for alias in aliases.items() {
        alias.field("ip").must_be_an_address(&Before::new());
        alias.field("hostnames").items().for_each(|name| name.must(names::dns_subdomain));
    }
}

pub(super) fn host_name_override(spec: &At) {
    let Some(name) = spec.field("hostnameOverride").given() else { return };
    if spec.flag_of("setHostnameAsFQDN") {
        name.forbidden("may not be specified when setHostnameAsFQDN is true");
    }
    if spec.flag_of("hostNetwork") {
        name.forbidden("may not be specified when hostNetwork is true");
    }
    if name.text().len() > MOST_OF_HOST_NAME {
        name.too_long(MOST_OF_HOST_NAME);
    }
    name.must(names::dns_subdomain);
}
