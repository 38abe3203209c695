//! The flags of `asb operator`. Names and defaults are upstream's, so that its manifests fit; the others are marked ours in
//! COMPATIBILITY.md. What they may say is checked in `duties`.

use std::path::PathBuf;

use clap::ArgAction;
use jiff::SignedDuration;

use super::foreign::Foreign;
use super::go::{Bind, duration};
use super::traces::Tracing;
use crate::logging::Logging;

/// Look after Sandboxes, claims, templates and pools on a Kubernetes.
///
/// Runs inside the cluster or outside of it. Several may run: one of them acts, all of them convert between versions of
/// our kinds. Install the kinds first: `asb crds | kubectl apply -f -`.
///
/// Flags are understood as by Go programs, too: `-extensions`, `--leader-elect=false`.
#[derive(clap::Args, Debug)]
#[command(
    next_line_help = false,
    after_help = "Examples:
  asb operator --extensions
  asb operator --extensions --kubeconfig ~/.kube/config --webhook-external-address 192.0.2.7:9443"
)]
pub(crate) struct Arguments {
    /// Print the version and exit
    #[arg(long, action = ArgAction::Set, default_value_t = false)]
    pub(super) version: bool,

    /// Look after claims, templates and pools, too, not only after Sandboxes
    #[arg(long, action = ArgAction::Set, default_value_t = false)]
    pub(super) extensions: bool,

    /// The domain under which the cluster's DNS answers for Services
    #[arg(long, value_name = "DOMAIN", default_value = "cluster.local")]
    pub(super) cluster_domain: String,

    #[command(flatten)]
    pub(super) access: Access,

    #[command(flatten)]
    pub(super) leadership: Leadership,

    #[command(flatten)]
    pub(super) work: Work,

    #[command(flatten)]
    pub(super) pools: Pools,

    #[command(flatten)]
    pub(super) claims: Claims,

    #[command(flatten)]
    pub(super) runtime: Runtime,

    #[command(flatten)]
    pub(super) conversion: Conversion,

    #[command(flatten)]
    pub(super) probes: Probes,

    #[command(flatten)]
    pub(super) tracing: Tracing,

    #[command(flatten)]
    pub(super) logging: Logging,

    #[command(flatten)]
    pub(super) foreign: Foreign,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "API server")]
pub(super) struct Access {
    /// How to reach the API server [default: $KUBECONFIG, then as a Pod of the cluster, then ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,

    /// The most requests a second; negative for no limit
    #[arg(long, value_name = "N", default_value_t = -1.0, allow_negative_numbers = true)]
    pub(super) kube_api_qps: f64,

    /// How many requests may go at once before that limit counts
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true)]
    pub(super) kube_api_burst: i64,

    /// How many requests may be under way at a time: 64 times this. There are fewer where the API server takes no more
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub(super) api_connections: i64,

    /// Watches have connections of their own in any case
    #[arg(long, action = ArgAction::Set, default_value_t = false)]
    pub(super) separate_watch_connection: bool,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Leader election")]
pub(super) struct Leadership {
    /// Act only while holding the Lease, so that several operators can run
    #[arg(long, action = ArgAction::Set, default_value_t = true)]
    pub(super) leader_elect: bool,

    /// Where the Lease is [default: the operator's own namespace; outside a cluster agent-sandbox-system]
    #[arg(long, value_name = "NAMESPACE", default_value = "", hide_default_value = true)]
    pub(super) leader_election_namespace: String,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Work")]
pub(super) struct Work {
    /// How many Sandboxes are looked at at a time
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true)]
    pub(super) sandbox_concurrent_workers: i64,

    /// How many claims are looked at at a time
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    pub(super) sandbox_claim_concurrent_workers: i64,

    /// How many pools are looked at at a time
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub(super) sandbox_warm_pool_concurrent_workers: i64,

    /// How many templates are looked at at a time
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub(super) sandbox_template_concurrent_workers: i64,

    /// How long changes to a Pod's labels and annotations are gathered before they are written
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration, allow_negative_numbers = true)]
    pub(super) sandbox_write_behind_window: SignedDuration,

    /// Keep only those Pods, Services and volumes in memory that bear the label of a Sandbox
    #[arg(long, action = ArgAction::Set, default_value_t = false)]
    pub(super) cache_label_selectors: bool,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Pools")]
pub(super) struct Pools {
    /// The most Sandboxes that are made, or deleted, for a pool in one go
    #[arg(long, value_name = "N", default_value_t = 300, allow_negative_numbers = true)]
    pub(super) sandbox_warm_pool_max_batch_size: i64,

    /// How long a pool waits after it lost a member before it is filled up
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration, allow_negative_numbers = true)]
    pub(super) sandbox_warm_pool_replenish_delay: SignedDuration,

    /// The most Sandboxes a second that are made for a pool; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 0.0, allow_negative_numbers = true)]
    pub(super) sandbox_warm_pool_max_refill_rate: f64,

    /// How long a member may take to become ready before it is replaced
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, allow_negative_numbers = true)]
    pub(super) sandbox_warm_pool_readiness_grace_period: SignedDuration,

    /// How often to look again at a pool whose members find no node
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration, allow_negative_numbers = true)]
    pub(super) sandbox_warm_pool_unschedulable_recheck_interval: SignedDuration,

    /// Let the cluster autoscaler evict members that nobody has claimed
    #[arg(long, action = ArgAction::Set, default_value_t = true)]
    pub(super) enable_warm_pool_eviction: bool,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Claims")]
pub(super) struct Claims {
    /// Write no events about claims
    #[arg(long, action = ArgAction::Set, default_value_t = false)]
    pub(super) disable_claim_events: bool,

    /// Do not annotate claims with when they were first seen and first ready
    #[arg(long, action = ArgAction::Set, default_value_t = false)]
    pub(super) disable_claim_observability_annotations: bool,

    /// A list of domains under which claims may label their Pods; without the file, sandbox.users.io
    #[arg(long, value_name = "FILE", default_value = "/etc/sandbox-config/allowed-label-domains")]
    pub(super) allowed_label_domains_file: PathBuf,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Runtime of Sandboxes")]
pub(super) struct Runtime {
    /// The image that brings sandboxd, for Sandboxes whose spec.runtime asks for it; `self` is that of the operator's own Pod.
    /// Without one they are refused
    #[arg(long = "runtime-image", id = "runtime_image", value_name = "IMAGE")]
    pub(super) image: Option<String>,

    /// How it gets into their Pods: init-container, of an image with /asb, which copies it; or image-volume (Kubernetes 1.35 and
    /// later), of an image with /sandboxd
    #[arg(long = "runtime-delivery", value_name = "HOW", default_value = "init-container")]
    pub(super) delivery: RuntimeDelivery,

    /// A file with the public keys, one a line in base64, of those whose tokens sandboxd takes
    #[arg(long = "runtime-public-key-file", value_name = "FILE", requires = "runtime_image")]
    pub(super) public_key_file: Option<PathBuf>,

    /// The Secret, in the operator's own namespace, with the key of the router, whose tokens sandboxd takes; made where there is none
    #[arg(long = "runtime-key-secret", value_name = "NAME", requires = "runtime_image")]
    pub(super) key_secret: Option<String>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(super) enum RuntimeDelivery {
    ImageVolume,
    InitContainer,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Conversion webhook")]
pub(super) struct Conversion {
    /// Convert between versions of our kinds for the API server
    #[arg(long, action = ArgAction::Set, default_value_t = true)]
    pub(super) enable_webhook: bool,

    /// Where the webhook listens
    #[arg(long, value_name = "PORT", default_value_t = 9443)]
    pub(super) webhook_port: u16,

    /// The Service by which API servers reach it
    #[arg(long, value_name = "NAME", default_value = asb_types::crd::WEBHOOK_SERVICE)]
    pub(super) webhook_service_name: String,

    /// The namespace of that Service, and of the Secret with the certificates
    #[arg(long, value_name = "NAMESPACE", default_value = asb_types::crd::WEBHOOK_NAMESPACE)]
    pub(super) webhook_namespace: String,

    /// Where API servers reach it when it runs outside the cluster: the Service becomes a name for that
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) webhook_external_address: Option<String>,

    /// Make and renew the certificates, and tell API servers; otherwise they are read from files
    #[arg(long, action = ArgAction::Set, default_value_t = true)]
    pub(super) manage_webhook_certs: bool,

    /// Where those files are
    #[arg(long, value_name = "DIR", default_value = "/tmp/k8s-webhook-server/serving-certs")]
    pub(super) webhook_cert_dir: PathBuf,

    /// The file with the certificate
    #[arg(long, value_name = "NAME", default_value = "tls.crt")]
    pub(super) webhook_cert_name: String,

    /// The file with the key
    #[arg(long, value_name = "NAME", default_value = "tls.key")]
    pub(super) webhook_key_name: String,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Probes and metrics")]
pub(super) struct Probes {
    /// Where /healthz and /readyz are answered; 0 for nowhere
    #[arg(long, value_name = "ADDR:PORT", default_value = ":8081")]
    pub(super) health_probe_bind_address: Bind,

    /// Where /metrics is answered; 0 for nowhere
    #[arg(long, value_name = "ADDR:PORT", default_value = ":8080")]
    pub(super) metrics_bind_address: Bind,
}
