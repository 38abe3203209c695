//! The names of kinds and resources, as messages spell them.

use std::cmp::Reverse;
use std::fmt;

/// `Deployment.apps`; a kind of the core group stands alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    pub group: String,
    pub kind: String,
}

/// `deployments.apps`; a resource of the core group stands alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    pub group: String,
    pub resource: String,
}

impl GroupKind {
    pub fn new(group: &str, kind: &str) -> Self {
        Self { group: group.to_owned(), kind: kind.to_owned() }
    }
}

impl GroupResource {
    pub fn new(group: &str, resource: &str) -> Self {
        Self { group: group.to_owned(), resource: resource.to_owned() }
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_group(formatter, &self.kind, &self.group)
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_group(formatter, &self.resource, &self.group)
    }
}

fn with_group(formatter: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    match group {
        "" => formatter.write_str(name),
        group => write!(formatter, "{name}.{group}"),
    }
}

/// The group and version of an `apiVersion`.
pub fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The `apiVersion` of a group and version.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// How mature a version is, by its name, so that the greater of two is preferred: `v2`, `v1`, `v1beta1`, `v1alpha1`, and
/// then names of any other form.
pub fn maturity(version: &str) -> impl Ord + use<> {
    let parsed = parse_version(version);
    let other = parsed.is_none().then(|| Reverse(version.to_owned()));
    (parsed, other)
}

/// Stage, major and minor.
fn parse_version(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    let (major, stage) = rest.split_at(digits);
    let major = major.parse().ok()?;
    let minor = |text: &str| text.parse().ok().filter(|minor| *minor > 0);
    match stage {
        "" => Some((2, major, 0)),
        beta if beta.starts_with("beta") => Some((1, major, minor(&beta[4..])?)),
        alpha if alpha.starts_with("alpha") => Some((0, major, minor(&alpha[5..])?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_before_trials_and_new_ones_before_old() {
        let mut versions = ["foo", "v1alpha1", "v1beta2", "v10", "v1", "bar", "v1beta1", "v2"];
        versions.sort_by_key(|version| Reverse(maturity(version)));
        assert_eq!(versions, ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "bar", "foo"]);
    }
}
