//! The form of names, label keys and label values, with the words in which Kubernetes says what is wrong with them.

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
     alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const QUALIFIED: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and \
     end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
     'example.com/MyName')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
     must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
     validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
     and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// What is wrong with the key of a label.
pub(super) fn key_problems(key: &str) -> Vec<String> {
    let (prefix, name) = match key.split_once('/') {
        None => (None, key),
        Some((_, name)) if name.contains('/') => return vec![QUALIFIED.to_owned()],
        Some((prefix, name)) => (Some(prefix), name),
    };
    let mut problems = Vec::new();
    match prefix {
        Some("") => problems.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            problems.extend(subdomain_problems(prefix).map(|problem| format!("prefix part {problem}")));
        }
        None => {}
    }
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        problems.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_name(name) {
        problems.push(format!("name part {NAME}"));
    }
    problems
}

/// What is wrong with the value of a label.
pub(super) fn value_problems(value: &str) -> Vec<String> {
    let long = (value.len() > 63).then(|| "must be no more than 63 bytes".to_owned());
    let odd = (!value.is_empty() && !is_name(value)).then(|| VALUE.to_owned());
    long.into_iter().chain(odd).collect()
}

/// What is wrong with a name in parts between dots.
pub(super) fn subdomain_problems(name: &str) -> impl Iterator<Item = String> {
    let long = (name.len() > 253).then(|| "must be no more than 253 bytes".to_owned());
    let odd = (!name.split('.').all(is_label)).then(|| SUBDOMAIN.to_owned());
    long.into_iter().chain(odd)
}

pub(super) fn is_subdomain(name: &str) -> bool {
    subdomain_problems(name).next().is_none()
}

/// A name such as a namespace has, of whatever length.
pub(super) fn is_label(text: &str) -> bool {
    let is_end =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let bytes = text.as_bytes();
    is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(is_inner)
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(is_inner)
}
