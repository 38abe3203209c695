//! `--enable-tracing`: the way to a collector, for as long as the operator runs. Without the feature `otlp` there is none.

use anyhow::Result;
use clap::ArgAction;

#[derive(clap::Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Traces")]
pub(super) struct Tracing {
    /// Send traces to a collector of OpenTelemetry, over gRPC: at OTEL_EXPORTER_OTLP_ENDPOINT, or else at localhost:4317
    #[arg(long, action = ArgAction::Set, default_value_t = false)]
    pub(super) enable_tracing: bool,
}

#[cfg(feature = "otlp")]
mod otlp {
    use anyhow::{Context, Result};
    use asb_operator::SpanCounts;
    use asb_operator::otlp::Traces as Sender;

    use super::super::surroundings;
    use crate::output::Listener;

    pub(crate) struct Traces(Sender);

    impl Traces {
        pub(super) fn open() -> Result<Self> {
            Sender::open(&surroundings::host_name()).map(Self).context("cannot send traces")
        }

        pub(crate) fn listener(&self) -> Listener {
            Box::new(self.0.layer())
        }

        pub(crate) fn counts(&self) -> SpanCounts {
            self.0.counts()
        }

        pub(crate) async fn close(self) {
            self.0.close().await;
        }
    }
}

#[cfg(not(feature = "otlp"))]
mod otlp {
    use std::convert::Infallible;
    use std::future::Ready;

    use anyhow::{Result, bail};
    use asb_operator::SpanCounts;

    use crate::output::Listener;

    /// Nothing: this program cannot send any.
    pub(crate) struct Traces(Infallible);

    impl Traces {
        pub(super) fn open() -> Result<Self> {
            bail!(
                "--enable-tracing is not in this program: it was built without the feature otlp. \
                 Build it with `cargo build --release --package asb --features otlp`"
            )
        }

        pub(crate) fn listener(&self) -> Listener {
            match self.0 {}
        }

        pub(crate) fn counts(&self) -> SpanCounts {
            match self.0 {}
        }

        pub(crate) fn close(self) -> Ready<()> {
            match self.0 {}
        }
    }
}

pub(super) use otlp::Traces;

impl Tracing {
    /// Prepares the way, where it is wanted. Needs a tokio runtime.
    pub(super) fn open(self) -> Result<Option<Traces>> {
        self.enable_tracing.then(Traces::open).transpose()
    }
}

#[cfg(all(test, not(feature = "otlp")))]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_cannot_send_traces_says_how_to_get_one_that_can() {
        let refusal = Tracing { enable_tracing: true }.open().map(drop).unwrap_err().to_string();
        assert!(refusal.contains("`cargo build --release --package asb --features otlp`"), "{refusal}");
        assert!(Tracing { enable_tracing: false }.open().unwrap().is_none());
    }
}
