//! What the path of a request names. Whether it exists is for the registry to say.

/// The path of a request, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    Resource(ResourcePath),
    /// `/api/v1` or `/apis/GROUP/VERSION`
    Version {
        group: String,
        version: String,
    },
    /// `/apis/GROUP`
    Group(String),
    /// Anything else.
    Other,
}

/// A collection, an object in it, or a part of that object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourcePath {
    pub group: String,
    pub version: String,
    pub namespace: Option<String>,
    /// The plural, such as `pods`
    pub resource: String,
    pub name: Option<String>,
    pub subresource: Option<String>,
    /// Written in the older form, `/api/v1/watch/…`, which is a watch whatever the query says.
    pub is_watch: bool,
}

impl Path {
    pub fn parse(path: &str) -> Self {
        let Some(parts) = path.split('/').skip(1).map(decode).collect::<Option<Vec<String>>>() else {
            return Self::Other;
        };
        let mut parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        // Clients may end a path with a slash.
        if parts.len() > 1 && parts.last() == Some(&"") {
            parts.pop();
        }
        match parts.as_slice() {
            ["api", version] => Self::Version { group: String::new(), version: (*version).to_owned() },
            ["apis", group] => Self::Group((*group).to_owned()),
            ["apis", group, version] => {
                Self::Version { group: (*group).to_owned(), version: (*version).to_owned() }
            }
            ["api", version, rest @ ..] => resource("", version, rest),
            ["apis", group, version, rest @ ..] => resource(group, version, rest),
            _ => Self::Other,
        }
    }
}

/// Subresources of a Namespace itself. Any other word in their place is a resource inside it.
const OF_NAMESPACES: [&str; 2] = ["finalize", "status"];

fn resource(group: &str, version: &str, parts: &[&str]) -> Path {
    let (is_watch, parts) = match parts {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        _ => (false, parts),
    };
    let (namespace, parts) = match parts {
        ["namespaces", _] => (None, parts),
        ["namespaces", _, word, ..] if group.is_empty() && OF_NAMESPACES.contains(word) => (None, parts),
        ["namespaces", namespace, rest @ ..] => (Some(*namespace), rest),
        _ => (None, parts),
    };
    let (resource, name, subresource) = match parts {
        [resource] => (*resource, None, None),
        [resource, name] => (*resource, Some(*name), None),
        [resource, name, subresource @ ..] => (*resource, Some(*name), Some(subresource.join("/"))),
        [] => return Path::Other,
    };
    if [Some(resource), name, subresource.as_deref(), namespace].contains(&Some("")) {
        return Path::Other;
    }
    Path::Resource(ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace: namespace.map(str::to_owned),
        resource: resource.to_owned(),
        name: name.map(str::to_owned),
        subresource,
        is_watch,
    })
}

/// A part of a path without its escapes; nothing where it is not text, or would become several parts.
fn decode(part: &str) -> Option<String> {
    if !part.contains('%') {
        return Some(part.to_owned());
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'%' {
            let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
            bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains(['/', '\0']))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(path: &str) -> Option<[String; 6]> {
        match Path::parse(path) {
            Path::Resource(found) => Some([
                found.group,
                found.version,
                found.namespace.unwrap_or_default(),
                found.resource,
                found.name.unwrap_or_default(),
                found.subresource.unwrap_or_default(),
            ]),
            _ => None,
        }
    }

    #[test]
    fn resources_are_found_wherever_they_live() {
        let found = |path| parts(path).map(|parts| parts.join(" ")).unwrap_or_default();
        assert_eq!(found("/api/v1/pods"), " v1  pods  ");
        assert_eq!(found("/api/v1/namespaces/a/pods/b/status"), " v1 a pods b status");
        assert_eq!(found("/apis/apps/v1/namespaces/a/x/"), "apps v1 a x  ");
        assert_eq!(found("/apis/apps/v1/x/y"), "apps v1  x y ");
    }

    #[test]
    fn a_namespace_is_an_object_and_a_place() {
        let found = |path| parts(path).map(|parts| parts.join(" ")).unwrap_or_default();
        assert_eq!(found("/api/v1/namespaces"), " v1  namespaces  ");
        assert_eq!(found("/api/v1/namespaces/a"), " v1  namespaces a ");
        assert_eq!(found("/api/v1/namespaces/a/finalize"), " v1  namespaces a finalize");
        assert_eq!(found("/api/v1/namespaces/a/pods"), " v1 a pods  ");
    }

    #[test]
    fn groups_and_versions_are_told_from_resources() {
        let version = |group: &str| Path::Version { group: group.into(), version: "v1".into() };
        assert_eq!(Path::parse("/api/v1"), version(""));
        assert_eq!(Path::parse("/apis/apps/v1/"), version("apps"));
        assert_eq!(Path::parse("/apis/apps"), Path::Group("apps".into()));
        assert_eq!(Path::parse("/healthz"), Path::Other);
        assert_eq!(Path::parse("/api/v1/namespaces//pods"), Path::Other);
        assert_eq!(parts("/api/v1/x/a/proxy/b").unwrap()[5], "proxy/b");
    }

    #[test]
    fn escapes_are_read_once_and_cannot_make_parts() {
        assert_eq!(parts("/api/v1/clusterroles/system%3Ax").unwrap()[4], "system:x");
        assert_eq!(parts("/api/v1/x/a%2525").unwrap()[4], "a%25");
        for path in ["/api/v1/x/a%2Fb", "/api/v1/x/%", "/api/v1/x/%f", "/api/v1/x/%ff", "/api/v1/x/%00"] {
            assert_eq!(Path::parse(path), Path::Other, "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_path_panics(path in "(/|%|[a-z0-9]|api|apis|namespaces|\\PC)*") {
            Path::parse(&path);
        }
    }
}
