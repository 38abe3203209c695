//! What is computed at the moment somebody asks: queues, leadership, which program this is.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::leadership::LEASE;
use crate::observer::Observer;

#[derive(Debug)]
pub(super) struct State(pub(super) Observer);

impl Collector for State {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let help = "Objects that wait to be looked at";
        let mut depths = encoder.encode_descriptor("workqueue_depth", help, None, MetricType::Gauge)?;
        for (controller, depth) in self.0.depths() {
            let labels = [("name", controller), ("controller", controller)];
            gauge(i64::try_from(depth).unwrap_or(i64::MAX)).encode(depths.encode_family(&labels)?)?;
        }
        let help = "Whether this operator leads";
        let name = "leader_election_master_status";
        let mut leads = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        gauge(i64::from(self.0.is_leading())).encode(leads.encode_family(&[("name", LEASE)])?)
    }
}

#[derive(Debug)]
pub(super) struct Build;

impl Collector for Build {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let help = "Which program this is";
        let mut build =
            encoder.encode_descriptor("agent_sandbox_build_info", help, None, MetricType::Gauge)?;
        let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
        let version = concat!("v", env!("CARGO_PKG_VERSION"));
        let labels = [
            ("git_version", version),
            ("git_commit", "unknown"),
            ("build_date", "unknown"),
            ("go_version", ""),
            ("compiler", "rustc"),
            ("platform", &platform),
        ];
        gauge(1).encode(build.encode_family(&labels)?)
    }
}

fn gauge(value: i64) -> ConstGauge<i64> {
    ConstGauge::new(value)
}
