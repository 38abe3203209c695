//! Queues and their workers, and who leads, as of the moment somebody asks.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::leadership::LEASE;
use crate::observer::{CONTROLLERS, Observer};
use crate::queue::Queue;
use crate::settings::Workers;

#[derive(Debug)]
pub(super) struct Queues {
    pub(super) observer: Observer,
    pub(super) workers: Workers,
}

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        self.meters(&mut encoder)?;
        self.gauges(&mut encoder)?;
        self.workers(&mut encoder)?;
        let (name, help) = ("leader_election_master_status", "Whether this operator leads");
        let mut leads = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        let is_leading = i64::from(self.observer.is_leading());
        ConstGauge::new(is_leading).encode(leads.encode_family(&[("name", LEASE)])?)
    }
}

impl Queues {
    fn meters(&self, encoder: &mut DescriptorEncoder) -> Result<(), Error> {
        let help = "Objects that came to wait";
        self.each(encoder, "workqueue_adds", help, |queue| &queue.meter().adds)?;
        let help = "Objects that are to come again because of how a look at them went";
        self.each(encoder, "workqueue_retries", help, |queue| &queue.meter().retries)?;
        let help = "How long objects wait to be looked at";
        self.each(encoder, "workqueue_queue_duration_seconds", help, |queue| &queue.meter().waits)?;
        let help = "How long objects are looked at";
        self.each(encoder, "workqueue_work_duration_seconds", help, |queue| &queue.meter().looks)
    }

    /// One measure of each queue.
    fn each<M: EncodeMetric>(
        &self,
        encoder: &mut DescriptorEncoder,
        name: &str,
        help: &str,
        measure: impl Fn(&Queue) -> &M,
    ) -> Result<(), Error> {
        let queues = self.observer.queues();
        let type_ = measure(queues[0].1).metric_type();
        let mut family = encoder.encode_descriptor(name, help, None, type_)?;
        for (controller, queue) in queues {
            let labels = [("name", controller), ("controller", controller)];
            measure(queue).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn gauges(&self, encoder: &mut DescriptorEncoder) -> Result<(), Error> {
        let help = "Objects that wait to be looked at";
        self.gauge(encoder, "workqueue_depth", help, |queue| count(queue.depth()))?;
        let (name, help) =
            ("workqueue_unfinished_work_seconds", "How long all looks under way have taken so far");
        self.gauge(encoder, name, help, |queue| queue.load().total)?;
        let name = "workqueue_longest_running_processor_seconds";
        let help = "How long the longest look under way has taken so far";
        self.gauge(encoder, name, help, |queue| queue.load().longest)
    }

    fn gauge(
        &self,
        encoder: &mut DescriptorEncoder,
        name: &str,
        help: &str,
        measure: impl Fn(&Queue) -> f64,
    ) -> Result<(), Error> {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (controller, queue) in self.observer.queues() {
            let labels = [("name", controller), ("controller", controller)];
            ConstGauge::new(measure(queue)).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn workers(&self, encoder: &mut DescriptorEncoder) -> Result<(), Error> {
        let Workers { sandboxes, claims, pools, templates } = self.workers;
        let (name, help) =
            ("controller_runtime_max_concurrent_reconciles", "How many look at a time, at most");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (controller, most) in CONTROLLERS.into_iter().zip([sandboxes, claims, pools, templates]) {
            ConstGauge::new(count(most)).encode(family.encode_family(&[("controller", controller)])?)?;
        }
        let (name, help) = ("controller_runtime_active_workers", "How many look now");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (controller, queue) in self.observer.queues() {
            let busy = count(queue.load().workers);
            ConstGauge::new(busy).encode(family.encode_family(&[("controller", controller)])?)?;
        }
        Ok(())
    }
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}
