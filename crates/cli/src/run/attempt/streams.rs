//! What is said between whoever called and the command that a Sandbox is for.

use std::io::ErrorKind;

use anyhow::{Context, Result};
use asb_client::{Client, Ending, Ends, Error as Trouble, LogOptions, Wanted};
use asb_types::v1beta1::Sandbox;
use tokio::io::AsyncReadExt;

use crate::conversation;
use crate::run::interrupts::Wish;
use crate::{output, terminal};

/// The container of a Sandbox that was made by `run`.
pub(super) const CONTAINER: &str = "main";

/// Passes on what is said, and waits for the end.
pub(super) async fn until_ended(client: &Client, sandbox: &Sandbox, wanted: &Wanted) -> Result<Ending> {
    if wanted.tty {
        on_a_terminal(client, sandbox, wanted).await?;
    } else {
        through_pipes(client, sandbox, wanted).await?;
    }
    Ok(client.wait_until_ended(sandbox, CONTAINER).await?)
}

/// Whoever joins a command hears only what it says from then on; what it said before is in its log.
async fn on_a_terminal(client: &Client, sandbox: &Sandbox, wanted: &Wanted) -> Result<()> {
    let before = show_log(client, sandbox, false).await?;
    match client.attach(sandbox, wanted).await {
        Ok(process) => {
            if before == 0 && wanted.stdin && terminal::has_reader() {
                output::note("joined the command; if there is no prompt, press Enter");
            }
            conversation::converse(process, wanted).await.map(drop)
        }
        // It has ended meanwhile, and may have said more.
        Err(Trouble::NotRunning { .. }) => show_rest(client, sandbox, before).await,
        Err(error) => Err(error.into()),
    }
}

async fn show_rest(client: &Client, sandbox: &Sandbox, before: u64) -> Result<()> {
    let mut log = client.logs(sandbox, &of_main(false)).await?;
    tokio::io::copy(&mut (&mut log).take(before), &mut tokio::io::sink())
        .await
        .context("the log broke off")?;
    passed_on(tokio::io::copy(&mut log, &mut terminal::answers()).await).map(drop)
}

/// The log has everything from the first byte on, however late we come.
async fn through_pipes(client: &Client, sandbox: &Sandbox, wanted: &Wanted) -> Result<()> {
    let log = show_log(client, sandbox, true);
    if !wanted.stdin {
        return log.await.map(drop);
    }
    tokio::select! {
        shown = log => shown.map(drop),
        Err(error) = feed(client, sandbox, wanted) => Err(error),
    }
}

/// How many bytes there were.
async fn show_log(client: &Client, sandbox: &Sandbox, follow: bool) -> Result<u64> {
    let mut log = client.logs(sandbox, &of_main(follow)).await?;
    passed_on(tokio::io::copy(&mut log, &mut terminal::answers()).await)
}

fn of_main(follow: bool) -> LogOptions {
    LogOptions { container: Some(CONTAINER.to_owned()), follow, ..LogOptions::default() }
}

/// A reader that has seen enough is no error.
fn passed_on(copied: std::io::Result<u64>) -> Result<u64> {
    match copied {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(0),
        copied => copied.context("what the command says broke off"),
    }
}

/// Passes standard input on. A command that has ended meanwhile reads none.
async fn feed(client: &Client, sandbox: &Sandbox, wanted: &Wanted) -> Result<()> {
    match client.attach_input(sandbox, wanted).await {
        Ok(process) => {
            let ends =
                Ends { input: Some(terminal::input()), output: tokio::io::sink(), errors: tokio::io::sink() };
            // How it ended is told by the Pod.
            let _ = process.pump(ends).await;
        }
        Err(Trouble::NotRunning { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    std::future::pending().await
}

/// Sends the command a signal, through a shell beside it. False where there is none that could.
pub(super) async fn relay(client: &Client, sandbox: &Sandbox, wish: Wish) -> bool {
    let command = ["sh".to_owned(), "-c".to_owned(), format!("kill -s {} 1", wish.name())];
    let wanted = Wanted { container: Some(CONTAINER.to_owned()), ..Wanted::default() };
    let Ok(process) = client.exec(sandbox, &command, &wanted).await else { return false };
    let ends = Ends { input: None::<tokio::io::Empty>, output: tokio::io::sink(), errors: tokio::io::sink() };
    process.pump(ends).await.is_ok_and(|code| code == 0)
}
