//! `asb`: one program for every part of Agent Sandbox. Each subcommand lives in the module of its name.

mod age;
mod amounts;
mod claim;
mod command;
mod completion;
mod control;
mod conversation;
mod cp;
mod crds;
mod daemon;
mod describe;
mod doctor;
mod down;
mod environment;
mod events;
mod exec;
mod fsck;
mod hints;
mod image;
mod kubeconfig;
mod lines;
mod local;
mod logging;
mod logs;
mod ls;
mod memory;
mod node;
mod operator;
mod output;
mod place;
mod plugin;
mod pool;
mod port_forward;
mod release;
mod resume;
mod rm;
mod router;
mod run;
mod sandboxd;
mod session;
mod shell;
mod shim;
mod status;
mod streams;
mod suspend;
mod target;
mod terminal;
mod token;
mod top;
mod up;
mod version;

use std::process::ExitCode;

use clap::FromArgMatches;

use command::Arguments;

fn main() -> ExitCode {
    if let Some(code) = shim::run(std::env::args()) {
        return code;
    }
    let matches = command::definition().get_matches_from(operator::normalised(std::env::args_os()));
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let failure = arguments.failure();
    match arguments.run() {
        Ok(code) => code,
        Err(error) => {
            output::fail(&error, hints::of(&error).as_deref());
            failure
        }
    }
}
