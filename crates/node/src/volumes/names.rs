//! Names that become paths: what they may look like. Nobody who writes a Pod gets to choose a path outside of its volumes.

use std::path::PathBuf;

const LONGEST_PATH: usize = 4096;
const LONGEST_NAME: usize = 255;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} {name:?} is refused: {reason}")]
pub struct Refused {
    pub what: &'static str,
    pub name: String,
    pub reason: &'static str,
}

/// Of a volume in a Pod.
pub fn volume(name: &str) -> Result<&str, Refused> {
    plain("volume name", name, 63, false)
}

/// Of a persistent volume.
pub fn persistent(name: &str) -> Result<&str, Refused> {
    plain("name of a persistent volume", name, 253, true)
}

/// Of a Pod.
pub fn uid(uid: &str) -> Result<&str, Refused> {
    plain("uid", uid, 128, false)
}

fn plain<'a>(what: &'static str, name: &'a str, longest: usize, dots: bool) -> Result<&'a str, Refused> {
    let refused = |reason| Err(Refused { what, name: name.to_owned(), reason });
    let is_plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
    if name.is_empty() || name.len() > longest {
        return refused("it is empty or too long");
    }
    if !name.chars().all(|sign| is_plain(sign) || (dots && sign == '.')) {
        return refused("it has other signs than small letters, digits and dashes");
    }
    if name.starts_with(['-', '.']) || name.ends_with(['-', '.']) || name.contains("..") {
        return refused("it begins or ends with a sign that is no letter");
    }
    Ok(name)
}

/// A file in a volume, by the rules that Kubernetes has for them.
pub fn item(path: &str) -> Result<PathBuf, Refused> {
    let refused = |reason| Err(Refused { what: "path of a file", name: path.to_owned(), reason });
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if path.starts_with('/') {
        return refused("it must be relative");
    }
    if parts.contains(&"..") {
        return refused("it must not contain '..'");
    }
    if path.contains('\0') {
        return refused("it must not contain a NUL byte");
    }
    if path.len() > LONGEST_PATH || parts.iter().any(|part| part.len() > LONGEST_NAME) {
        return refused("it is too long");
    }
    match parts.first() {
        None => refused("it must not be empty"),
        Some(first) if first.starts_with("..") => refused("it must not start with '..'"),
        Some(_) => Ok(parts.iter().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_climb_or_hide_are_refused() {
        for name in ["", ".", "..", "a/b", "../a", "a\0", "A", "-a", "a-", ".a", "a.b", &"a".repeat(64)] {
            assert!(volume(name).is_err(), "{name:?}");
        }
        for name in ["a..b", ".new-a", "/etc", "a/../b"] {
            assert!(persistent(name).is_err(), "{name:?}");
        }
        assert!(uid("../x").is_err() && uid("0b7c-11").is_ok());
        assert_eq!((volume("a-1"), persistent("pvc-1.x")), (Ok("a-1"), Ok("pvc-1.x")));
    }

    #[test]
    fn files_stay_in_their_volume_and_do_not_hide_its_workings() {
        let message = |path: &str| item(path).unwrap_err().to_string();
        insta::assert_snapshot!(
            ["", "/etc/passwd", "../x", "a/../../x", "..data", "..data/x", "a\0b", "./."]
                .map(message)
                .join("\n")
        );
        assert!(item(&format!("a/{}", "b".repeat(256))).is_err());
        assert_eq!(item("a//./b").unwrap(), PathBuf::from("a/b"));
        assert_eq!(item("a/..b").unwrap(), PathBuf::from("a/..b"));
    }
}
