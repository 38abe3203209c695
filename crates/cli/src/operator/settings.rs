//! What the flags set for the controllers, checked as upstream does.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use asb_core::blueprint::Eviction;
use asb_core::sandbox::RuntimeSource;
use asb_core::{claim, pool};
use asb_operator::{ChildScope, Settings, Workers};
use asb_router::token::PublicKey;
use jiff::SignedDuration;

use super::arguments::{Arguments, Pools, Runtime, RuntimeDelivery, Work};
use super::surroundings;
use crate::router::public_keys;

/// How many requests may be under way at a time for each of upstream's connections.
const REQUESTS: usize = 64;

pub(super) fn settings(arguments: &Arguments) -> Result<Settings> {
    let Arguments { access, work, claims, .. } = arguments;
    let connections = positive("api-connections", access.api_connections)?;
    let write_behind = work.sandbox_write_behind_window;
    ensure!(!write_behind.is_negative(), "--sandbox-write-behind-window must not be negative");
    let defaults = Settings::default();
    let domains = domains(&claims.allowed_label_domains_file)?;
    Ok(Settings {
        cluster_domain: arguments.cluster_domain.clone(),
        namespace: None,
        extensions: arguments.extensions,
        shorthand: defaults.shorthand,
        workers: workers(work)?,
        pools: pools(&arguments.pools)?,
        claims: claim::Settings {
            timestamps: !claims.disable_claim_observability_annotations,
            label_domains: domains.unwrap_or(defaults.claims.label_domains),
        },
        claim_events: !claims.disable_claim_events,
        write_behind,
        runtime: runtime(&arguments.runtime)?.map(Arc::new),
        children: if work.cache_label_selectors { ChildScope::Labelled } else { ChildScope::All },
        requests: REQUESTS * connections,
        // Known once we are connected to the API server, and to a collector of spans.
        api_server: String::new(),
        spans: None,
        instance: surroundings::host_name(),
    })
}

fn workers(work: &Work) -> Result<Workers> {
    Ok(Workers {
        sandboxes: positive("sandbox-concurrent-workers", work.sandbox_concurrent_workers)?,
        claims: positive("sandbox-claim-concurrent-workers", work.sandbox_claim_concurrent_workers)?,
        pools: positive("sandbox-warm-pool-concurrent-workers", work.sandbox_warm_pool_concurrent_workers)?,
        templates: positive("sandbox-template-concurrent-workers", work.sandbox_template_concurrent_workers)?,
    })
}

fn pools(given: &Pools) -> Result<pool::Settings> {
    let rate = given.sandbox_warm_pool_max_refill_rate;
    ensure!(
        rate.is_finite() && rate >= 0.0,
        "--sandbox-warm-pool-max-refill-rate must be a number of 0 or more"
    );
    let (grace, recheck) = (
        given.sandbox_warm_pool_readiness_grace_period,
        given.sandbox_warm_pool_unschedulable_recheck_interval,
    );
    ensure!(grace.is_positive(), "--sandbox-warm-pool-readiness-grace-period must be greater than 0");
    ensure!(
        recheck.is_positive(),
        "--sandbox-warm-pool-unschedulable-recheck-interval must be greater than 0"
    );
    Ok(pool::Settings {
        max_batch: positive("sandbox-warm-pool-max-batch-size", given.sandbox_warm_pool_max_batch_size)?,
        replenish_delay: given.sandbox_warm_pool_replenish_delay.max(SignedDuration::ZERO),
        max_refill_rate: rate,
        readiness_grace: grace,
        unschedulable_recheck: recheck,
        eviction: if given.enable_warm_pool_eviction { Eviction::Safe } else { Eviction::Unsaid },
    })
}

fn runtime(given: &Runtime) -> Result<Option<RuntimeSource>> {
    let Some(image) = given.image.clone() else { return Ok(None) };
    let delivery = match given.delivery {
        RuntimeDelivery::ImageVolume => asb_core::sandbox::RuntimeDelivery::ImageVolume,
        RuntimeDelivery::InitContainer => asb_core::sandbox::RuntimeDelivery::InitContainer,
    };
    let public_keys = given.public_key_file.as_deref().map(public_keys).transpose()?.unwrap_or_default();
    let public_keys = public_keys.iter().map(PublicKey::text).collect();
    Ok(Some(RuntimeSource { image, delivery, public_keys }))
}

fn positive(flag: &str, number: i64) -> Result<usize> {
    ensure!(number > 0, "--{flag} must be greater than 0");
    usize::try_from(number).with_context(|| format!("--{flag} is too large"))
}

/// The domains of a file. None where there is no file, or nothing in it.
fn domains(path: &Path) -> Result<Option<Vec<String>>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(listed(&text)).filter(|domains| !domains.is_empty())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn listed(text: &str) -> Vec<String> {
    let parts = text.split([',', '\n']).map(|part| part.trim().to_lowercase());
    parts.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_listed_by_commas_and_lines() {
        assert_eq!(listed("Example.com, a.test\n\n b.test,\n"), ["example.com", "a.test", "b.test"]);
        assert_eq!(domains(Path::new("/nowhere/at/all")).unwrap(), None);
    }
}
