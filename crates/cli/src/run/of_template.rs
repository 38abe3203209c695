//! A run in a Sandbox that is made from a template: a claim on the template, and the command beside the template's own.
//! So everything that the template decides holds, its network policy included.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use asb_client::{Client, Deletion, NewClaim, Wanted};
use asb_types::v1beta1::{Sandbox, SandboxClaim};
use kube::ResourceExt;

use super::Arguments;
use super::attempt::TIMED_OUT;
use crate::conversation::{converse, possible};
use crate::environment::Variable;
use crate::output::progress::Progress;
use crate::{output, plugin};

pub(super) async fn run(client: &Client, template: &str, arguments: &Arguments) -> Result<ExitCode> {
    if arguments.detach {
        bail!(
            "with --template there is nothing to detach from: the template's own command goes on; `asb claim` makes such a Sandbox"
        );
    }
    if arguments.timeout.is_some() && !arguments.rm {
        bail!("with --template, --timeout ends the whole Sandbox; say --rm as well");
    }
    client.template(client.namespace(), template).await?;
    let wanted = NewClaim {
        name: arguments.name.clone(),
        env: Variable::all(&arguments.env)?,
        lifetime: arguments.timeout,
        ..NewClaim::of_template(template)
    };
    let claim = client.create_claim(&wanted).await?;
    let outcome = tokio::select! {
        outcome = within(arguments.timeout, carry_through(client, &claim, arguments)) => outcome,
        interrupted = tokio::signal::ctrl_c() => interrupted.map(|()| ExitCode::from(130)).map_err(Into::into),
    };
    if arguments.rm {
        client.release(&claim, Deletion::default()).await?;
    } else if outcome.is_err() {
        let (asb, name) = (plugin::called(), claim.name_any());
        output::note(&format!("claim {name} is still there: `{asb} release {name}` removes it"));
    }
    outcome
}

async fn carry_through(client: &Client, claim: &SandboxClaim, arguments: &Arguments) -> Result<ExitCode> {
    let sandbox = ready(client, claim).await?;
    let wanted = possible(Wanted { container: None, stdin: arguments.interactive, tty: arguments.tty });
    let process = client.exec(&sandbox, &arguments.command, &wanted).await?;
    converse(process, &wanted).await
}

async fn ready(client: &Client, claim: &SandboxClaim) -> Result<Sandbox> {
    let mut progress = Progress::of(&claim.name_any());
    Ok(client.wait_until_claimed(claim, |outlook| progress.tell(outlook)).await?)
}

async fn within(most: Option<Duration>, work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    let Some(most) = most else { return work.await };
    if let Ok(done) = tokio::time::timeout(most, work).await {
        return done;
    }
    output::note("stopped: its time was up");
    Ok(ExitCode::from(TIMED_OUT))
}
