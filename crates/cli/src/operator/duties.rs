//! What the flags ask for, checked: what the operator is to do, and what to say about it.

use anyhow::{Context, Result, bail, ensure};
use asb_operator::Settings;
use asb_operator::webhook::{Certificates, External, Files, Host};

use super::arguments::{self, Arguments};
use super::connection::{Connection, Pace};
use super::go::Bind;
use super::{settings, surroundings};

/// More workers than this are likelier a slip than a plan.
const MANY_WORKERS: usize = 1000;

#[derive(Debug)]
pub(super) struct Duties {
    pub(super) connection: Connection,
    /// Nothing where nobody else is to be expected.
    pub(super) leading: Option<Leading>,
    pub(super) settings: Settings,
    /// Where the key of the router is kept.
    pub(super) key_secret: Option<String>,
    pub(super) webhook: Option<WebhookDuty>,
    pub(super) health: Bind,
    pub(super) metrics: Bind,
    pub(super) warnings: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Leading {
    pub(super) namespace: String,
}

#[derive(Debug)]
pub(super) struct WebhookDuty {
    pub(super) bind: Bind,
    pub(super) host: Host,
    pub(super) certificates: Certificates,
}

impl Duties {
    /// The namespaces in which something of ours is kept.
    pub(super) fn namespaces(&self) -> Vec<String> {
        let webhook = self.webhook.as_ref().map(|webhook| webhook.host.namespace.clone());
        let mut namespaces: Vec<_> =
            self.leading.iter().map(|leading| leading.namespace.clone()).chain(webhook).collect();
        namespaces.dedup();
        namespaces
    }
}

impl TryFrom<Arguments> for Duties {
    type Error = anyhow::Error;

    fn try_from(arguments: Arguments) -> Result<Self> {
        let settings = settings::settings(&arguments)?;
        let pace = pace(&arguments.access)?;
        let warnings = warnings(&settings, pace);
        let Arguments { cluster_domain, access, leadership, conversion, probes, runtime, .. } = arguments;
        Ok(Self {
            connection: Connection { kubeconfig: access.kubeconfig, pace },
            leading: leadership
                .leader_elect
                .then(|| Leading { namespace: namespace(leadership.leader_election_namespace) }),
            settings,
            key_secret: runtime.key_secret,
            webhook: conversion.enable_webhook.then(|| duty(conversion, cluster_domain)).transpose()?,
            health: probes.health_probe_bind_address,
            metrics: probes.metrics_bind_address,
            warnings,
        })
    }
}

fn namespace(given: String) -> String {
    if !given.is_empty() {
        return given;
    }
    // Operators inside and outside of the cluster must meet at one Lease.
    surroundings::home()
}

fn pace(access: &arguments::Access) -> Result<Option<Pace>> {
    let (rate, burst) = (access.kube_api_qps, access.kube_api_burst);
    ensure!(burst > 0, "--kube-api-burst must be greater than 0");
    ensure!(
        rate.is_finite() && rate != 0.0,
        "--kube-api-qps must be a number other than 0; a negative one is no limit"
    );
    let burst = u32::try_from(burst).context("--kube-api-burst is too large")?;
    Ok((rate > 0.0).then_some(Pace { rate, burst }))
}

fn warnings(settings: &Settings, pace: Option<Pace>) -> Vec<String> {
    let workers = settings.workers;
    let total = workers.sandboxes + workers.claims + workers.pools + workers.templates;
    let mut warnings = Vec::new();
    if total > MANY_WORKERS {
        warnings
            .push(format!("there are {total} workers in all, which costs memory and crowds the API server"));
    }
    if let Some(pace) = pace.filter(|pace| total > pace.burst as usize) {
        warnings.push(format!(
            "there are {total} workers in all, more than --kube-api-burst={} lets through at once",
            pace.burst
        ));
    }
    warnings
}

fn duty(webhook: arguments::Conversion, cluster_domain: String) -> Result<WebhookDuty> {
    let (certificate, key) = (webhook.webhook_cert_name, webhook.webhook_key_name);
    ensure!(!certificate.is_empty(), "--webhook-cert-name must not be empty");
    ensure!(!key.is_empty(), "--webhook-key-name must not be empty");
    let external = webhook.webhook_external_address.as_deref().map(external).transpose()?;
    let certificates = if webhook.manage_webhook_certs {
        Certificates::Managed
    } else {
        ensure!(
            external.is_none(),
            "--webhook-external-address needs --manage-webhook-certs: who keeps the certificates tells API servers"
        );
        Certificates::Files(Files { directory: webhook.webhook_cert_dir, certificate, key })
    };
    let (service, namespace) = (webhook.webhook_service_name, webhook.webhook_namespace);
    let host = Host { service, namespace, cluster_domain, external };
    Ok(WebhookDuty { bind: Bind::Everywhere(webhook.webhook_port), host, certificates })
}

/// API servers look the host up themselves, so that it may be a name or an address; it stands where a name does.
fn external(text: &str) -> Result<External> {
    let address = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let Some((host, port)) = address.filter(|(host, _)| is_name(host)) else {
        bail!("--webhook-external-address must be HOST:PORT, with a name or an IPv4 address, not {text:?}");
    };
    Ok(External { host: host.to_owned(), port })
}

fn is_name(host: &str) -> bool {
    let is_part = |part: &str| {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty() && part.bytes().all(is_inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    host.split('.').all(is_part)
}

#[cfg(test)]
mod tests;
