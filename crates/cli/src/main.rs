//! `asb`: one program for every part of Agent Sandbox. Each subcommand lives in the module of its name.

mod crds;
mod kubeconfig;
mod logging;
mod operator;
mod output;
mod place;
mod status;
mod up;
mod version;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Isolated, stateful, singleton environments for AI agents.
#[derive(Parser)]
#[command(name = "asb", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one, for as long as the program runs")]
enum Command {
    Up(up::Arguments),
    Operator(operator::Arguments),
    Status(status::Arguments),
    Kubeconfig(kubeconfig::Arguments),
    Crds(crds::Arguments),
    Version(version::Arguments),
}

fn main() -> ExitCode {
    let matches = command().get_matches_from(operator::normalised(std::env::args_os()));
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::fail(&error),
    }
}

fn command() -> clap::Command {
    operator::in_go_syntax(Arguments::command())
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Up(arguments) => up::run(&arguments),
        Command::Operator(arguments) => operator::run(arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Kubeconfig(arguments) => kubeconfig::run(&arguments),
        Command::Crds(arguments) => crds::run(&arguments),
        Command::Version(arguments) => version::run(&arguments),
    }
}
