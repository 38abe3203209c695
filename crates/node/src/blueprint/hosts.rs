//! The text of a Pod's `/etc/hosts`.

use std::fmt::Write;

use k8s_openapi::api::core::v1::HostAlias;

use super::Names;

const USUAL: &str = "# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
";

/// `own` is what takes the place of the usual lines: the machine's file, for a Pod on the machine's network.
pub fn text(names: &Names, addresses: &[String], aliases: &[HostAlias], own: Option<&str>) -> String {
    let mut text = own.unwrap_or(USUAL).to_owned();
    if own.is_none() {
        for address in addresses {
            let full = names.domain.as_ref().map(|domain| format!("{}.{domain}\t", names.short));
            line(&mut text, &format!("{address}\t{}{}", full.unwrap_or_default(), names.short));
        }
    }
    if !aliases.is_empty() {
        line(&mut text, "\n# Entries added by HostAliases.");
        for alias in aliases {
            let names = alias.hostnames.as_deref().unwrap_or_default().join("\t");
            line(&mut text, &format!("{}\t{names}", alias.ip));
        }
    }
    text
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alias() -> HostAlias {
        HostAlias { ip: "192.0.2.7".into(), hostnames: Some(vec!["a".into(), "b".into()]) }
    }

    #[test]
    fn the_pod_and_its_aliases_are_listed() {
        let names = Names { hostname: "p".into(), short: "p".into(), domain: Some("s.n.svc.x".into()) };
        insta::assert_snapshot!(text(&names, &["10.0.0.2".into(), "fd00::2".into()], &[alias()], None));
    }

    #[test]
    fn on_the_machines_network_the_machines_lines_stay() {
        let names = Names { hostname: "p".into(), short: "p".into(), domain: None };
        let text = text(&names, &["192.0.2.1".into()], &[alias()], Some("127.0.0.1\tme\n"));
        assert_eq!(text, "127.0.0.1\tme\n\n# Entries added by HostAliases.\n192.0.2.7\ta\tb\n");
    }
}
