//! The forms that names and other short texts have. Each rule gives a message for everything that is wrong with a text,
//! in Kubernetes' words, and none where all is well.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_KEY_FORM: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                              alphanumeric character";
const MOST_OF_SUBDOMAIN: usize = 253;
const MOST_OF_LABEL: usize = 63;

/// A rule about a text.
pub(crate) type Rule = fn(&str) -> Vec<String>;

pub(crate) fn dns_label(text: &str) -> Vec<String> {
    let mut messages = at_most(text, MOST_OF_LABEL, "characters");
    if is_label(text) {
        return messages;
    }
    messages.push(if is_subdomain(text) {
        "must not contain dots".to_owned()
    } else {
        let form = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                    start and end with an alphanumeric character";
        with_pattern(form, LABEL, &["my-name", "123-abc"])
    });
    messages
}

pub(crate) fn dns_subdomain(text: &str) -> Vec<String> {
    subdomain(text, "characters")
}

fn subdomain(text: &str, unit: &str) -> Vec<String> {
    let form = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                start and end with an alphanumeric character";
    let pattern = format!("{LABEL}(\\.{LABEL})*");
    let mut messages = at_most(text, MOST_OF_SUBDOMAIN, unit);
    push_unless(&mut messages, is_subdomain(text), || with_pattern(form, &pattern, &["example.com"]));
    messages
}

pub(crate) fn dns_subdomain_with_underscores(text: &str) -> Vec<String> {
    let form = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and \
                must start and end with an alphanumeric character";
    let label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
    let pattern = format!("{label}(\\.{label})*");
    let mut messages = at_most(text, MOST_OF_SUBDOMAIN, "characters");
    let fits = text.split('.').all(|part| {
        framed(part.strip_prefix('_').unwrap_or(part), is_lower, |byte| {
            is_lower(byte) || b"-_".contains(&byte)
        })
    });
    push_unless(&mut messages, fits, || with_pattern(form, &pattern, &["example.com"]));
    messages
}

/// A label that starts with a letter.
pub(crate) fn dns_1035_label(text: &str) -> Vec<String> {
    let form = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                character, and end with an alphanumeric character";
    let mut messages = at_most(text, MOST_OF_LABEL, "characters");
    let fits = is_label(text) && !text.starts_with(|first: char| first.is_ascii_digit());
    let pattern = "[a-z]([-a-z0-9]*[a-z0-9])?";
    push_unless(&mut messages, fits, || with_pattern(form, pattern, &["my-name", "abc-123"]));
    messages
}

/// The name of a service in an endpoint slice: at least two labels, perhaps with a dot at the end. The message is about
/// one text of the name, which comes with it.
pub(crate) fn full_domain_name(text: &str) -> Option<(&str, String)> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let messages = dns_subdomain(name);
    if !messages.is_empty() {
        return Some((name, messages.join(",")));
    }
    if !name.contains('.') {
        return Some((name, "should be a domain with at least two segments separated by dots".into()));
    }
    let labels = name.split('.').map(|label| (label, dns_label(label).join(",")));
    labels.into_iter().find(|(_, message)| !message.is_empty())
}

/// The key of a label: a name with an optional domain in front.
pub(crate) fn qualified_name(text: &str) -> Vec<String> {
    let examples = ["MyName", "my.name", "123-abc"];
    let mut parts = text.split('/');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    if parts.next().is_some() {
        let form = with_pattern(LABEL_KEY_FORM, LABEL_KEY, &examples);
        let prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
        return vec![format!("a valid label key {form} {prefix}")];
    }
    let (mut messages, name) = match second {
        None => (Vec::new(), first),
        Some(name) if first.is_empty() => (vec!["prefix part must be non-empty".into()], name),
        Some(name) => {
            (subdomain(first, "bytes").into_iter().map(|it| format!("prefix part {it}")).collect(), name)
        }
    };
    if name.is_empty() {
        messages.push("name part must be non-empty".into());
    } else if name.len() > MOST_OF_LABEL {
        messages.push(format!("name part must be no more than {MOST_OF_LABEL} bytes"));
    }
    push_unless(&mut messages, is_label_name(name), || {
        format!("name part {}", with_pattern(LABEL_KEY_FORM, LABEL_KEY, &examples))
    });
    messages
}

/// A qualified name in which case does not matter, such as the key of an annotation.
pub(crate) fn caseless_qualified_name(text: &str) -> Vec<String> {
    qualified_name(&text.to_lowercase())
}

pub(crate) fn label_value(text: &str) -> Vec<String> {
    let form = format!("a valid label must be an empty string or {}", &LABEL_KEY_FORM["must ".len()..]);
    let mut messages = at_most(text, MOST_OF_LABEL, "bytes");
    let pattern = format!("({LABEL_KEY})?");
    push_unless(&mut messages, text.is_empty() || is_label_name(text), || {
        with_pattern(&form, &pattern, &["MyValue", "my_value", "12345"])
    });
    messages
}

/// A key of a ConfigMap or Secret, which also names a file.
pub(crate) fn config_key(text: &str) -> Vec<String> {
    let form = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    let mut messages = at_most(text, MOST_OF_SUBDOMAIN, "characters");
    let fits = !text.is_empty() && text.bytes().all(is_label_byte);
    push_unless(&mut messages, fits, || {
        with_pattern(form, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"])
    });
    match text {
        "." => messages.push("must not be '.'".into()),
        ".." => messages.push("must not be '..'".into()),
        _ if text.starts_with("..") => messages.push("must not start with '..'".into()),
        _ => {}
    }
    messages
}

pub(crate) fn variable_name(text: &str) -> Vec<String> {
    let form =
        "a valid environment variable name must consist only of printable ASCII characters other than '='";
    let mut messages = Vec::new();
    push_unless(&mut messages, !text.is_empty(), || "environment variable name must be non-empty".into());
    let fits = text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    push_unless(&mut messages, fits, || form.into());
    messages
}

pub(crate) fn port_name(text: &str) -> Vec<String> {
    let mut messages = at_most(text, 15, "characters");
    let mut demand = |met: bool, message: &str| push_unless(&mut messages, met, || message.to_owned());
    let fits = !text.is_empty() && text.bytes().all(|byte| is_lower(byte) || byte == b'-');
    demand(fits, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    demand(text.bytes().any(|byte| byte.is_ascii_lowercase()), "must contain at least one letter (a-z)");
    demand(!text.contains("--"), "must not contain consecutive hyphens");
    demand(!text.starts_with('-') && !text.ends_with('-'), "must not begin or end with a hyphen");
    messages
}

pub(crate) fn header_name(text: &str) -> Vec<String> {
    let form = "a valid HTTP header must consist of alphanumeric characters or '-'";
    let mut messages = Vec::new();
    let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    push_unless(&mut messages, fits, || with_pattern(form, "[-A-Za-z0-9]+", &["X-Header-Name"]));
    messages
}

/// A name that can stand in a path, which is all that is asked of the names of roles.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    match text {
        "." | ".." => vec![format!("may not be '{text}'")],
        _ => path_segment_prefix(text),
    }
}

pub(crate) fn path_segment_prefix(text: &str) -> Vec<String> {
    let illegal = ["/", "%"].into_iter().filter(|illegal| text.contains(illegal));
    illegal.map(|illegal| format!("may not contain '{illegal}'")).collect()
}

fn is_label(text: &str) -> bool {
    framed(text, is_lower, |byte| is_lower(byte) || byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_label_name(text: &str) -> bool {
    framed(text, |byte| byte.is_ascii_alphanumeric(), is_label_byte)
}

fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Not empty, of these bytes, and with those at both ends.
fn framed(text: &str, ends: impl Fn(u8) -> bool, all: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    ends(*first) && ends(*last) && bytes.iter().all(|byte| all(*byte))
}

fn at_most(text: &str, most: usize, unit: &str) -> Vec<String> {
    let mut messages = Vec::new();
    push_unless(&mut messages, text.len() <= most, || format!("must be no more than {most} {unit}"));
    messages
}

fn push_unless(messages: &mut Vec<String>, met: bool, message: impl FnOnce() -> String) {
    if !met {
        messages.push(message());
    }
}

/// The two spaces between examples are Kubernetes'.
pub(crate) fn with_pattern(form: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{form} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_label_is_told_in_kubernetes_words() {
        let message = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                       start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
                       validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
        assert_eq!(dns_label("A"), [message]);
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
        assert_eq!(dns_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
    }

    #[test]
    fn every_rule_has_texts_that_it_accepts_and_others_that_it_refuses() {
        let rules: [(Rule, &str, &str); 12] = [
            (dns_label, "a-1", "-a"),
            (dns_subdomain, "a.b-c", "a..b"),
            (dns_subdomain_with_underscores, "_a._b_c", "_"),
            (dns_1035_label, "a1", "1a"),
            (qualified_name, "example.com/My_Name", "example.com/"),
            (caseless_qualified_name, "EXAMPLE.com/a", "a/b/c"),
            (label_value, "", "a_"),
            (config_key, "a_B.c-", "..a"),
            (variable_name, "a b", "a=b"),
            (port_name, "http-1", "80"),
            (header_name, "X-Y", "X_Y"),
            (path_segment, "system:a b", "a%b"),
        ];
        for (index, (rule, good, bad)) in rules.into_iter().enumerate() {
            assert_eq!(rule(good), Vec::<String>::new(), "rule {index} of {good}");
            assert!(!rule(bad).is_empty(), "rule {index} of {bad}");
        }
    }

    #[test]
    fn names_are_too_long_by_characters_and_labels_by_bytes() {
        let long = "a".repeat(254);
        assert_eq!(dns_1035_label(&long), ["must be no more than 63 characters"]);
        assert_eq!(dns_subdomain(&long), ["must be no more than 253 characters"]);
        assert_eq!(label_value(&long), ["must be no more than 63 bytes"]);
        assert_eq!(qualified_name(&format!("{long}/a")), ["prefix part must be no more than 253 bytes"]);
    }

    #[test]
    fn a_domain_name_has_two_labels_at_least() {
        assert_eq!(full_domain_name("a.b."), None);
        assert_eq!(full_domain_name("a").map(|(text, _)| text), Some("a"));
    }
}
