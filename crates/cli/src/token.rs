//! `asb token`: lets somebody into one sandbox for a while.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use asb_client::{Address, Destination};
use asb_router::token::{PrivateKey, Scope, Secret};
use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::json;

use crate::age;
use crate::output::{self, Form};
use crate::session;
use crate::target::Target;
use crate::up::key_path;

/// Make a token that lets its bearer into one sandbox through the router.
///
/// Whoever holds it reaches this sandbox and no other, until its time is over; a later sandbox of the same name is another
/// one. It is made with the key of this machine's router, or with a key or secret of a cluster's that you have.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb token box
  asb token box --lifetime 10m --port 3000
  curl -H \"Authorization: Bearer $(asb token box)\" -H 'X-Sandbox-ID: box' http://127.0.0.1:8880/execute …
  asb token --context prod --key-file router.key claim/mine")]
pub(crate) struct Arguments {
    /// The sandbox: NAME, NAMESPACE/NAME, sandbox/NAME, claim/NAME
    #[arg(value_name = "NAME")]
    name: Address,

    /// How long it is good for, such as 90s, 10m or 8h
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = age::duration)]
    lifetime: Duration,

    /// The one port that it is good for [default: all]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// The private key that the router knows the public half of [default: that of this machine's router]
    #[arg(long, value_name = "FILE", conflicts_with = "secret_file")]
    key_file: Option<PathBuf>,

    /// The secret that the router was given
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,

    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// A day: what lets somebody in for longer is an account.
const LONGEST: Duration = Duration::from_hours(24);

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.target.check(&arguments.name)?;
    ensure!(!arguments.lifetime.is_zero(), "--lifetime must be more than nothing");
    ensure!(arguments.lifetime <= LONGEST, "--lifetime may be 24h at most");
    let sandbox = session::block_on(async {
        let client = arguments.target.connect().await?;
        Ok(client.find_sandbox(&arguments.name).await?)
    })?;
    let end = Timestamp::now().checked_add(arguments.lifetime).context("that is too far away")?;
    let scope = Scope {
        namespace: sandbox.namespace().unwrap_or_default(),
        name: sandbox.name_any(),
        exp: end.as_second(),
        uid: sandbox.uid(),
        port: arguments.port,
    };
    let token = sign(arguments, &scope)?;
    output::print(&match arguments.output {
        Form::Text => format!("{token}\n"),
        Form::Json => {
            let expires = Timestamp::from_second(scope.exp).context("a time")?.to_string();
            let answer = json!({"token": token, "namespace": scope.namespace, "sandbox": scope.name, "expires": expires});
            format!("{answer:#}\n")
        }
    })
}

fn sign(arguments: &Arguments, scope: &Scope) -> Result<String> {
    if let Some(path) = &arguments.secret_file {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let secret = Secret::read(&bytes).with_context(|| format!("{} cannot be used", path.display()))?;
        return Ok(scope.signed_with_secret(&secret));
    }
    let path = match &arguments.key_file {
        Some(path) => path.clone(),
        None => local_key(&arguments.target.destination()?)?,
    };
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read the key {}", path.display()))?;
    let key = PrivateKey::read(&text).with_context(|| format!("{} cannot be used", path.display()))?;
    Ok(scope.signed_with_key(&key))
}

fn local_key(destination: &Destination) -> Result<PathBuf> {
    match destination {
        Destination::Local(kubeconfig) => Ok(key_path(kubeconfig.parent().unwrap_or(Path::new(".")))),
        Destination::Cluster { .. } => {
            bail!("name what the router of that cluster checks tokens with: --key-file or --secret-file")
        }
    }
}
