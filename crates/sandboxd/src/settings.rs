//! What sandboxd is told on its command line and by its environment. Pure: both are arguments.

mod help;
pub(crate) mod limits;

use std::net::IpAddr;
use std::path::PathBuf;

pub(crate) use help::HELP;
use limits::Limits;

use crate::token::{PublicKey, Verifier};

const RUNTIME_PORT: u16 = 8888;
const REST_PORT: u16 = 8080;
const GRPC_PORT: u16 = 9090;
/// Variables that metadata shows, as upstream's daemon has it.
const METADATA_PREFIX: &str = "SANDBOX_";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Misuse(String);

/// What to do.
#[derive(Debug)]
pub(crate) enum Task {
    Help,
    Version,
    Install(PathBuf),
    Serve(Box<Settings>),
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) host: IpAddr,
    /// Without those that are 0; every one serves everything.
    pub(crate) ports: Vec<u16>,
    /// Nothing was said: `root` decides.
    pub(crate) root: Option<PathBuf>,
    pub(crate) access: Access,
    pub(crate) metadata_prefix: String,
    pub(crate) signal_exit_codes: bool,
    pub(crate) limits: Limits,
    /// The command that the container is for.
    pub(crate) command: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum Access {
    /// Whoever reaches a port may do everything, as with upstream's programs.
    Open,
    Token {
        verifier: Option<Verifier>,
        bearer_file: Option<PathBuf>,
    },
}

/// What was said so far.
#[derive(Default)]
struct Said {
    host: Option<String>,
    ports: [Option<String>; 3],
    root: Option<String>,
    access: Option<String>,
    keys: Vec<String>,
    uid: Option<String>,
    bearer_file: Option<String>,
    metadata_prefix: Option<String>,
    signal_exit_codes: bool,
    limits: Limits,
    command: Vec<String>,
}

/// `variable` looks into the environment.
pub(crate) fn parse(arguments: &[String], variable: &dyn Fn(&str) -> Option<String>) -> Result<Task, Misuse> {
    match arguments {
        [] => Ok(Task::Help),
        [first, ..] if ["help", "--help", "-h"].contains(&first.as_str()) => Ok(Task::Help),
        [first, ..] if ["version", "--version", "-V"].contains(&first.as_str()) => Ok(Task::Version),
        [first, directory] if first == "install" && !directory.starts_with('-') => {
            Ok(Task::Install(directory.into()))
        }
        [first, ..] if first == "install" => Err(misuse("`sandboxd install` takes one directory")),
        [first, rest @ ..] if first == "serve" => serve(rest, variable),
        [first, ..] => Err(misuse(format!("`{first}` is none of serve, install, version and help"))),
    }
}

fn misuse(message: impl Into<String>) -> Misuse {
    Misuse(message.into())
}

fn serve(arguments: &[String], variable: &dyn Fn(&str) -> Option<String>) -> Result<Task, Misuse> {
    let mut said = Said::from_environment(variable)?;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--" => {
                said.command = rest.by_ref().cloned().collect();
                if said.command.is_empty() {
                    return Err(misuse("a command belongs behind `--`"));
                }
            }
            "--help" | "-h" => return Ok(Task::Help),
            "--signal-exit-codes" => said.signal_exit_codes = true,
            flag => {
                let (flag, given) =
                    flag.split_once('=').map_or((flag, None), |(flag, value)| (flag, Some(value)));
                let value = given.map(str::to_owned).or_else(|| rest.next().cloned());
                said.take(flag, value)?;
            }
        }
    }
    said.settled(variable).map(|settings| Task::Serve(Box::new(settings)))
}

impl Said {
    fn from_environment(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, Misuse> {
        let mut said = Self::default();
        let flags = FLAGS.iter().copied().chain(limits::TABLE.iter().map(|limit| limit.flag));
        for flag in flags.filter(|flag| *flag != "--public-key") {
            if let Some(value) = variable(&variable_of(flag)) {
                said.take(flag, Some(value))?;
            }
        }
        let keys = variable("SANDBOXD_PUBLIC_KEYS").unwrap_or_default();
        said.keys = keys.split_whitespace().map(str::to_owned).collect();
        said.signal_exit_codes = variable("SANDBOXD_SIGNAL_EXIT_CODES").is_some_and(|value| value == "true");
        // The name that upstream's runtime has for it.
        if let Some(value) = variable("SANDBOX_EXEC_TIMEOUT_SECONDS") {
            said.limits.set("--execute-seconds", &value).map_err(misuse)?;
        }
        Ok(said)
    }

    fn take(&mut self, flag: &str, value: Option<String>) -> Result<(), Misuse> {
        if !FLAGS.contains(&flag) && !limits::TABLE.iter().any(|limit| limit.flag == flag) {
            return Err(misuse(format!("`{flag}` is not known; `sandboxd --help` says what is")));
        }
        let value = value.ok_or_else(|| misuse(format!("`{flag}` takes a value")))?;
        match flag {
            "--listen-host" => self.host = Some(value),
            "--runtime-port" => self.ports[0] = Some(value),
            "--rest-port" => self.ports[1] = Some(value),
            "--grpc-port" => self.ports[2] = Some(value),
            "--root-dir" => self.root = Some(value),
            "--access" => self.access = Some(value),
            "--public-key" => self.keys.push(value),
            "--sandbox-uid" => self.uid = Some(value),
            "--bearer-token-file" => self.bearer_file = Some(value),
            "--metadata-env-prefix" => self.metadata_prefix = Some(value),
            limit => self.limits.set(limit, &value).map_err(misuse)?,
        }
        Ok(())
    }

    fn settled(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Settings, Misuse> {
        let access = self.access()?;
        let only_one = matches!(access, Access::Token { .. });
        let host = self.host.as_deref().unwrap_or("0.0.0.0");
        let host = host.parse().map_err(|_| misuse(format!("--listen-host is an address, not {host:?}")))?;
        Ok(Settings {
            host,
            ports: ports(&self.ports, only_one)?,
            root: self.root.or_else(|| variable("SANDBOX_BASE_DIR")).map(PathBuf::from),
            access,
            metadata_prefix: self.metadata_prefix.unwrap_or_else(|| METADATA_PREFIX.to_owned()),
            signal_exit_codes: self.signal_exit_codes,
            limits: self.limits,
            command: self.command,
        })
    }

    /// Whoever gives keys means them: without a word about access they decide.
    fn access(&self) -> Result<Access, Misuse> {
        let has_means = !self.keys.is_empty() || self.bearer_file.is_some();
        match self.access.as_deref() {
            Some("open") if has_means => {
                Err(misuse("--access open takes neither --public-key nor --bearer-token-file"))
            }
            Some("open") => Ok(Access::Open),
            None if !has_means => Ok(Access::Open),
            Some("token") | None => self.token_access(),
            Some(other) => Err(misuse(format!("--access is open or token, not {other:?}"))),
        }
    }

    fn token_access(&self) -> Result<Access, Misuse> {
        let keys: Result<Vec<_>, _> = self.keys.iter().map(|key| PublicKey::parse(key)).collect();
        let keys = keys.map_err(|error| misuse(format!("--public-key: {error}")))?;
        let bearer_file = self.bearer_file.as_ref().map(PathBuf::from);
        let verifier = match (keys.is_empty(), &self.uid) {
            (true, _) if bearer_file.is_none() => {
                return Err(misuse("--access token needs --public-key or --bearer-token-file"));
            }
            (true, _) => None,
            (false, Some(uid)) if !uid.is_empty() => Some(Verifier::new(keys, uid)),
            (false, _) => return Err(misuse("--public-key needs --sandbox-uid: tokens are for one sandbox")),
        };
        Ok(Access::Token { verifier, bearer_file })
    }
}

/// Whoever is known by tokens comes to one port, and everything is served there; others expect three.
fn ports(said: &[Option<String>; 3], only_one: bool) -> Result<Vec<u16>, Misuse> {
    let defaults = if only_one { [RUNTIME_PORT, 0, 0] } else { [RUNTIME_PORT, REST_PORT, GRPC_PORT] };
    let mut ports = Vec::new();
    for (said, default) in said.iter().zip(defaults) {
        let port = said.as_ref().map_or(Ok(default), |text| text.parse());
        let port =
            port.map_err(|_| misuse(format!("{:?} is no port", said.as_deref().unwrap_or_default())))?;
        match port {
            0 => {}
            port if ports.contains(&port) => return Err(misuse(format!("port {port} is given twice"))),
            port => ports.push(port),
        }
    }
    if ports.is_empty() { Err(misuse("every port is 0: there is nothing to serve")) } else { Ok(ports) }
}

/// Those with a value, besides the limits.
const FLAGS: &[&str] = &[
    "--listen-host",
    "--runtime-port",
    "--rest-port",
    "--grpc-port",
    "--root-dir",
    "--access",
    "--public-key",
    "--sandbox-uid",
    "--bearer-token-file",
    "--metadata-env-prefix",
];

/// `--root-dir` is `SANDBOXD_ROOT_DIR`.
fn variable_of(flag: &str) -> String {
    format!("SANDBOXD_{}", flag.trim_start_matches('-').replace('-', "_").to_uppercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

    fn parsed(line: &str, environment: &[(&str, &str)]) -> Result<Task, Misuse> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let variable = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        parse(&arguments, &variable)
    }

    fn served(line: &str) -> Settings {
        settings(parsed(&format!("serve {line}"), &[]))
    }

    fn settings(task: Result<Task, Misuse>) -> Settings {
        match task {
            Ok(Task::Serve(settings)) => *settings,
            other => panic!("{other:?}"),
        }
    }

    fn refused(line: &str) -> String {
        parsed(&format!("serve {line}"), &[]).unwrap_err().to_string()
    }

    #[test]
    fn without_a_word_it_is_what_upstream_is() {
        let settings = served("");
        assert_eq!(settings.ports, [8888, 8080, 9090]);
        assert_eq!(settings.host.to_string(), "0.0.0.0");
        assert!(matches!(settings.access, Access::Open));
        assert_eq!(settings.root, None);
    }

    #[test]
    fn with_tokens_one_port_is_enough() {
        let settings = served(&format!("--public-key {KEY} --sandbox-uid u"));
        assert_eq!(settings.ports, [8888]);
        assert!(matches!(settings.access, Access::Token { verifier: Some(_), bearer_file: None }));
        assert_eq!(served("--bearer-token-file /t --grpc-port 9090").ports, [8888, 9090]);
    }

    #[test]
    fn what_is_said_is_taken_and_the_rest_is_the_command() {
        let settings =
            served("--root-dir=/w --max-processes 7 --runtime-port 0 --signal-exit-codes -- sh -c --help");
        assert_eq!(settings.root, Some("/w".into()));
        assert_eq!(settings.limits.processes, 7);
        assert_eq!(settings.ports, [8080, 9090]);
        assert!(settings.signal_exit_codes);
        assert_eq!(settings.command, ["sh", "-c", "--help"]);
    }

    #[test]
    fn the_environment_says_it_too_and_the_command_line_last() {
        let environment = [
            ("SANDBOXD_ROOT_DIR", "/environment"),
            ("SANDBOXD_MAX_PROCESSES", "3"),
            ("SANDBOXD_PUBLIC_KEYS", KEY),
            ("SANDBOXD_SANDBOX_UID", "u"),
            ("SANDBOX_EXEC_TIMEOUT_SECONDS", "9"),
            ("SANDBOX_BASE_DIR", "/base"),
        ];
        let line = settings(parsed("serve --root-dir /line", &environment));
        assert_eq!(line.root, Some("/line".into()));
        assert_eq!((line.limits.processes, line.limits.execute_seconds), (3, 9));
        assert!(matches!(line.access, Access::Token { .. }));
        assert_eq!(settings(parsed("serve", &environment[5..])).root, Some("/base".into()));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        insta::assert_snapshot!(
            [
                "--bogus 1",
                "--root-dir",
                "--listen-host localhost",
                "--rest-port 8888",
                "--rest-port x",
                "--runtime-port 0 --rest-port 0 --grpc-port 0",
                "--access maybe",
                "--access token",
                "--access open --bearer-token-file /t",
                "--public-key x --sandbox-uid u",
                &format!("--public-key {KEY}"),
                "--max-processes many",
                "--max-processes 0",
                "--",
            ]
            .map(|line| format!("{line}: {}", refused(line)))
            .join("\n")
        );
    }

    #[test]
    fn every_flag_is_explained() {
        for flag in FLAGS.iter().copied().chain(limits::TABLE.iter().map(|limit| limit.flag)) {
            assert!(HELP.contains(flag) || limits::help().contains(flag), "{flag}");
        }
    }

    proptest! {
        #[test]
        fn nothing_breaks_it(arguments in proptest::collection::vec("(--[a-z-]{0,20}(=.{0,9})?|.{0,20})", 0..8)) {
            let arguments: Vec<String> = ["serve".to_owned()].into_iter().chain(arguments).collect();
            let _ = parse(&arguments, &|_| None);
        }
    }
}
