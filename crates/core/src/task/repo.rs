//! Addresses of repositories, as far as they may be given to git: whole URLs of few sorts, and nothing that git or ssh could
//! take for an option, a command or a file of ours.

use std::fmt;
use std::str::FromStr;

/// Where a repository is. Holds no credentials.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repo {
    pub transport: Transport,
    /// For ssh alone.
    pub user: Option<String>,
    pub host: String,
    pub port: Option<u16>,
    /// Without the slash that begins it.
    pub path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    Https,
    Http,
    Ssh,
}

impl Transport {
    fn scheme(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    #[error("a repository is an https, http or ssh URL, or user@host:path")]
    Form,
    #[error(
        "credentials do not belong in the URL of a repository: put them into a Secret, and name it in credentials.gitSecret"
    )]
    Credentials,
    #[error("the host of the repository is not a host name or an address")]
    Host,
    #[error("the port of the repository is not a number from 1 to 65535")]
    Port,
    #[error("the path of the repository is empty, or has characters or parts that cannot be in one")]
    Path,
}

impl FromStr for Repo {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        match text.split_once("://") {
            Some((scheme, rest)) => url(scheme, rest),
            None => short(text),
        }
    }
}

fn url(scheme: &str, rest: &str) -> Result<Repo, Wrong> {
    let transport = match scheme.to_ascii_lowercase().as_str() {
        "https" => Transport::Https,
        "http" => Transport::Http,
        "ssh" => Transport::Ssh,
        _ => return Err(Wrong::Form),
    };
    let (authority, path) = rest.split_once('/').ok_or(Wrong::Path)?;
    let (user, place) = match authority.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, authority),
    };
    let (host, port) = host_and_port(place)?;
    Ok(Repo { transport, user: named(transport, user)?, host, port, path: checked_path(path)? })
}

/// As scp has it: `git@example.com:team/project.git`.
fn short(text: &str) -> Result<Repo, Wrong> {
    let (user, rest) = text.split_once('@').ok_or(Wrong::Form)?;
    let (host, path) = rest.split_once(':').ok_or(Wrong::Form)?;
    let user = named(Transport::Ssh, Some(user))?;
    let path = checked_path(path.strip_prefix('/').unwrap_or(path))?;
    Ok(Repo { transport: Transport::Ssh, user, host: checked_host(host)?, port: None, path })
}

/// Over HTTP a user is half of a credential; over ssh it is part of the address.
fn named(transport: Transport, user: Option<&str>) -> Result<Option<String>, Wrong> {
    let Some(user) = user else { return Ok(None) };
    if transport != Transport::Ssh || user.contains(':') {
        return Err(Wrong::Credentials);
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let fits = !user.is_empty() && !user.starts_with('-') && user.chars().all(plain);
    if fits { Ok(Some(user.to_owned())) } else { Err(Wrong::Form) }
}

fn host_and_port(place: &str) -> Result<(String, Option<u16>), Wrong> {
    let split = match place.rfind(']') {
        Some(end) => place[end..].find(':').map(|at| end + at),
        None => place.find(':'),
    };
    let (host, port) = match split {
        Some(at) => (&place[..at], Some(&place[at + 1..])),
        None => (place, None),
    };
    let port = port.map(|port| port.parse().ok().filter(|port| *port != 0).ok_or(Wrong::Port));
    Ok((checked_host(host)?, port.transpose()?))
}

fn checked_host(host: &str) -> Result<String, Wrong> {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if let Some(address) = address {
        let address: std::net::Ipv6Addr = address.parse().map_err(|_| Wrong::Host)?;
        return Ok(format!("[{address}]"));
    }
    let letters = |label: &str| {
        label.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_')
    };
    let label = |label: &str| !label.is_empty() && !label.starts_with('-') && letters(label);
    let whole = host.strip_suffix('.').unwrap_or(host);
    if whole.len() <= 253 && whole.split('.').all(label) {
        Ok(whole.to_ascii_lowercase())
    } else {
        Err(Wrong::Host)
    }
}

fn checked_path(path: &str) -> Result<String, Wrong> {
    let path = path.trim_end_matches('/');
    let letter = |letter: char| letter.is_ascii_graphic() && !"\"'`\\$;&|<>?#*(){}[]!^".contains(letter);
    let part = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.starts_with('-');
    let fits = path.chars().all(letter) && path.split('/').all(part) && !escapes(path);
    if fits { Ok(path.to_owned()) } else { Err(Wrong::Path) }
}

/// Dots and slashes that are written as escapes.
fn escapes(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    ["%2e", "%2f", "%5c", "%00", "%0a", "%0d"].iter().any(|escape| path.contains(escape))
}

/// As git is given it.
impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.transport.scheme())?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        f.write_str(&self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        write!(f, "/{}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(text: &str) -> Result<String, Wrong> {
        text.parse::<Repo>().map(|repo| repo.to_string())
    }

    #[test]
    fn the_usual_forms_are_understood() {
        let same = [
            "https://github.com/team/project",
            "http://127.0.0.1:8080/a/b.git",
            "ssh://git@example.com:2222/~me/project.git",
            "https://[::1]:8443/x.git",
        ];
        for text in same {
            assert_eq!(said(text).as_deref(), Ok(text));
        }
        assert_eq!(said("git@GitHub.com:team/p.git").as_deref(), Ok("ssh://git@github.com/team/p.git"));
        assert_eq!(said("HTTPS://example.com/p/").as_deref(), Ok("https://example.com/p"));
    }

    #[test]
    fn credentials_are_refused_with_what_to_do() {
        for text in ["https://me:secret@example.com/p", "https://token@example.com/p", "ssh://me:pw@h/p"] {
            assert_eq!(said(text), Err(Wrong::Credentials), "{text}");
        }
    }

    /// What git would run, read from this machine, or take for an option.
    #[test]
    fn nothing_that_git_takes_for_something_else_gets_through() {
        let hostile = [
            "ext::sh -c id",
            "file:///etc",
            "/etc",
            "../x",
            "-uhttps://x/y",
            "git://h/p",
            "ssh://-oProxyCommand=id/p",
            "ssh://h/-x",
            "git@-oProxyCommand=id:p",
            "-l@h:p",
            "https:///p",
            "https://h",
            "https://h/",
            "https://h/a//b",
            "https://h/../b",
            "https://h/%2e%2e/b",
            "https://h/a b",
            "https://h/a\nb",
            "https://h/a?b",
            "https://h/a#b",
            "https://h:0/p",
            "https://h:99999/p",
            "https://h:/p",
            "https://h_/p;id",
            "https://h/$(id)",
            "https://[::g]/p",
            "",
            "x",
            "fd::17/foo",
            "transport::https://h/p",
        ];
        for text in hostile {
            assert!(said(text).is_err(), "{text:?} became {:?}", said(text));
        }
    }

    proptest! {
        #[test]
        fn what_is_understood_is_understood_again_as_the_same(text in "(https|ssh|http)://[a-z@:.-]{1,12}(/[a-zA-Z0-9._~%-]{1,6}){0,3}") {
            if let Ok(repo) = text.parse::<Repo>() {
                prop_assert_eq!(repo.to_string().parse::<Repo>(), Ok(repo));
            }
        }

        #[test]
        fn no_text_is_too_strange_to_be_answered(text in "\\PC{0,40}") {
            if let Ok(repo) = text.parse::<Repo>() {
                prop_assert!(!repo.to_string().contains(char::is_whitespace));
            }
        }
    }
}
