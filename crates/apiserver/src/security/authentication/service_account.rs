//! The names that ServiceAccounts have as users, and their groups.

use crate::names::{dns_label, dns_subdomain};

const PREFIX: &str = "system:serviceaccount:";
const EVERY: &str = "system:serviceaccounts";

pub fn username(namespace: &str, name: &str) -> String {
    format!("{PREFIX}{namespace}:{name}")
}

/// The groups of all ServiceAccounts, and of those of a namespace.
pub fn groups(namespace: &str) -> Vec<String> {
    vec![EVERY.to_owned(), format!("{EVERY}:{namespace}")]
}

/// The namespace and name of a ServiceAccount, where a user's name is that of one.
pub fn parse(username: &str) -> Option<(&str, &str)> {
    let (namespace, name) = username.strip_prefix(PREFIX)?.split_once(':')?;
    (dns_label(namespace).is_empty() && dns_subdomain(name).is_empty()).then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_a_service_account_is_one() {
        assert_eq!(parse(&username("default", "a.b-c")), Some(("default", "a.b-c")));
        for name in
            ["default:x", "system:serviceaccount:a", "system:serviceaccount:A:b", "system:serviceaccount:a:"]
        {
            assert_eq!(parse(name), None, "{name}");
        }
        assert_eq!(parse("system:serviceaccount:a:b:c"), None);
    }
}
