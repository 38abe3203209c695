//! `asb`: one program for every part of Agent Sandbox. Each subcommand lives in the module of its name.

mod crds;
mod output;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Isolated, stateful, singleton environments for AI agents.
#[derive(Parser)]
#[command(name = "asb", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Crds(crds::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::fail(&error),
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Crds(arguments) => crds::run(&arguments),
    }
}
