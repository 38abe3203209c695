//! What is set for the whole operator.

use std::sync::Arc;

use asb_core::{claim, pool, sandbox};
use jiff::SignedDuration;

use crate::metrics::SpanCounts;
use crate::watches::ChildScope;

#[derive(Clone, Debug)]
pub struct Settings {
    /// The domain under which cluster DNS answers for Services.
    pub cluster_domain: String,
    /// The one namespace to look after. All, if there is none.
    pub namespace: Option<String>,
    /// Whether claims, templates and pools are looked after, or Sandboxes alone.
    pub extensions: bool,
    /// Whether templates, claims and pools in short spellings are looked after too, where they are installed.
    pub shorthand: bool,
    pub workers: Workers,
    /// What holds for all claims.
    pub claims: claim::Settings,
    /// Whether what happens to claims is told in events.
    pub claim_events: bool,
    /// What holds for all pools.
    pub pools: pool::Settings,
    /// How long changes to a Pod's metadata are gathered before they are written.
    pub write_behind: SignedDuration,
    /// Where Sandboxes that ask for sandboxd get it from, if they can.
    pub runtime: Option<Arc<sandbox::RuntimeSource>>,
    pub children: ChildScope,
    /// How many requests may be made to the API server at a time. There are fewer where it takes no more.
    pub requests: usize,
    /// Where the API server is, as metrics name it.
    pub api_server: String,
    /// What becomes of spans, where they are sent to a collector.
    pub spans: Option<SpanCounts>,
    /// Who we are in events: the name of the Pod, or of the machine.
    pub instance: String,
}

/// How many objects of each kind are looked at at a time.
#[derive(Clone, Copy, Debug)]
pub struct Workers {
    pub sandboxes: usize,
    pub claims: usize,
    pub pools: usize,
    pub templates: usize,
}

impl Default for Workers {
    fn default() -> Self {
        Self { sandboxes: 100, claims: 50, pools: 1, templates: 1 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cluster_domain: "cluster.local".to_owned(),
            namespace: None,
            extensions: true,
            shorthand: true,
            workers: Workers::default(),
            claims: claim::Settings::default(),
            claim_events: true,
            pools: pool::Settings::default(),
            write_behind: SignedDuration::ZERO,
            runtime: None,
            children: ChildScope::default(),
            requests: 64,
            api_server: "in-process".to_owned(),
            spans: None,
            instance: "asb".to_owned(),
        }
    }
}
