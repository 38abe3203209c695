//! `cargo xtask`: the one door to testing, checking and benchmarking Agent Sandbox.
//! Each subcommand lives in the module of its name; this file only names them.

mod kube;
mod parts;
mod terminal;
mod workspace;

use clap::{Parser, Subcommand};

/// Builds, checks and tests Agent Sandbox.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Kube(kube::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Kube(arguments) => kube::run(arguments),
    }
}
