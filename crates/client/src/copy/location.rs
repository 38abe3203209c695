//! The two ends of a copy as people type them, and what `tar` has to be told. Pure.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::address::Address;

/// One end of a copy: `NAME:PATH` is in a Sandbox, everything else is here. A path of here that has a colon begins with
/// `./` or `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    Here(PathBuf),
    Inside { address: Address, path: String },
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_path = text.starts_with(['/', '.', '~']);
        let inside = text.split_once(':').filter(|_| !is_path);
        let Some((name, path)) = inside else { return Ok(Self::Here(text.into())) };
        let address = name.parse().map_err(|error| format!("{error}; a file of here is ./{text}"))?;
        if path.is_empty() {
            return Err(format!("there is no path after the colon; write {name}:/path"));
        }
        Ok(Self::Inside { address, path: path.to_owned() })
    }
}

/// A directory inside, and a name in it. The name `.` is the directory itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inside {
    pub(super) directory: String,
    pub(super) name: String,
}

/// Where something of here goes.
pub(super) fn into(from: &Path, to: &str, is_directory: bool) -> Inside {
    // `Path` forgets a dot at the end, and `..` has no name.
    let contents = from.as_os_str().to_string_lossy().ends_with("/.") || from == Path::new(".");
    let own = from.file_name().filter(|_| !contents).map(|name| name.to_string_lossy().into_owned());
    match (is_directory, own) {
        (true, Some(name)) => Inside { directory: to.to_owned(), name },
        (_, None) => Inside { directory: to.to_owned(), name: ".".to_owned() },
        (false, Some(_)) => split(to),
    }
}

/// Where something comes from.
pub(super) fn out_of(from: &str) -> Inside {
    split(from)
}

fn split(path: &str) -> Inside {
    let trimmed = path.trim_end_matches('/');
    let inside =
        |directory: &str, name: &str| Inside { directory: directory.to_owned(), name: name.to_owned() };
    match trimmed.rsplit_once('/') {
        _ if trimmed.is_empty() => inside("/", "."),
        _ if matches!(trimmed, "." | "..") => inside(trimmed, "."),
        None => inside(".", trimmed),
        Some((_, "." | "..")) => inside(trimmed, "."),
        Some(("", name)) => inside("/", name),
        Some((directory, name)) => inside(directory, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(directory: &str, name: &str) -> Inside {
        Inside { directory: directory.to_owned(), name: name.to_owned() }
    }

    #[test]
    fn a_name_and_a_colon_are_in_a_sandbox() {
        let read = |text: &str| text.parse::<Location>();
        let within = |name: &str, path: &str| {
            Ok(Location::Inside { address: name.parse().unwrap(), path: path.to_owned() })
        };
        assert_eq!(read("box:/etc/hosts"), within("box", "/etc/hosts"));
        assert_eq!(read("team/claim/box:a:b"), within("team/claim/box", "a:b"));
        for here in ["file", "./a:b", "/tmp/a:b", "../x", "."] {
            assert_eq!(read(here), Ok(Location::Here(here.into())));
        }
        assert!(read("box:").is_err() && read("C:\\x").is_err());
    }

    #[test]
    fn into_a_directory_it_goes_by_its_own_name() {
        assert_eq!(into(Path::new("src"), "/work", true), inside("/work", "src"));
        assert_eq!(into(Path::new("src/"), "/data/", true), inside("/data/", "src"));
        assert_eq!(into(Path::new("a.txt"), "/data/b.txt", false), inside("/data", "b.txt"));
        assert_eq!(into(Path::new("a.txt"), "b.txt", false), inside(".", "b.txt"));
        assert_eq!(into(Path::new("src/."), "/work", true), inside("/work", "."));
        assert_eq!(into(Path::new("."), "/work", true), inside("/work", "."));
    }

    #[test]
    fn what_comes_out_is_named_by_its_last_part() {
        let paths = ["/etc/hosts", "/etc/", "/", "hosts", ".", "/data/..", "a/b"].map(out_of);
        let expected = [
            inside("/etc", "hosts"),
            inside("/", "etc"),
            inside("/", "."),
            inside(".", "hosts"),
            inside(".", "."),
            inside("/data/..", "."),
            inside("a", "b"),
        ];
        assert_eq!(paths, expected);
    }
}
