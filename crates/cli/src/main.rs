//! `asb`: one program for every part of Agent Sandbox. Each subcommand lives in the module of its name.

mod crds;
mod output;

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
    /// Print the CustomResourceDefinitions, for `kubectl apply -f -`
    Crds(crds::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Crds(arguments) => crds::run(&arguments),
    }
}
