//! `asb`: one program for every part of Agent Sandbox. Each subcommand lives in the module of its name.

mod crds;
mod kubeconfig;
mod output;
mod place;
mod status;
mod up;
mod version;

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
    Up(up::Arguments),
    Status(status::Arguments),
    Kubeconfig(kubeconfig::Arguments),
    Crds(crds::Arguments),
    Version(version::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::fail(&error),
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Up(arguments) => up::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Kubeconfig(arguments) => kubeconfig::run(&arguments),
        Command::Crds(arguments) => crds::run(&arguments),
        Command::Version(arguments) => version::run(&arguments),
    }
}
