//! How a Pod is called on its network.

use k8s_openapi::api::core::v1::Pod;

/// Of a label, and of what the kernel keeps as host name.
const LONGEST_LABEL: usize = 63;
const LONGEST: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Failed to construct FQDN from Pod hostname and cluster domain, FQDN {name} is too long ({longest} characters is the max, {length} characters requested)",
    longest = LONGEST,
    length = .name.len()
)]
pub struct HostnameError {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// What the kernel says.
    pub hostname: String,
    /// The first part, and the rest where the Pod is part of a Service's domain.
    pub short: String,
    pub domain: Option<String>,
}

impl Names {
    pub fn of(pod: &Pod, cluster_domain: &str) -> Result<Self, HostnameError> {
        let spec = pod.spec.as_ref();
        let text = |text: Option<&String>| text.filter(|text| !text.is_empty()).cloned();
        if let Some(name) = text(spec.and_then(|spec| spec.hostname_override.as_ref())) {
            return checked(Self { hostname: name.clone(), short: name, domain: None });
        }
        let named = text(spec.and_then(|spec| spec.hostname.as_ref()));
        let short = named.unwrap_or_else(|| shortened(pod.metadata.name.as_deref().unwrap_or_default()));
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let subdomain = text(spec.and_then(|spec| spec.subdomain.as_ref()));
        let domain = subdomain.map(|subdomain| format!("{subdomain}.{namespace}.svc.{cluster_domain}"));
        let is_full = spec.and_then(|spec| spec.set_hostname_as_fqdn) == Some(true);
        let hostname = match &domain {
            Some(domain) if is_full => format!("{short}.{domain}"),
            _ => short.clone(),
        };
        checked(Self { hostname, short, domain })
    }
}

fn checked(names: Names) -> Result<Names, HostnameError> {
    if names.hostname.len() > LONGEST { Err(HostnameError { name: names.hostname }) } else { Ok(names) }
}

fn shortened(name: &str) -> String {
    let end = name.len().min(LONGEST_LABEL);
    name.get(..end).unwrap_or(name).trim_end_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn names(name: &str, spec: Value) -> Result<Names, HostnameError> {
        let mut spec = spec;
        spec["containers"] = json!([]);
        let pod = serde_json::from_value(json!({"metadata": {"name": name, "namespace": "n"}, "spec": spec}));
        Names::of(&pod.unwrap(), "cluster.local")
    }

    #[test]
    fn a_pod_is_called_by_its_name_unless_it_says_otherwise() {
        assert_eq!(names("p", json!({})).unwrap().hostname, "p");
        assert_eq!(names("p", json!({"hostname": "h"})).unwrap().hostname, "h");
        assert_eq!(
            names("p", json!({"hostname": "h", "hostnameOverride": "o.example"})).unwrap().hostname,
            "o.example"
        );
        let long = format!("{}-{}", "a".repeat(62), "b".repeat(20));
        assert_eq!(names(&long, json!({})).unwrap().hostname, "a".repeat(62));
    }

    #[test]
    fn a_subdomain_makes_a_full_name_and_the_host_name_if_asked_for() {
        let plain = names("p", json!({"subdomain": "s"})).unwrap();
        assert_eq!((plain.hostname.as_str(), plain.domain.as_deref()), ("p", Some("s.n.svc.cluster.local")));
        let full = names("p", json!({"subdomain": "s", "setHostnameAsFQDN": true})).unwrap();
        assert_eq!(full.hostname, "p.s.n.svc.cluster.local");
        assert_eq!(names("p", json!({"setHostnameAsFQDN": true})).unwrap().hostname, "p");
    }

    #[test]
    fn a_full_name_that_the_kernel_cannot_keep_is_an_error() {
        let spec = json!({"subdomain": "s".repeat(50), "setHostnameAsFQDN": true});
        let error = names("p", spec).unwrap_err().to_string();
        assert!(
            error.ends_with("is too long (64 characters is the max, 72 characters requested)"),
            "{error}"
        );
    }
}
