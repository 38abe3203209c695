//! Names of images, read as Docker and the kubelet read them: `busybox` means `docker.io/library/busybox:latest`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::digest::Digest;

const HUB: &str = "docker.io";
const LONGEST_NAME: usize = 255;
const LONGEST_TAG: usize = 128;

/// Where an image is to be had, and which one of those there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// What the kubelet calls `InvalidImageName`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("couldn't parse image name {name:?}: invalid reference format{reason}")]
pub struct InvalidImageName {
    name: String,
    reason: &'static str,
}

impl Reference {
    /// Host and port, `docker.io` where none was said.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path within the registry, `library/` included.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// What to ask the registry for: the digest, which says more than a tag beside it.
    pub fn version(&self) -> String {
        self.digest.as_ref().map(ToString::to_string).or_else(|| self.tag.clone()).unwrap_or_default()
    }

    /// The kubelet pulls images without a fixed version anew with every Pod.
    pub fn is_latest(&self) -> bool {
        self.digest.is_none() && self.tag.as_deref() == Some("latest")
    }

    /// The same repository at one exact version.
    #[must_use]
    pub fn at(&self, digest: Digest) -> Self {
        Self { tag: None, digest: Some(digest), ..self.clone() }
    }
}

impl FromStr for Reference {
    type Err = InvalidImageName;

    fn from_str(text: &str) -> Result<Self, InvalidImageName> {
        let invalid = |reason| InvalidImageName { name: text.chars().take(300).collect(), reason };
        let (rest, digest) = match text.split_once('@') {
            None => (text, None),
            Some((rest, digest)) => {
                (rest, Some(digest.parse().map_err(|_| invalid(": the digest is none"))?))
            }
        };
        let (name, tag) = split_tag(rest);
        let (registry, repository) = split_registry(name);
        check(registry, &repository, tag).map_err(invalid)?;
        let tag = tag.map(str::to_owned).or_else(|| digest.is_none().then(|| "latest".to_owned()));
        Ok(Self { registry: canonical(registry), repository, tag, digest })
    }
}

/// A colon after the last slash starts a tag; one before it, a port.
fn split_tag(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (text, None),
    }
}

/// The first part is a registry only where it looks like one: with a dot or a port, or in upper case, or `localhost`.
fn split_registry(name: &str) -> (&str, String) {
    let (registry, rest) = match name.split_once('/') {
        Some((first, rest)) if looks_like_host(first) => (first, rest),
        _ => (HUB, name),
    };
    let official = canonical(registry) == HUB && !rest.contains('/');
    (registry, if official { format!("library/{rest}") } else { rest.to_owned() })
}

fn looks_like_host(part: &str) -> bool {
    part.contains(['.', ':']) || part == "localhost" || part.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn canonical(registry: &str) -> String {
    if registry == "index.docker.io" { HUB.to_owned() } else { registry.to_owned() }
}

fn check(registry: &str, repository: &str, tag: Option<&str>) -> Result<(), &'static str> {
    if !is_host(registry) {
        return Err(": the registry is no host with an optional port");
    }
    if registry.len() + 1 + repository.len() > LONGEST_NAME {
        return Err(": the name is longer than 255 characters");
    }
    if repository.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(": repository name must be lowercase");
    }
    if !repository.split('/').all(is_component) {
        return Err("");
    }
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Err(": the tag is none");
    }
    Ok(())
}

fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_port = |port: &str| !port.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0);
    let is_address = |text: &str| text.parse::<std::net::Ipv6Addr>().is_ok();
    let known = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => is_address(address),
        None => host.split('.').all(is_label),
    };
    known && port.is_none_or(is_port)
}

fn is_label(label: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
}

/// Letters and digits, parted by one dot, one or two underscores, or any number of dashes.
fn is_component(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut separators =
        part.split(|character: char| character.is_ascii_lowercase() || character.is_ascii_digit());
    let is_separator =
        |text: &str| matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    part.bytes().next().is_some_and(is_plain)
        && part.bytes().next_back().is_some_and(is_plain)
        && separators.all(is_separator)
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= LONGEST_TAG
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || byte == b'.' || byte == b'-')
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(formatter, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(formatter, "@{digest}")?;
        }
        Ok(())
    }
}

impl TryFrom<String> for Reference {
    type Error = InvalidImageName;

    fn try_from(text: String) -> Result<Self, InvalidImageName> {
        text.parse()
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> Self {
        reference.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn normal(text: &str) -> String {
        text.parse::<Reference>().unwrap().to_string()
    }

    #[test]
    fn short_names_are_those_of_the_hub() {
        assert_eq!(normal("busybox"), "docker.io/library/busybox:latest");
        assert_eq!(normal("grafana/loki:3.1"), "docker.io/grafana/loki:3.1");
        assert_eq!(normal("index.docker.io/busybox"), "docker.io/library/busybox:latest");
        assert_eq!(normal("docker.io/a/b_c/d--e.f"), "docker.io/a/b_c/d--e.f:latest");
    }

    #[test]
    fn a_host_is_told_from_a_path_by_a_dot_a_port_or_localhost() {
        assert_eq!(normal("localhost/x"), "localhost/x:latest");
        assert_eq!(normal("registry:5000/x:1"), "registry:5000/x:1");
        assert_eq!(normal("[::1]:5000/x"), "[::1]:5000/x:latest");
        assert_eq!(normal("Registry/x"), "Registry/x:latest");
        assert_eq!(normal("asb.local/host"), "asb.local/host:latest");
    }

    #[test]
    fn a_digest_needs_no_tag_and_says_more_than_one() {
        assert_eq!(normal(&format!("busybox@{DIGEST}")), format!("docker.io/library/busybox@{DIGEST}"));
        let both: Reference = format!("a.b/c:1@{DIGEST}").parse().unwrap();
        assert_eq!((both.tag(), both.version().as_str()), (Some("1"), DIGEST));
        assert!(!both.is_latest() && "x".parse::<Reference>().unwrap().is_latest());
    }

    #[test]
    fn what_docker_refuses_is_refused() {
        let long = "a".repeat(300);
        let tag = format!("a:{}", "b".repeat(129));
        for text in [
            "",
            ":1",
            "/a",
            "a/",
            "a//b",
            "a:",
            "Busybox",
            "a/B",
            "a b",
            "a:b c",
            "-a",
            "a-",
            "a..b",
            "a___b",
            "a@",
            "a@sha256:1",
            "a.b:/c",
            "a.b:99999999/c",
            "a.b:0/c",
            "a.b:x/c",
            "../a",
            "a/../b",
            "https://a.b/c",
            &long,
            &tag,
            "a.-b.c/d",
            "a\n",
            "é",
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_complaint_is_the_one_users_know() {
        let complaint = |text: &str| text.parse::<Reference>().unwrap_err().to_string();
        assert_eq!(
            complaint("Busybox"),
            "couldn't parse image name \"Busybox\": invalid reference format: repository name must be lowercase"
        );
        assert_eq!(complaint("a//b"), "couldn't parse image name \"a//b\": invalid reference format");
    }

    proptest! {
        #[test]
        fn a_normal_name_is_its_own_normal_form(text in "[a-zA-Z0-9._:/@-]{0,40}") {
            if let Ok(reference) = text.parse::<Reference>() {
                prop_assert_eq!(reference.to_string().parse::<Reference>().unwrap(), reference);
            }
        }
    }
}
