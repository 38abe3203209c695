//! What can be said to a router. Flags that upstream's router has are called as they are there.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use asb_router::{ClientCertificates, Tls};
use clap::{ArgAction, ValueEnum};

use crate::age;
use crate::logging::Logging;
use crate::operator::Bind;

/// Carry requests into the Sandboxes of a Kubernetes.
///
/// A request says by headers (X-Sandbox-ID, X-Sandbox-Namespace, X-Sandbox-Port), by its host name or by its path which Sandbox
/// it is for. Whoever may reach that Sandbox is let through: by a token for it, or as a user of the API server.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  asb router --authz-scoped-token-secret-file secret
  asb router --authz-mode tokenreview --https-bind-address :8443 --tls-cert-file tls.crt --tls-key-file tls.key
  asb router --preview-domain boxes.example.com

`asb token` makes tokens. `asb up` has a router of its own.")]
pub(crate) struct Arguments {
    /// Where requests come in; 0 for nowhere
    #[arg(long, value_name = "ADDR:PORT", default_value = ":8080")]
    pub(super) http_bind_address: Bind,

    /// Where they come in by TLS; 0 for nowhere
    #[arg(long, value_name = "ADDR:PORT", default_value = "0")]
    pub(super) https_bind_address: Bind,

    /// Where forwarded ports of this Pod come in, on its loopback, without a token; 0 for nowhere.
    ///
    /// Whoever may forward ports of the router's Pod reaches every Sandbox then, for as long as the router is alone in its Pod:
    /// where there is another container, they need a token like everybody.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0", requires_all = ["pod_name", "pod_namespace"])]
    pub(super) tunnel_bind_address: Bind,

    /// The Pod that this is
    #[arg(long, value_name = "NAME", env = "POD_NAME")]
    pub(super) pod_name: Option<String>,

    /// Its namespace
    #[arg(long, value_name = "NAMESPACE", env = "POD_NAMESPACE")]
    pub(super) pod_namespace: Option<String>,

    /// Where /healthz and /readyz are answered; 0 for nowhere
    #[arg(long, value_name = "ADDR:PORT", default_value = ":8081")]
    pub(super) health_probe_bind_address: Bind,

    /// Where /metrics is answered; 0 for nowhere
    #[arg(long, value_name = "ADDR:PORT", default_value = ":9090")]
    pub(super) metrics_bind_address: Bind,

    /// The kubeconfig [default: that of KUBECONFIG, or the cluster that this is a Pod of]
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,

    /// The one namespace whose Sandboxes are reached [default: all]
    #[arg(long, value_name = "NAMESPACE")]
    pub(super) cache_namespace: Option<String>,

    /// The domain below which host names are Sandboxes: PORT-SANDBOX-NAMESPACE.DOMAIN
    #[arg(long, value_name = "DOMAIN")]
    pub(super) preview_domain: Option<String>,

    /// The private key by which sandboxd knows the router
    #[arg(long, value_name = "FILE")]
    pub(super) runtime_key_file: Option<PathBuf>,

    /// How long a Sandbox may take until its answer begins, where the request does not say
    #[arg(long, value_name = "TIME", default_value = "180s", value_parser = age::duration)]
    pub(super) proxy_timeout: Duration,

    /// How long requests may take to end when the router stops
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = age::duration)]
    pub(super) shutdown_timeout: Duration,

    /// How often connecting to a Sandbox is tried again
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(super) upstream_max_retries: u32,

    /// How long after the first time; doubled each time
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = age::duration)]
    pub(super) upstream_retry_initial_delay: Duration,

    /// The largest body of a request; 0 for no limit
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(super) max_request_body_bytes: u64,

    /// How many requests of one client are carried at a time
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(super) max_requests_per_client: usize,

    /// Log every request
    #[arg(long, action = ArgAction::Set, default_value_t = true)]
    pub(super) access_log: bool,

    #[command(flatten)]
    pub(super) authorization: Authorization,

    #[command(flatten)]
    tls: Files,

    #[command(flatten)]
    pub(super) logging: Logging,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Who may come in")]
pub(super) struct Authorization {
    /// By a token for the Sandbox, as a user of the API server who may create its `connect`, by both, or everybody
    #[arg(long = "authz-mode", value_name = "MODE", value_enum, default_value_t = Mode::Both)]
    pub(super) mode: Mode,

    /// A file with the secret of v1 tokens, 32 bytes or more
    #[arg(long = "authz-scoped-token-secret-file", value_name = "FILE")]
    pub(super) scoped_token_secret_file: Option<PathBuf>,

    /// A file with the public keys of v2 tokens, one a line in base64
    #[arg(long = "authz-public-key-file", value_name = "FILE")]
    pub(super) public_key_file: Option<PathBuf>,

    /// For whom tokens of the API server have to be meant
    #[arg(long = "authz-tokenreview-audiences", value_name = "AUDIENCE", value_delimiter = ',')]
    pub(super) tokenreview_audiences: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    Both,
    ScopedToken,
    Tokenreview,
    AllowAll,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "TLS")]
struct Files {
    /// The certificate; read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key_file")]
    tls_cert_file: Option<PathBuf>,

    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_key_file: Option<PathBuf>,

    /// Who signs certificates of clients
    #[arg(long, value_name = "FILE")]
    tls_client_ca_file: Option<PathBuf>,

    /// Whether clients show certificates
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Mutual::Off)]
    mtls_mode: Mutual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mutual {
    Off,
    Optional,
    Required,
}

impl Arguments {
    pub(super) fn tls(&self) -> Result<Option<Tls>> {
        let files = &self.tls;
        let clients = match (files.mtls_mode, &files.tls_client_ca_file) {
            (Mutual::Off, None) => ClientCertificates::Ignored,
            (Mutual::Off, Some(_)) => bail!("--tls-client-ca-file is for --mtls-mode optional or required"),
            (_, None) => bail!("--mtls-mode needs --tls-client-ca-file"),
            (Mutual::Optional, Some(path)) => ClientCertificates::Optional(path.clone()),
            (Mutual::Required, Some(path)) => ClientCertificates::Required(path.clone()),
        };
        let pair = files.tls_cert_file.clone().zip(files.tls_key_file.clone());
        Ok(pair.map(|(certificate, key)| Tls { certificate, key, clients }))
    }
}
