//! `asb down`: ends the Agent Sandbox of this machine, and what runs in it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use asb_node::halt;

use crate::daemon::{self, Lock};
use crate::place::Place;
use crate::{age, control, output, session};

/// Stop the Agent Sandbox of this machine.
///
/// The daemon ends, and so does everything that runs in sandboxes, with its hooks and signals; objects, volumes and images
/// stay, and the next `asb up` starts the same sandboxes again. With --keep-running only the daemon ends: sandboxes go on, and the next `asb up` finds
/// them. So it is too where the daemon is killed or crashes; `asb down` then ends what it left.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb down
  asb down --keep-running      # to replace the program by a newer one, for example")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,

    /// Leave what runs in sandboxes running
    #[arg(long)]
    keep_running: bool,

    /// How long what runs in sandboxes has to end by itself, where its own grace is not shorter
    #[arg(long, value_name = "TIME", value_parser = age::duration, default_value = "10s", conflicts_with = "keep_running")]
    grace: Duration,
}

/// How long the daemon itself may take, which finishes what it has begun.
const MOST: Duration = Duration::from_mins(1);

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Done {
    daemon: Option<i32>,
    ended: usize,
    left: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let data_dir = arguments.place.directory()?;
    let root = daemon::node_root(&data_dir);
    let running = || halt::running(&root).context("cannot tell what runs in sandboxes");
    let mut before = 0;
    let holder = daemon::holder(&data_dir)?;
    if holder.is_some() && !arguments.keep_running {
        before = running()?.len();
        session::block_on(control::halt(&data_dir, arguments.grace))?;
    }
    // One that was asked may have ended before it is told.
    let stopped = daemon::stop(&data_dir, MOST + arguments.grace)?.or(holder);
    let mut done = Done { daemon: stopped.map(|pid| pid.as_raw_nonzero().get()), ..Done::default() };
    let running = running()?;
    if arguments.keep_running {
        done.left = running.len();
    } else if asb_node::identity::Identity::is_known(&root) {
        // Nobody starts another meanwhile, which would start them again.
        let _lock = Lock::claim(&data_dir)?;
        session::block_on(async {
            halt::end(&running, arguments.grace).await?;
            Ok(halt::clear(&root).await?)
        })?;
        done.ended = running.len().max(before);
    }
    output::print(&said(&done, &data_dir))
}

fn said(done: &Done, data_dir: &Path) -> String {
    let daemon = match done.daemon {
        Some(pid) => format!("Agent Sandbox is down (process {pid} has ended)\n"),
        None => format!("no Agent Sandbox runs in {}\n", data_dir.display()),
    };
    let pods = |count| if count == 1 { "1 Pod".to_owned() } else { format!("{count} Pods") };
    let rest = match (done.ended, done.left) {
        (0, 0) => String::new(),
        (0, left) => format!("{} kept running; the next `asb up` takes charge again\n", pods(left)),
        (ended, _) => format!("{} ended; the next `asb up` starts again what is wanted\n", pods(ended)),
    };
    daemon + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(daemon: Option<i32>, ended: usize, left: usize) -> String {
        said(&Done { daemon, ended, left }, Path::new("/data"))
    }

    #[test]
    fn what_became_of_the_daemon_and_of_pods_is_said() {
        let all = [
            words(Some(7), 0, 0),
            words(Some(7), 2, 0),
            words(Some(7), 0, 1),
            words(None, 0, 0),
            words(None, 1, 0),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }
}
