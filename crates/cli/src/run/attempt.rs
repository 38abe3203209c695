//! One run from beginning to end: make the Sandbox, wait until its command begins, talk to that, see how it ends, clean
//! up. Signals are answered at every stage.

mod ended;
mod streams;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use asb_client::{Client, Deletion, Ending, Error as Trouble, NewSandbox, Snapshot, Wanted};
use asb_types::v1beta1::Sandbox;
use kube::ResourceExt;

use super::Arguments;
use super::interrupts::{Interrupts, Response, Wish};
use crate::conversation::possible;
use crate::output::progress::Progress;
use crate::{output, plugin, terminal};

/// How the program ends when the time is up, as `timeout` does.
pub(super) const TIMED_OUT: u8 = 124;

/// What came of waiting.
enum Outcome {
    /// The command has ended.
    Ended(Ending),
    /// Somebody stopped it.
    Stopped(Wish),
    /// Somebody left it to itself.
    Left(Wish),
    /// It did not begin in time.
    Late,
}

pub(super) async fn run(client: &Client, wish: &NewSandbox, arguments: &Arguments) -> Result<ExitCode> {
    let wanted = possible(Wanted { container: None, stdin: wish.stdin, tty: wish.tty });
    let wish = NewSandbox { tty: wanted.tty, ..wish.clone() };
    if arguments.detach {
        // Signals end it as they end any program: the sandbox stays.
        return detached(client, &client.create_sandbox(&wish).await?).await;
    }
    let mut interrupts = Interrupts::listen()?;
    let sandbox = client.create_sandbox(&wish).await?;
    let run = Attempt { client, sandbox: &sandbox, wanted, rm: arguments.rm, deadline: wish.deadline };
    let outcome = Box::pin(run.carry_through(&mut interrupts)).await;
    run.conclude(outcome).await
}

async fn detached(client: &Client, sandbox: &Sandbox) -> Result<ExitCode> {
    let mut progress = Progress::of(&sandbox.name_any());
    match client.wait_until_ready(sandbox, |outlook| progress.tell(outlook)).await {
        // A short command may be done already.
        Ok(()) | Err(Trouble::Ended { .. }) => {}
        Err(error) => {
            drop(progress);
            output::note(&kept(sandbox));
            return Err(error.into());
        }
    }
    drop(progress);
    output::print(&format!("{}\n", sandbox.name_any()))?;
    Ok(ExitCode::SUCCESS)
}

struct Attempt<'a> {
    client: &'a Client,
    sandbox: &'a Sandbox,
    wanted: Wanted,
    rm: bool,
    deadline: Option<Duration>,
}

impl Attempt<'_> {
    async fn carry_through(&self, interrupts: &mut Interrupts) -> Result<Outcome> {
        let started = tokio::select! {
            started = self.start() => started?,
            wish = interrupts.next() => {
                // Nothing has run in it, so nothing is lost.
                self.client.delete_sandbox(self.sandbox, Deletion { without_waiting: true, ..Deletion::default() }).await?;
                return Ok(Outcome::Stopped(wish));
            }
        };
        let Some(started) = started else { return Ok(Outcome::Late) };
        match started.ending(streams::CONTAINER) {
            Some(ending) if ending.is_start_error() => Ok(Outcome::Ended(ending)),
            _ => self.accompany(interrupts).await,
        }
    }

    /// Waits until the command begins, but not longer than it may take in all.
    async fn start(&self) -> Result<Option<Snapshot>> {
        let mut progress = Progress::of(&self.sandbox.name_any());
        let started = self
            .client
            .wait_until_started(self.sandbox, streams::CONTAINER, |outlook| progress.tell(outlook));
        match self.deadline {
            None => Ok(Some(started.await?)),
            Some(deadline) => {
                tokio::time::timeout(deadline, started).await.ok().transpose().map_err(Into::into)
            }
        }
    }

    /// Stays with the command until it ends, or until whoever called has had enough.
    async fn accompany(&self, interrupts: &mut Interrupts) -> Result<Outcome> {
        let mut ended = Box::pin(streams::until_ended(self.client, self.sandbox, &self.wanted));
        let mut count = 0;
        loop {
            let wish = tokio::select! {
                ending = &mut ended => return Ok(Outcome::Ended(ending?)),
                wish = interrupts.next() => wish,
            };
            count += 1;
            match Response::to(count) {
                Response::Relay => {
                    let relayed = tokio::select! {
                        ending = &mut ended => return Ok(Outcome::Ended(ending?)),
                        relayed = streams::relay(self.client, self.sandbox, wish) => relayed,
                    };
                    hint(relayed);
                }
                Response::Stop => {
                    let stopped = tokio::select! {
                        stopped = self.stop() => Some(stopped),
                        _ = interrupts.next() => None,
                    };
                    return match stopped {
                        Some(stopped) => stopped.map(|()| Outcome::Stopped(wish)),
                        None => Ok(Outcome::Left(wish)),
                    };
                }
                Response::Leave => return Ok(Outcome::Left(wish)),
            }
        }
    }

    /// Ends what runs: for good, or so that name and volumes stay.
    async fn stop(&self) -> Result<()> {
        if self.rm {
            self.client.delete_sandbox(self.sandbox, Deletion::default()).await?;
            return Ok(());
        }
        let suspended = self.client.suspend(self.sandbox).await?;
        self.client.wait_until_suspended(&suspended).await?;
        let (asb, name) = (plugin::called(), self.sandbox.name_any());
        output::note(&format!(
            "Sandbox {name} is suspended; `{asb} resume {name}` starts it again, `{asb} rm {name}` removes it"
        ));
        Ok(())
    }

    async fn conclude(&self, outcome: Result<Outcome>) -> Result<ExitCode> {
        let is_over = !matches!(outcome, Ok(Outcome::Stopped(_) | Outcome::Left(_)));
        if is_over && self.rm {
            self.client.delete_sandbox(self.sandbox, Deletion::default()).await?;
        } else if outcome.is_err() {
            output::note(&kept(self.sandbox));
        }
        match outcome? {
            Outcome::Ended(ending) => Ok(ended::exit_code(&ending)),
            Outcome::Stopped(wish) => Ok(ExitCode::from(wish.exit_code())),
            Outcome::Left(wish) => {
                output::note(&kept(self.sandbox));
                Ok(ExitCode::from(wish.exit_code()))
            }
            Outcome::Late => Ok(late(self.sandbox, self.rm)),
        }
    }
}

fn late(sandbox: &Sandbox, removed: bool) -> ExitCode {
    if !removed {
        output::note(&kept(sandbox));
    }
    output::fail(&anyhow::anyhow!("the command did not begin in time"), None);
    ExitCode::from(TIMED_OUT)
}

fn hint(relayed: bool) {
    if terminal::has_reader() {
        output::note(if relayed {
            "passed on; again to stop the sandbox"
        } else {
            "cannot be passed on to the command; again to stop the sandbox"
        });
    }
}

fn kept(sandbox: &Sandbox) -> String {
    let (asb, name) = (plugin::called(), sandbox.name_any());
    format!(
        "Sandbox {name} is still there: `{asb} describe {name}` tells about it, `{asb} rm {name}` removes it"
    )
}
