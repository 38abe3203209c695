//! `cargo xtask`: the one door to testing, checking and benchmarking Agent Sandbox.
//! Each subcommand lives in the module of its name; this file only names them.

mod bench;
mod command;
mod deny;
mod generate;
mod image;
mod kube;
mod parts;
mod planted;
mod terminal;
mod test;
mod tidy;
mod vendor;
mod workspace;

use std::process::ExitCode;

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
    Bench(bench::Arguments),
    /// Checks the licences, sources and versions of everything we depend on.
    Deny(deny::Arguments),
    /// Writes the files that are generated from the code.
    Generate(generate::Arguments),
    Image(image::Arguments),
    Kube(kube::Arguments),
    Planted(planted::Arguments),
    Test(test::Arguments),
    /// Checks what the compiler does not: layers, house style, documents, links, generated files.
    Tidy,
    /// Copies the Kubernetes definitions that our schemas embed from the pinned Kubernetes.
    Vendor,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::failure(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Deny(arguments) => deny::run(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Image(arguments) => image::run(&arguments),
        Command::Kube(arguments) => kube::run(arguments),
        Command::Planted(arguments) => planted::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Tidy => tidy::run(),
        Command::Vendor => vendor::run(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn no_flag_is_in_the_way_of_another() {
        Arguments::command().debug_assert();
    }
}
