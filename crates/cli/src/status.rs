//! `asb status`: whether the local Agent Sandbox runs and answers.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::control;
use crate::output::{self, Form};
use crate::place::Place;

/// Say whether the local Agent Sandbox runs and answers.
///
/// Fails where it does not. With --wait it waits until it does, so that a script can go on.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,

    /// Wait until it is ready, for so many seconds at most
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "30")]
    wait: Option<u64>,

    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// How often to look again.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let kubeconfig = arguments.place.kubeconfig()?;
    let version = runtime.block_on(async {
        match arguments.wait {
            None => ask(&kubeconfig).await,
            Some(seconds) => wait(&kubeconfig, Duration::from_secs(seconds)).await,
        }
    });
    let mut version = version.with_context(|| {
        format!("Agent Sandbox does not answer; start it with `asb up` (looked for {})", kubeconfig.display())
    })?;
    let directory = arguments.place.directory()?;
    let patience = arguments.wait.map_or(control::PATIENCE, Duration::from_secs);
    let hello = runtime.block_on(async { tokio::time::timeout(patience, control::hello(&directory)).await });
    // One of an older version has nothing to say of its node.
    if let Ok(Some(hello)) = hello.context("Agent Sandbox is still starting")? {
        version["pid"] = hello.pid.into();
        version["node"] = json!(hello.node);
        version["node"]["message"] = hello.node.to_string().into();
        version["router"] = json!(hello.router.map(|router| format!("http://{router}")));
    }
    output::print(&report(&version, &kubeconfig, arguments.output))
}

async fn wait(kubeconfig: &Path, most: Duration) -> Result<Value> {
    let ready = async {
        loop {
            if let Ok(version) = ask(kubeconfig).await {
                return version;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    match tokio::time::timeout(most, ready).await {
        Ok(version) => Ok(version),
        Err(_) => ask(kubeconfig).await.with_context(|| format!("not ready after {} s", most.as_secs())),
    }
}

/// The version that the server says it is, and where it is.
pub(crate) async fn ask(kubeconfig: &Path) -> Result<Value> {
    let file = Kubeconfig::read_from(kubeconfig).context("there is no kubeconfig")?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .context("the kubeconfig is broken")?;
    let server = config.cluster_url.to_string();
    let client = Client::try_from(config).context("the kubeconfig is broken")?;
    match client.request_text(get("/readyz")?).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 500 => bail!("it is not ready: {}", status.message),
        Err(error) => return Err(error).context("nobody answers"),
    }
    let version: Value = client.request(get("/version")?).await.context("nobody answers")?;
    Ok(json!({"ready": true, "server": server.trim_end_matches('/'), "version": version["gitVersion"]}))
}

fn get(path: &str) -> Result<http::Request<Vec<u8>>> {
    http::Request::get(path).body(Vec::new()).context("a plain path makes a request")
}

fn report(version: &Value, kubeconfig: &Path, form: Form) -> String {
    let mut answer = version.clone();
    answer["kubeconfig"] = kubeconfig.display().to_string().into();
    match form {
        Form::Json => format!("{answer:#}\n"),
        Form::Text => {
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let node = answer["node"]["message"].as_str();
            let node = node.map_or_else(String::new, |node| format!("  node        {node}\n"));
            let router = answer["router"].as_str();
            let router = router.map_or_else(String::new, |router| format!("  router      {router}\n"));
            format!(
                "ready\n  server      {}\n  version     {}\n  kubeconfig  {}\n{node}{router}",
                word(&answer["server"]),
                word(&answer["version"]),
                kubeconfig.display(),
            )
        }
    }
}
