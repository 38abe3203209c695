//! What the environment says about traces, as far as the exporter does not read it itself: how they are gathered, whom to
//! trust, and who we are.

use std::time::Duration;
use std::{fs, io};

use opentelemetry_otlp::tonic_types::transport::{Certificate, ClientTlsConfig, Identity};

#[derive(Debug, thiserror::Error)]
pub enum Misconfiguration {
    #[error("{variable}={value} is not supported: traces are sent over grpc")]
    Protocol { variable: &'static str, value: String },
    #[error("{variable} must be one of {choices}, not {value:?}")]
    Choice { variable: &'static str, value: String, choices: String },
    #[error("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not {0:?}")]
    Ratio(String),
    #[error("{variable} must be a whole number above 0, not {value:?}")]
    Number { variable: &'static str, value: String },
    #[error("cannot read the file that {variable} names: {path}")]
    File {
        variable: &'static str,
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY need each other")]
    HalfAnIdentity,
}

#[derive(Debug)]
pub(super) struct Environment {
    pub(super) pace: Pace,
    /// None where the collector is reached in the clear.
    pub(super) security: Option<ClientTlsConfig>,
    pub(super) service: Option<String>,
}

/// How spans are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// How many may wait.
    pub(super) queue: usize,
    /// How many go at a time.
    pub(super) batch: usize,
    /// How long one waits for others to go with.
    pub(super) delay: Duration,
    /// How long a delivery may take.
    pub(super) patience: Duration,
}

/// A variable of traces, and the one of everything, which holds where the former says nothing.
type Pair = [&'static str; 2];

const PROTOCOL: Pair = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const ENDPOINT: Pair = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const INSECURE: Pair = ["OTEL_EXPORTER_OTLP_TRACES_INSECURE", "OTEL_EXPORTER_OTLP_INSECURE"];
const TIMEOUT: Pair = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
const COMPRESSION: Pair = ["OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"];
const SAMPLERS: [&str; 6] = [
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
];
const AUTHORITY: Pair = ["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"];
const CERTIFICATE: Pair =
    ["OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"];
const KEY: Pair = ["OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "OTEL_EXPORTER_OTLP_CLIENT_KEY"];

impl Environment {
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Misconfiguration> {
        let variables = Variables(variable);
        if let Some((variable, value)) = variables.first(PROTOCOL).filter(|(_, value)| value != "grpc") {
            return Err(Misconfiguration::Protocol { variable, value });
        }
        variables.check()?;
        let security = if variables.is_secure() { Some(variables.security()?) } else { None };
        Ok(Self { pace: variables.pace()?, security, service: variables.get("OTEL_SERVICE_NAME") })
    }
}

struct Variables<F>(F);

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    /// An empty variable is as good as none.
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    fn first(&self, names: Pair) -> Option<(&'static str, String)> {
        names.into_iter().find_map(|name| Some((name, self.get(name)?)))
    }

    /// What the exporter reads itself, and would pass over where it does not understand it.
    fn check(&self) -> Result<(), Misconfiguration> {
        for timeout in TIMEOUT {
            self.number(timeout, 1)?;
        }
        for variable in COMPRESSION {
            self.one_of(variable, &["gzip", "none"])?;
        }
        self.one_of("OTEL_TRACES_SAMPLER", &SAMPLERS)?;
        let is_ratio = |value: &String| value.parse().is_ok_and(|ratio| (0.0..=1.0).contains(&ratio));
        match self.get("OTEL_TRACES_SAMPLER_ARG").filter(|value| !is_ratio(value)) {
            None => Ok(()),
            Some(value) => Err(Misconfiguration::Ratio(value)),
        }
    }

    fn one_of(&self, variable: &'static str, choices: &[&str]) -> Result<(), Misconfiguration> {
        match self.get(variable).filter(|value| !choices.contains(&value.as_str())) {
            None => Ok(()),
            Some(value) => Err(Misconfiguration::Choice { variable, value, choices: choices.join(", ") }),
        }
    }

    fn pace(&self) -> Result<Pace, Misconfiguration> {
        let queue = self.number("OTEL_BSP_MAX_QUEUE_SIZE", 2048)?;
        let milliseconds = |number: usize| Duration::from_millis(number.try_into().unwrap_or(u64::MAX));
        Ok(Pace {
            queue,
            batch: self.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)?.min(queue),
            delay: milliseconds(self.number("OTEL_BSP_SCHEDULE_DELAY", 5_000)?),
            patience: milliseconds(self.number("OTEL_BSP_EXPORT_TIMEOUT", 30_000)?),
        })
    }

    fn number(&self, variable: &'static str, default: usize) -> Result<usize, Misconfiguration> {
        let Some(value) = self.get(variable) else { return Ok(default) };
        let number = value.parse().ok().filter(|number| *number > 0);
        number.ok_or(Misconfiguration::Number { variable, value })
    }

    /// Whether the collector is to show a certificate: where its address says so, or says nothing.
    fn is_secure(&self) -> bool {
        let Some((_, endpoint)) = self.first(ENDPOINT) else { return false };
        let is_insecure =
            || self.first(INSECURE).is_some_and(|(_, value)| value.eq_ignore_ascii_case("true"));
        match endpoint.split_once("://") {
            Some((scheme, _)) => scheme.eq_ignore_ascii_case("https"),
            None => !is_insecure(),
        }
    }

    /// An authority of the user's own is trusted in place of the system's.
    fn security(&self) -> Result<ClientTlsConfig, Misconfiguration> {
        let config = match self.file(AUTHORITY)? {
            Some(authority) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority)),
            None => ClientTlsConfig::new().with_native_roots(),
        };
        match (self.file(CERTIFICATE)?, self.file(KEY)?) {
            (None, None) => Ok(config),
            (Some(certificate), Some(key)) => Ok(config.identity(Identity::from_pem(certificate, key))),
            _ => Err(Misconfiguration::HalfAnIdentity),
        }
    }

    fn file(&self, names: Pair) -> Result<Option<Vec<u8>>, Misconfiguration> {
        let Some((variable, path)) = self.first(names) else { return Ok(None) };
        let read = fs::read(&path);
        read.map(Some).map_err(|source| Misconfiguration::File { variable, path, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment, Misconfiguration> {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name);
        Environment::read(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    fn refusal(variables: &[(&str, &str)]) -> String {
        read(variables).map(|_| "accepted").unwrap_err().to_string()
    }

    #[test]
    fn without_variables_spans_are_gathered_as_everywhere_and_sent_in_the_clear() {
        let Environment { pace, security, service } = read(&[("OTEL_SERVICE_NAME", " ")]).unwrap();
        let delay = Duration::from_secs(5);
        assert_eq!(pace, Pace { queue: 2048, batch: 512, delay, patience: Duration::from_secs(30) });
        assert!(security.is_none() && service.is_none());
    }

    #[test]
    fn a_batch_is_never_larger_than_the_queue() {
        assert_eq!(read(&[("OTEL_BSP_MAX_QUEUE_SIZE", "7")]).unwrap().pace.batch, 7);
    }

    #[test]
    fn a_collector_is_reached_as_its_address_says_and_otherwise_securely() {
        let secured = |variables: &[(&str, &str)]| read(variables).unwrap().security.is_some();
        assert!(!secured(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317")]));
        assert!(secured(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "HTTPS://collector:4317")]));
        assert!(secured(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317")]));
        let insecure =
            [("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"), ("OTEL_EXPORTER_OTLP_INSECURE", "true")];
        assert!(!secured(&insecure));
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_name() {
        let refusals = [
            refusal(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")]),
            refusal(&[("OTEL_BSP_SCHEDULE_DELAY", "5s")]),
            refusal(&[("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")]),
            refusal(&[("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd")]),
            refusal(&[("OTEL_TRACES_SAMPLER", "sometimes")]),
            refusal(&[("OTEL_TRACES_SAMPLER_ARG", "25%")]),
            refusal(&[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector"),
                ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/at/all"),
            ]),
            refusal(&[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector"),
                ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/dev/null"),
            ]),
        ];
        insta::assert_snapshot!(refusals.join("\n"), @r#"
        OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf is not supported: traces are sent over grpc
        OTEL_BSP_SCHEDULE_DELAY must be a whole number above 0, not "5s"
        OTEL_EXPORTER_OTLP_TIMEOUT must be a whole number above 0, not "10s"
        OTEL_EXPORTER_OTLP_COMPRESSION must be one of gzip, none, not "zstd"
        OTEL_TRACES_SAMPLER must be one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio, not "sometimes"
        OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not "25%"
        cannot read the file that OTEL_EXPORTER_OTLP_CERTIFICATE names: /nowhere/at/all
        OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY need each other
        "#);
    }
}
