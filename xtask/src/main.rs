//! `cargo xtask`: the one door to testing, checking and benchmarking Agent Sandbox.
//! Each subcommand lives in the module of its name; this file only names them.

mod deny;
mod generate;
mod terminal;
mod tidy;
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
    /// Checks the licences, sources and versions of everything we depend on.
    Deny,
    /// Writes the files that are generated from the code.
    Generate(generate::Arguments),
    /// Checks what the compiler does not: layers, house style, documents, links, generated files.
    Tidy,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Deny => deny::run(),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Tidy => tidy::run(),
    }
}
