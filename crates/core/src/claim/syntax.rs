//! Keys and values of labels and annotations, as Kubernetes takes them.

use std::fmt;

/// The part of a key before the slash, if the key has one and is a qualified name.
pub(super) fn domain(key: &str) -> Result<Option<&str>, Malformed> {
    let (domain, name) = match key.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, key),
    };
    if name.is_empty() || !is_label_text(name) {
        return Err(Malformed::Name);
    }
    match domain {
        Some(domain) if !is_subdomain(domain) => Err(Malformed::Domain),
        domain => Ok(domain),
    }
}

/// Whether a label may have this value.
pub(super) fn is_label_text(text: &str) -> bool {
    let inner = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let outer = |character: char| character.is_ascii_alphanumeric();
    let is_framed = text.starts_with(outer) && text.ends_with(outer);
    text.is_empty() || (text.len() <= 63 && is_framed && text.chars().all(inner))
}

/// Whether it is a DNS subdomain, as the names of most objects are.
pub(super) fn is_subdomain(domain: &str) -> bool {
    let inner = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    let is_part = |part: &str| {
        part.starts_with(inner)
            && part.ends_with(inner)
            && part.chars().all(|character| inner(character) || character == '-')
    };
    domain.len() <= 253 && domain.split('.').all(is_part)
}

/// Whether a domain is `parent` or below it.
pub(super) fn is_within(domain: &str, parent: &str) -> bool {
    let domain = domain.to_ascii_lowercase();
    domain == parent || domain.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.'))
}

/// What is wrong with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    Domain,
    Name,
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Domain => "the part before the slash must be a DNS subdomain of at most 253 characters",
            Self::Name => {
                "the name must be 1 to 63 letters, digits, '-', '_' or '.', and begin and end with a letter or digit"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_qualified_names() {
        assert_eq!(domain("app"), Ok(None));
        assert_eq!(domain("a.b-c.d/App_1.x"), Ok(Some("a.b-c.d")));
        for key in ["", "a/", "a/b/c", "-a", "a_", &"x".repeat(64), "a b"] {
            assert_eq!(domain(key), Err(Malformed::Name), "{key}");
        }
        for key in ["/a", "A.b/c", "a..b/c", "-a.b/c", &format!("{}/c", "x".repeat(254))] {
            assert_eq!(domain(key), Err(Malformed::Domain), "{key}");
        }
    }

    #[test]
    fn a_value_may_be_empty() {
        assert!(is_label_text("") && is_label_text("a-b_c.D"));
        assert!(!is_label_text("-") && !is_label_text(".a") && !is_label_text("a-") && !is_label_text("é"));
    }

    #[test]
    fn a_domain_is_within_itself_and_its_parents() {
        assert!(is_within("users.io", "users.io") && is_within("team.users.io", "users.io"));
        assert!(!is_within("myusers.io", "users.io") && !is_within("io", "users.io"));
    }
}
