//! Who we are to which registry: what `docker login`, `podman login` and the Secrets named by `imagePullSecrets` hold.
//! Entries are matched as the kubelet matches them. Helper programs that hold credentials are not run, only named.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// What to show a registry. Never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Credential {
    #[default]
    Anonymous,
    Password {
        user: String,
        password: String,
    },
    /// To be traded for a token.
    Identity(String),
    /// A token as it is.
    Token(String),
}

/// Credentials by the registries and repositories they are for.
#[derive(Clone, Default)]
pub struct Keyring {
    entries: Vec<(Pattern, Credential)>,
    helpers: BTreeMap<String, String>,
    helper: Option<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("the credentials do not read as those of Docker: {0}")]
pub struct InvalidCredentials(String);

/// `*.example.com:5000/team`: any part of the host may have wildcards, the path is a beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    host: Vec<String>,
    port: Option<String>,
    path: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
    #[serde(default)]
    creds_store: Option<String>,
    #[serde(default)]
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    auth: Option<String>,
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    password: Option<String>,
    #[serde(default)]
    identitytoken: Option<String>,
    #[serde(default)]
    registrytoken: Option<String>,
}

impl Keyring {
    /// Adds the entries of a `config.json`, an `auth.json`, or a Secret of type `kubernetes.io/dockerconfigjson`.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), InvalidCredentials> {
        let file: File = serde_json::from_slice(bytes).map_err(|error| unreadable(&error))?;
        self.helper = file.creds_store.filter(|helper| !helper.is_empty()).or(self.helper.take());
        self.helpers.extend(file.cred_helpers);
        self.add_entries(file.auths)
    }

    /// Adds those of a Secret of the older type `kubernetes.io/dockercfg`, which has the entries alone.
    pub fn add_old(&mut self, bytes: &[u8]) -> Result<(), InvalidCredentials> {
        self.add_entries(serde_json::from_slice(bytes).map_err(|error| unreadable(&error))?)
    }

    /// What to try for a repository, the closest match first; anonymous where nothing matches.
    pub fn matching(&self, host: &str, repository: &str) -> Vec<Credential> {
        let mut found: Vec<_> =
            self.entries.iter().filter(|(pattern, _)| pattern.matches(host, repository)).collect();
        found.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.path.len()));
        let mut credentials: Vec<_> = found.into_iter().map(|(_, credential)| credential.clone()).collect();
        credentials.dedup();
        if credentials.is_empty() {
            credentials.push(Credential::Anonymous);
        }
        credentials
    }

    /// What to tell a user whose credentials are where we do not look.
    pub fn hint(&self, host: &str) -> String {
        let helper = self.helpers.get(canonical(host)).or(self.helper.as_ref());
        helper.map_or_else(String::new, |helper| {
            format!(
                "; the credential helper `{helper}` is not asked: write the credentials into the file itself"
            )
        })
    }

    fn add_entries(&mut self, entries: BTreeMap<String, Entry>) -> Result<(), InvalidCredentials> {
        for (key, entry) in entries {
            if let Some(credential) = entry.credential(&key)? {
                self.entries.push((Pattern::read(&key), credential));
            }
        }
        Ok(())
    }
}

impl Entry {
    /// Nothing where a helper holds what the entry is for.
    fn credential(self, key: &str) -> Result<Option<Credential>, InvalidCredentials> {
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(token) = filled(self.registrytoken) {
            return Ok(Some(Credential::Token(token)));
        }
        if let Some(token) = filled(self.identitytoken) {
            return Ok(Some(Credential::Identity(token)));
        }
        let (user, password) = match (filled(self.username), filled(self.password), filled(self.auth)) {
            (Some(user), Some(password), _) => (user, password),
            (_, _, Some(auth)) => {
                decoded(&auth).ok_or_else(|| InvalidCredentials(format!("`auth` of `{key}`")))?
            }
            _ => return Ok(None),
        };
        // By this name Docker says that the password is an identity token.
        let is_token = user == "<token>";
        Ok(Some(if is_token {
            Credential::Identity(password)
        } else {
            Credential::Password { user, password }
        }))
    }
}

fn decoded(auth: &str) -> Option<(String, String)> {
    let text = String::from_utf8(STANDARD.decode(auth.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.trim_end_matches('\0').to_owned()))
}

/// Without the text itself: it holds secrets.
fn unreadable(error: &serde_json::Error) -> InvalidCredentials {
    InvalidCredentials(format!("line {}, column {}", error.line(), error.column()))
}

impl Pattern {
    fn read(key: &str) -> Self {
        let key = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
        let (host, path) = key.split_once('/').unwrap_or((key, ""));
        // These name the protocol, and not a part of the registry.
        let path = if matches!(path.trim_matches('/'), "v1" | "v2") { "" } else { path.trim_matches('/') };
        let (host, port) = host_and_port(canonical(host));
        Self { host: host.split('.').map(str::to_owned).collect(), port, path: path.to_owned() }
    }

    fn matches(&self, host: &str, repository: &str) -> bool {
        let (host, port) = host_and_port(canonical(host));
        let parts: Vec<&str> = host.split('.').collect();
        port == self.port
            && parts.len() == self.host.len()
            && self.host.iter().zip(parts).all(|(pattern, part)| glob(pattern.as_bytes(), part.as_bytes()))
            && (self.path.is_empty()
                || repository == self.path
                || repository.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/')))
    }
}

/// The hub has many names.
fn canonical(host: &str) -> &str {
    if matches!(host, "index.docker.io" | "registry-1.docker.io") { "docker.io" } else { host }
}

fn host_and_port(host: &str) -> (&str, Option<String>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port.to_owned())),
        _ => (host, None),
    }
}

fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), None) => glob(rest, text),
        (Some((b'*', rest)), Some((_, tail))) => glob(rest, text) || glob(pattern, tail),
        (Some((b'?', rest)), Some((_, tail))) => glob(rest, tail),
        (Some((one, rest)), Some((other, tail))) => one == other && glob(rest, tail),
        _ => false,
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Anonymous => "Anonymous",
            Self::Password { .. } => "Password",
            Self::Identity(_) => "Identity",
            Self::Token(_) => "Token",
        })
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Keyring").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn keyring(auths: Value) -> Keyring {
        let mut keyring = Keyring::default();
        keyring.add(json!({"auths": auths}).to_string().as_bytes()).unwrap();
        keyring
    }

    fn password(user: &str) -> Credential {
        Credential::Password { user: user.into(), password: "secret".into() }
    }

    fn entry(user: &str) -> Value {
        json!({"auth": STANDARD.encode(format!("{user}:secret"))})
    }

    #[test]
    fn the_closest_entry_is_tried_first() {
        let keyring = keyring(json!({
            "a.b": entry("all"), "a.b/team": entry("team"), "a.b/team/app": entry("app"), "other": entry("other"),
        }));
        let users = ["app", "team", "all"].map(password);
        assert_eq!(keyring.matching("a.b", "team/app"), users);
        assert_eq!(keyring.matching("a.b", "teams/app"), [password("all")]);
        assert_eq!(keyring.matching("b.a", "x"), [Credential::Anonymous]);
    }

    #[test]
    fn the_hub_is_found_under_all_its_names() {
        for key in ["https://index.docker.io/v1/", "docker.io", "index.docker.io", "registry-1.docker.io"] {
            let keyring = keyring(json!({key: entry("me")}));
            assert_eq!(keyring.matching("docker.io", "library/busybox"), [password("me")], "{key}");
            assert_eq!(keyring.matching("registry-1.docker.io", "library/busybox"), [password("me")]);
        }
    }

    #[test]
    fn hosts_match_part_by_part_and_ports_exactly() {
        let keyring = keyring(json!({"*.example.com:5000": entry("me"), "*-docker.pkg.dev": entry("you")}));
        assert_eq!(keyring.matching("a.example.com:5000", "x"), [password("me")]);
        assert_eq!(keyring.matching("eu-docker.pkg.dev", "x"), [password("you")]);
        for host in
            ["a.example.com", "a.b.example.com:5000", "example.com:5000", "evil.com", "docker.pkg.dev"]
        {
            assert_eq!(keyring.matching(host, "x"), [Credential::Anonymous], "{host}");
        }
    }

    #[test]
    fn every_way_to_write_a_credential_is_read() {
        let read = |entry: Value| keyring(json!({"a.b": entry})).matching("a.b", "x").remove(0);
        assert_eq!(read(json!({"username": "me", "password": "secret"})), password("me"));
        assert_eq!(read(json!({"auth": "", "identitytoken": "t"})), Credential::Identity("t".into()));
        assert_eq!(read(json!({"registrytoken": "t"})), Credential::Token("t".into()));
        assert_eq!(read(json!({"username": "<token>", "password": "t"})), Credential::Identity("t".into()));
        assert_eq!(read(json!({})), Credential::Anonymous);
        let colon = json!({"auth": STANDARD.encode("me:a:b")});
        assert_eq!(read(colon), Credential::Password { user: "me".into(), password: "a:b".into() });
    }

    #[test]
    fn the_older_kind_of_secret_has_the_entries_alone() {
        let mut keyring = Keyring::default();
        keyring.add_old(json!({"a.b": entry("me")}).to_string().as_bytes()).unwrap();
        assert_eq!(keyring.matching("a.b", "x"), [password("me")]);
    }

    #[test]
    fn helpers_are_named_and_not_run() {
        let mut keyring = Keyring::default();
        let file = json!({"credsStore": "desktop", "credHelpers": {"a.b": "special"}});
        keyring.add(file.to_string().as_bytes()).unwrap();
        assert!(keyring.hint("a.b").contains("`special` is not asked"));
        assert!(keyring.hint("c.d").contains("`desktop` is not asked"));
        assert_eq!(Keyring::default().hint("a.b"), "");
    }

    #[test]
    fn neither_errors_nor_debug_output_say_secrets() {
        let mut keyring = Keyring::default();
        let broken = keyring.add(br#"{"auths": {"a": {"auth": 5, "password": "hunter2"}}}"#).unwrap_err();
        let undecodable = keyring.add(br#"{"auths": {"a": {"auth": "hunter2"}}}"#).unwrap_err();
        let shown = format!(
            "{broken} {undecodable} {:?} {:?}",
            password("me"),
            self::keyring(json!({"a": entry("me")}))
        );
        assert!(!shown.contains("hunter2") && !shown.contains("secret"), "{shown}");
    }
}
