//! Which program this is: its version, and what it was built from, where that is known.

use std::fmt::Error;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

const UNKNOWN: &str = "unknown";

#[derive(Clone, Debug)]
pub struct Build {
    pub version: &'static str,
    /// The commit that it was built from. Builds for development do not know it: they would be made anew with each.
    pub commit: &'static str,
    /// When that commit was made. The same sources make the same program, whenever they are built.
    pub date: String,
}

impl Build {
    pub fn of_this_program() -> Self {
        Self {
            version: concat!("v", env!("CARGO_PKG_VERSION")),
            commit: option_env!("ASB_BUILD_COMMIT").filter(|commit| !commit.is_empty()).unwrap_or(UNKNOWN),
            date: option_env!("ASB_BUILD_EPOCH").and_then(date).unwrap_or_else(|| UNKNOWN.to_owned()),
        }
    }
}

/// A time that is given in seconds since 1970.
fn date(epoch: &str) -> Option<String> {
    Some(Timestamp::from_second(epoch.parse().ok()?).ok()?.to_string())
}

impl Collector for Build {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let (name, help) = ("agent_sandbox_build_info", "Which program this is");
        let mut build = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        let platform = platform(std::env::consts::OS, std::env::consts::ARCH);
        let labels = [
            ("git_version", self.version),
            ("git_commit", self.commit),
            ("build_date", &*self.date),
            ("go_version", "none"),
            ("compiler", "rustc"),
            ("platform", &platform),
        ];
        ConstGauge::new(1_i64).encode(build.encode_family(&labels)?)
    }
}

/// In Kubernetes' words.
fn platform(system: &str, processor: &str) -> String {
    let processor = match processor {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}/{processor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_called_as_kubernetes_calls_them() {
        assert_eq!(platform("linux", "x86_64"), "linux/amd64");
        assert_eq!(platform("linux", "riscv64"), "linux/riscv64");
    }

    #[test]
    fn a_date_is_read_from_seconds() {
        assert_eq!(date("1785542400").as_deref(), Some("2026-08-01T00:00:00Z"));
        assert_eq!(date("yesterday"), None);
    }
}
