//! `asb completion`: what a shell needs to complete what is typed.

use anyhow::{Context, Result};
use clap_complete::Shell;

use crate::{command, output};

/// Print the completions for a shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  source <(asb completion bash)                                  # now, in bash
  asb completion zsh > \"${fpath[1]}/_asb\"                        # for good, in zsh
  asb completion fish > ~/.config/fish/completions/asb.fish      # for good, in fish")]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Known,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let shell = match arguments.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command::definition(), "asb", &mut script);
    output::print(&String::from_utf8(script).context("a script is text")?)
}
