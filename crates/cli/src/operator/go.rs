//! How Go programs read their command line: one dash or two, `--flag=value`, booleans, durations and addresses.

use std::any::TypeId;
use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::{Arg, Command};
use jiff::SignedDuration;
use tokio::net::TcpListener;

/// The subcommand that understands Go's way.
const SUBCOMMAND: &str = "operator";

/// The command line with long flags behind two dashes, where it is for the operator.
pub(crate) fn normalised(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let arguments: Vec<_> = arguments.into_iter().collect();
    if arguments.get(1).is_none_or(|subcommand| subcommand != SUBCOMMAND) {
        return arguments;
    }
    arguments.into_iter().map(|argument| two_dashes(&argument).unwrap_or(argument)).collect()
}

/// `--flag` for `-flag`. Numbers and single letters stay.
fn two_dashes(argument: &OsString) -> Option<OsString> {
    let name = argument.to_str()?.strip_prefix('-')?;
    let is_long = name.len() > 1 && name.starts_with(|first: char| first.is_ascii_alphabetic());
    is_long.then(|| format!("--{name}").into())
}

/// The operator's flags as Go has them: a boolean takes its value after `=` or is true without one, and of a flag that is
/// given twice the last counts.
pub(crate) fn in_go_syntax(command: Command) -> Command {
    command.mut_subcommand(SUBCOMMAND, |operator| {
        operator.args_override_self(true).mut_args(|argument| {
            let is_boolean = argument.get_value_parser().type_id() == TypeId::of::<bool>();
            if is_boolean && argument.get_action().takes_values() { switch(argument) } else { argument }
        })
    })
}

fn switch(argument: Arg) -> Arg {
    argument
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .value_name("BOOL")
        .value_parser(boolean)
}

fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("it must be true or false".to_owned()),
    }
}

/// A number with a unit, or several: `250ms`, `1h30m`, `-1.5s`; 0 needs none.
pub(super) fn duration(text: &str) -> Result<SignedDuration, String> {
    const UNITS: [(&str, f64); 8] = [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("μs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
    ];
    let problem = || "it must be a number with a unit, such as 300ms, 5m or 1h30m".to_owned();
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned == "0" {
        return Ok(SignedDuration::ZERO);
    }
    let (mut rest, mut seconds) = (unsigned, 0.0);
    while !rest.is_empty() || seconds == 0.0 && unsigned.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.');
        let (number, after) = rest.split_at(end.ok_or_else(problem)?);
        let end = after.find(|character: char| character.is_ascii_digit() || character == '.');
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(problem)?;
        seconds += number.parse::<f64>().map_err(|_| problem())? * factor;
        rest = after;
    }
    let seconds = if text.starts_with('-') { -seconds } else { seconds };
    SignedDuration::try_from_secs_f64(seconds).map_err(|_| problem())
}

/// Where to listen: `:8080`, `127.0.0.1:8080`; `0` or nothing for nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bind {
    Nowhere,
    Everywhere(u16),
    At { host: String, port: u16 },
}

impl FromStr for Bind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "0" {
            return Ok(Self::Nowhere);
        }
        let problem = "it must be ADDRESS:PORT or :PORT, or 0 for nowhere";
        let (host, port) = text.rsplit_once(':').ok_or(problem)?;
        let port = port.parse().map_err(|_| problem)?;
        if host.is_empty() {
            return Ok(Self::Everywhere(port));
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self::At { host, port })
    }
}

impl Bind {
    /// Begins to listen, if anywhere.
    pub(crate) async fn listen(&self) -> Result<Option<TcpListener>> {
        let listener = match self {
            Self::Nowhere => return Ok(None),
            Self::At { host, port } => TcpListener::bind((host.as_str(), *port)).await,
            Self::Everywhere(port) => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, *port)).await {
                Err(error) if error.kind() != std::io::ErrorKind::AddrInUse => {
                    // A machine without IPv6.
                    TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).await
                }
                other => other,
            },
        };
        Ok(Some(listener.with_context(|| format!("cannot listen on {self}"))?))
    }
}

impl std::fmt::Display for Bind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nowhere => write!(formatter, "0"),
            Self::Everywhere(port) => write!(formatter, ":{port}"),
            Self::At { host, port } => write!(formatter, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        let read = |text: &str| duration(text).map(|duration| duration.as_millis());
        assert_eq!(
            ["0", "5m", "1h30m", "250ms", "1.5s", "-1s", "0s"].map(|text| read(text).unwrap()),
            [0, 300_000, 5_400_000, 250, 1500, -1000, 0]
        );
        for wrong in ["", "5", "m", "5x", "1h5", "-", "five"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn addresses_are_read_as_go_writes_them() {
        let read = |text: &str| text.parse::<Bind>();
        let at = |host: &str, port| Bind::At { host: host.to_owned(), port };
        assert_eq!(read(":8080"), Ok(Bind::Everywhere(8080)));
        assert_eq!(read("127.0.0.1:0"), Ok(at("127.0.0.1", 0)));
        assert_eq!(read("[::1]:80"), Ok(at("::1", 80)));
        assert_eq!([read("0"), read("")], [Ok(Bind::Nowhere), Ok(Bind::Nowhere)]);
        assert!(read("8080").is_err() && read(":http").is_err());
    }

    #[test]
    fn only_the_operator_takes_long_flags_behind_one_dash() {
        let line = |line: &str| normalised(line.split(' ').map(OsString::from)).join(&OsString::from(" "));
        let operator = "asb operator -extensions -leader-elect=false -h --kube-api-qps -1";
        assert_eq!(line(operator), "asb operator --extensions --leader-elect=false -h --kube-api-qps -1");
        assert_eq!(line("asb status -output json"), "asb status -output json");
    }
}
