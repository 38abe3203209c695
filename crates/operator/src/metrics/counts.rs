//! How many Sandboxes there are, as every replica knows without asking.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::sandboxes::NO_TEMPLATE;
use crate::observer::Observer;

#[derive(Debug)]
pub(super) struct Counts(pub(super) Observer);

impl Collector for Counts {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        self.sandboxes(&mut encoder)?;
        self.members(&mut encoder)
    }
}

impl Counts {
    fn sandboxes(&self, encoder: &mut DescriptorEncoder) -> Result<(), Error> {
        let help = "Sandboxes that there are";
        let mut family = encoder.encode_descriptor("agent_sandboxes", help, None, MetricType::Gauge)?;
        for (sort, count) in self.0.census() {
            let labels = [
                ("namespace", &*sort.namespace),
                ("ready_condition", truth(sort.is_ready)),
                ("expired", truth(sort.is_expired)),
                ("launch_type", sort.launching.as_str()),
                ("sandbox_template", sort.template.as_deref().unwrap_or(NO_TEMPLATE)),
                ("owned_by", sort.holder.as_str()),
                ("created_by", sort.created_by),
            ];
            ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn members(&self, encoder: &mut DescriptorEncoder) -> Result<(), Error> {
        let (name, help) = ("agent_sandbox_warmpool_size", "Sandboxes that pools have");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (sort, count) in self.0.members() {
            let labels = [
                ("namespace", &*sort.pool.namespace),
                ("warmpool_name", &*sort.pool.name),
                ("sandbox_template", sort.template.as_deref().unwrap_or(NO_TEMPLATE)),
                ("sandbox_status", sort.fitness.as_str()),
            ];
            ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn truth(holds: bool) -> &'static str {
    if holds { "true" } else { "false" }
}
