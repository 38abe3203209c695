//! The text of a Pod's `/etc/resolv.conf`: the cluster's servers, the machine's or those that the Pod names.

use k8s_openapi::api::core::v1::PodSpec;

use super::Node;

/// As many as the C library reads, and as Kubernetes allows.
const MOST_SERVERS: usize = 3;
const MOST_SEARCHES: usize = 32;
const MOST_LETTERS: usize = 2048;

/// Whom to ask for names, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolver {
    pub servers: Vec<String>,
    pub searches: Vec<String>,
    /// `ndots:5` and the like.
    pub options: Vec<String>,
}

impl Resolver {
    /// What a machine's own file says.
    pub fn read(text: &str) -> Self {
        let mut read = Self::default();
        for line in text.lines() {
            let mut words = line.split_whitespace().map(str::to_owned);
            match words.next().as_deref() {
                Some("nameserver") => read.servers.extend(words.next()),
                Some("search" | "domain") => read.searches = words.filter(|word| word != ".").collect(),
                Some("options") => read.options = words.collect(),
                _ => {}
            }
        }
        read
    }
}

pub fn text(spec: &PodSpec, namespace: &str, node: &Node) -> String {
    let Resolver { mut servers, mut searches, options } = chosen(spec, namespace, node);
    servers.truncate(MOST_SERVERS);
    searches.truncate(MOST_SEARCHES);
    while searches.join(" ").len() > MOST_LETTERS {
        searches.pop();
    }
    let mut lines = Vec::new();
    if !searches.is_empty() {
        lines.push(format!("search {}\n", searches.join(" ")));
    }
    lines.extend(servers.iter().map(|server| format!("nameserver {server}\n")));
    if !options.is_empty() {
        lines.push(format!("options {}\n", options.join(" ")));
    }
    lines.concat()
}

fn chosen(spec: &PodSpec, namespace: &str, node: &Node) -> Resolver {
    let on_host = spec.host_network == Some(true);
    let base = match spec.dns_policy.as_deref() {
        Some("None") => Resolver::default(),
        Some("Default") => node.resolver.clone(),
        Some("ClusterFirstWithHostNet") => cluster(namespace, node),
        _ if on_host => node.resolver.clone(),
        _ => cluster(namespace, node),
    };
    with_config(base, spec)
}

fn cluster(namespace: &str, node: &Node) -> Resolver {
    let domain = &node.domain;
    let mut searches = vec![format!("{namespace}.svc.{domain}"), format!("svc.{domain}"), domain.clone()];
    add(&mut searches, &node.resolver.searches);
    Resolver { servers: node.name_servers.clone(), searches, options: vec!["ndots:5".to_owned()] }
}

fn with_config(mut base: Resolver, spec: &PodSpec) -> Resolver {
    let Some(config) = &spec.dns_config else { return base };
    add(&mut base.servers, config.nameservers.as_deref().unwrap_or_default());
    add(&mut base.searches, config.searches.as_deref().unwrap_or_default());
    for option in config.options.iter().flatten() {
        let name = option.name.as_deref().unwrap_or_default();
        base.options.retain(|known| known.split(':').next() != Some(name));
        let value = option.value.as_deref().map(|value| format!(":{value}"));
        base.options.push(format!("{name}{}", value.unwrap_or_default()));
    }
    base
}

fn add(list: &mut Vec<String>, more: &[String]) {
    for one in more {
        if !list.contains(one) {
            list.push(one.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(spec: Value) -> String {
        let node = Node {
            domain: "cluster.local".into(),
            name_servers: vec!["10.0.0.10".into()],
            resolver: Resolver::read("# mine\nsearch lan .\nnameserver 192.0.2.53\noptions edns0\n"),
            ..Node::default()
        };
        let mut spec = spec;
        spec["containers"] = json!([]);
        text(&serde_json::from_value(spec).unwrap(), "n", &node)
    }

    #[test]
    fn a_pod_asks_the_cluster_first() {
        let expected = "search n.svc.cluster.local svc.cluster.local cluster.local lan\nnameserver 10.0.0.10\noptions ndots:5\n";
        assert_eq!(written(json!({})), expected);
        assert_eq!(written(json!({"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": true})), expected);
    }

    #[test]
    fn the_machines_servers_are_asked_by_default_and_on_its_network() {
        let expected = "search lan\nnameserver 192.0.2.53\noptions edns0\n";
        assert_eq!(written(json!({"dnsPolicy": "Default"})), expected);
        assert_eq!(written(json!({"dnsPolicy": "ClusterFirst", "hostNetwork": true})), expected);
    }

    #[test]
    fn what_the_pod_says_is_merged_or_stands_alone() {
        let config = json!({"nameservers": ["1.1.1.1", "10.0.0.10"], "searches": ["x"], "options": [{"name": "ndots", "value": "2"}, {"name": "rotate"}]});
        assert_eq!(
            written(json!({"dnsConfig": config})),
            "search n.svc.cluster.local svc.cluster.local cluster.local lan x\nnameserver 10.0.0.10\nnameserver 1.1.1.1\noptions ndots:2 rotate\n"
        );
        assert_eq!(
            written(json!({"dnsPolicy": "None", "dnsConfig": config})),
            "search x\nnameserver 1.1.1.1\nnameserver 10.0.0.10\noptions ndots:2 rotate\n"
        );
    }

    #[test]
    fn no_more_is_written_than_is_read() {
        let servers: Vec<_> = (1..9).map(|n| format!("192.0.2.{n}")).collect();
        let searches: Vec<_> = (1..40).map(|n| format!("{n}.{}", "x".repeat(90))).collect();
        let text = written(
            json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": servers, "searches": searches}}),
        );
        assert_eq!(text.matches("nameserver").count(), 3);
        let search = text.lines().next().unwrap();
        assert!(search.len() <= 2048 + "search ".len() && search.split(' ').count() > 20, "{search}");
    }
}
