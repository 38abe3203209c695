//! The command line as people and manifests write it, and what becomes of it.

use clap::FromArgMatches;

use super::super::go::normalised;
use super::*;
use crate::command::{Command, definition};

fn parsed(line: &str) -> Result<Arguments, String> {
    let words = format!("asb operator {line}");
    let words = normalised(words.split_whitespace().map(Into::into));
    let matches = definition().try_get_matches_from(words).map_err(|error| error.to_string())?;
    let arguments =
        crate::command::Arguments::from_arg_matches(&matches).map_err(|error| error.to_string())?;
    match arguments.command {
        Command::Operator(arguments) => Ok(arguments),
        _ => Err("another command".to_owned()),
    }
}

fn duties(line: &str) -> Duties {
    Duties::try_from(parsed(line).expect("it parses")).expect("it is valid")
}

/// Why a line is refused.
fn refusal(line: &str) -> String {
    match parsed(line) {
        Err(error) => error,
        Ok(arguments) => match arguments.foreign.refuse().and_then(|()| Duties::try_from(arguments)) {
            Ok(_) => format!("{line} was accepted"),
            Err(error) => format!("{error:#}"),
        },
    }
}

#[test]
fn without_flags_everything_is_as_upstream_has_it() {
    let mut duties = duties("--leader-election-namespace=system");
    duties.settings.instance = "host".to_owned();
    insta::assert_debug_snapshot!(duties);
}

#[test]
fn the_flags_of_upstreams_manifests_are_understood() {
    let duties = duties("-leader-elect=true --extensions --metrics-bind-address=:9090 -zap-log-level=debug");
    assert!(duties.leading.is_some() && duties.settings.extensions);
    assert_eq!(duties.metrics, Bind::Everywhere(9090));
}

#[test]
fn booleans_and_repeated_flags_are_read_as_go_does() {
    let duties =
        duties("--leader-elect=F --extensions=false -extensions=1 --enable-webhook=0 --enable-pprof=false");
    assert!(duties.leading.is_none() && duties.settings.extensions && duties.webhook.is_none());
}

#[test]
fn every_flag_reaches_its_setting() {
    let mut duties = duties(
        "--cluster-domain=corp.test --kube-api-qps=50 --kube-api-burst 200 --api-connections=4 \
         --separate-watch-connection --cache-label-selectors \
         --leader-election-namespace=system --sandbox-concurrent-workers=7 --sandbox-claim-concurrent-workers=8 \
         --sandbox-warm-pool-concurrent-workers=9 --sandbox-template-concurrent-workers=10 \
         --sandbox-write-behind-window=250ms --sandbox-warm-pool-max-batch-size=11 \
         --sandbox-warm-pool-replenish-delay=3s --sandbox-warm-pool-max-refill-rate=1.5 \
         --sandbox-warm-pool-readiness-grace-period=1h30m --sandbox-warm-pool-unschedulable-recheck-interval=2m \
         --enable-warm-pool-eviction=false --disable-claim-events --disable-claim-observability-annotations \
         --webhook-port=1234 --webhook-service-name=hook --webhook-namespace=hooks \
         --webhook-external-address=192.0.2.7:1234 --health-probe-bind-address=0 \
         --metrics-bind-address=127.0.0.1:1 --kubeconfig=admin.kubeconfig",
    );
    duties.settings.instance = "host".to_owned();
    insta::assert_debug_snapshot!(duties);
}

#[test]
fn certificates_of_others_are_files() {
    let duties = duties(
        "--manage-webhook-certs=false --webhook-cert-dir=certs --webhook-cert-name=a --webhook-key-name=b",
    );
    insta::assert_debug_snapshot!(duties.webhook.expect("it is on").certificates, @r#"
    Files(
        Files {
            directory: "certs",
            certificate: "a",
            key: "b",
        },
    )
    "#);
}

#[test]
fn values_that_upstream_refuses_are_refused() {
    let lines = [
        "--sandbox-concurrent-workers=0",
        "--sandbox-claim-concurrent-workers=-1",
        "--sandbox-warm-pool-concurrent-workers=0",
        "--sandbox-warm-pool-max-batch-size=0",
        "--sandbox-warm-pool-max-refill-rate=-1",
        "--sandbox-warm-pool-max-refill-rate=inf",
        "--sandbox-warm-pool-readiness-grace-period=0",
        "--sandbox-warm-pool-unschedulable-recheck-interval=-1s",
        "--sandbox-write-behind-window=-1s",
        "--kube-api-burst=0",
        "--kube-api-qps=NaN",
        "--api-connections=0",
        "--webhook-cert-name=",
        "--webhook-key-name=",
        "--webhook-external-address=nowhere",
        "--webhook-external-address=[::1]:9443",
        "--webhook-external-address=a.test:9443 --manage-webhook-certs=false",
        "--enable-pprof-debug=true",
        "--pprof-block-profile-rate=5",
    ];
    insta::assert_snapshot!(lines.map(|line| format!("{line}\n  {}", refusal(line))).join("\n"));
}

#[test]
fn an_unknown_flag_is_refused_with_the_nearest_one() {
    insta::assert_snapshot!(refusal("-sandbox-concurent-workers=3"));
}

#[test]
fn a_boolean_takes_its_value_only_after_an_equals_sign() {
    assert!(refusal("--leader-elect false").contains("unexpected argument 'false'"));
}

#[test]
fn many_workers_are_worth_a_word() {
    assert_eq!(duties("").warnings, [""; 0]);
    insta::assert_debug_snapshot!(duties("--sandbox-concurrent-workers=2000 --kube-api-qps=20").warnings);
}

#[test]
fn the_help_says_what_there_is() {
    let mut command = definition().term_width(100);
    let operator = command.find_subcommand_mut("operator").expect("it is there");
    insta::assert_snapshot!(operator.render_long_help());
}
