//! The command line as a whole: which commands there are, and what is said before them.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{CommandFactory, Parser, Subcommand};

use crate::target::Target;
use crate::{
    claim, completion, conversation, cp, crds, describe, doctor, down, events, exec, fsck, image, kubeconfig,
    logs, ls, operator, plugin, pool, port_forward, release, resume, rm, router, run, sandboxd, shell,
    status, suspend, token, top, up, version,
};

/// Isolated, stateful, singleton environments for AI agents.
#[derive(Parser)]
#[command(name = "asb", version, arg_required_else_help = true)]
#[command(
    after_help = "Commands about sandboxes go to --context, else to KUBECONFIG, else to this machine's own (`asb up`)."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    before: Target,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Run(run::Arguments),
    Shell(shell::Arguments),
    Exec(exec::Arguments),
    Logs(logs::Arguments),
    Cp(cp::Arguments),
    PortForward(port_forward::Arguments),
    Ls(ls::Arguments),
    Describe(describe::Arguments),
    Suspend(suspend::Arguments),
    Resume(resume::Arguments),
    Rm(rm::Arguments),
    Claim(claim::Arguments),
    Release(release::Arguments),
    Pool(pool::Arguments),
    Top(top::Arguments),
    Token(token::Arguments),
    Events(events::Arguments),
    Up(up::Arguments),
    Down(down::Arguments),
    Status(status::Arguments),
    Image(image::Arguments),
    Doctor(doctor::Arguments),
    Fsck(fsck::Arguments),
    Kubeconfig(kubeconfig::Arguments),
    Crds(crds::Arguments),
    Operator(operator::Arguments),
    Router(router::Arguments),
    Sandboxd(sandboxd::Arguments),
    Completion(completion::Arguments),
    Version(version::Arguments),
}

/// Everything that can be typed.
pub(crate) fn definition() -> clap::Command {
    let definition = operator::in_go_syntax(Arguments::command());
    if plugin::is_this() { definition.bin_name(plugin::called()) } else { definition }
}

impl Arguments {
    pub(crate) fn run(mut self) -> Result<ExitCode> {
        match self.command.target() {
            Some(target) => target.complete(self.before),
            None if self.before.is_empty() => {}
            None => bail!(
                "--namespace and --context are for commands about sandboxes; name a data directory after the command"
            ),
        }
        self.command.run()
    }

    /// How the program ends where it fails itself. Commands that end as what they ran does keep out of its way.
    pub(crate) fn failure(&self) -> ExitCode {
        match self.command {
            Command::Run(_) | Command::Shell(_) | Command::Exec(_) => {
                ExitCode::from(conversation::OWN_FAILURE)
            }
            _ => ExitCode::FAILURE,
        }
    }
}

impl Command {
    /// Whom it is for, if it is about sandboxes.
    fn target(&mut self) -> Option<&mut Target> {
        match self {
            Self::Run(arguments) => Some(&mut arguments.target),
            Self::Shell(arguments) => Some(&mut arguments.target),
            Self::Exec(arguments) => Some(&mut arguments.target),
            Self::Logs(arguments) => Some(&mut arguments.target),
            Self::Cp(arguments) => Some(&mut arguments.target),
            Self::PortForward(arguments) => Some(&mut arguments.target),
            Self::Ls(arguments) => Some(&mut arguments.target),
            Self::Describe(arguments) => Some(&mut arguments.target),
            Self::Suspend(arguments) => Some(&mut arguments.target),
            Self::Resume(arguments) => Some(&mut arguments.target),
            Self::Rm(arguments) => Some(&mut arguments.target),
            Self::Claim(arguments) => Some(&mut arguments.target),
            Self::Release(arguments) => Some(&mut arguments.target),
            Self::Pool(arguments) => Some(arguments.target()),
            Self::Top(arguments) => Some(&mut arguments.target),
            Self::Token(arguments) => Some(&mut arguments.target),
            Self::Events(arguments) => Some(&mut arguments.target),
            Self::Up(_)
            | Self::Down(_)
            | Self::Status(_)
            | Self::Image(_)
            | Self::Doctor(_)
            | Self::Fsck(_)
            | Self::Kubeconfig(_)
            | Self::Crds(_)
            | Self::Operator(_)
            | Self::Router(_)
            | Self::Sandboxd(_)
            | Self::Completion(_)
            | Self::Version(_) => None,
        }
    }

    fn run(self) -> Result<ExitCode> {
        let done = match self {
            Self::Run(arguments) => return run::run(&arguments),
            Self::Shell(arguments) => return shell::run(&arguments),
            Self::Exec(arguments) => return exec::run(&arguments),
            Self::Doctor(arguments) => return doctor::run(&arguments),
            Self::Fsck(arguments) => return fsck::run(&arguments),
            Self::Logs(arguments) => logs::run(&arguments),
            Self::Cp(arguments) => cp::run(&arguments),
            Self::PortForward(arguments) => port_forward::run(&arguments),
            Self::Ls(arguments) => ls::run(&arguments),
            Self::Describe(arguments) => describe::run(&arguments),
            Self::Suspend(arguments) => suspend::run(&arguments),
            Self::Resume(arguments) => resume::run(&arguments),
            Self::Rm(arguments) => rm::run(&arguments),
            Self::Claim(arguments) => claim::run(&arguments),
            Self::Release(arguments) => release::run(&arguments),
            Self::Pool(arguments) => pool::run(&arguments),
            Self::Top(arguments) => top::run(&arguments),
            Self::Token(arguments) => token::run(&arguments),
            Self::Events(arguments) => events::run(&arguments),
            Self::Up(arguments) => up::run(&arguments),
            Self::Down(arguments) => down::run(&arguments),
            Self::Status(arguments) => status::run(&arguments),
            Self::Image(arguments) => image::run(&arguments),
            Self::Kubeconfig(arguments) => kubeconfig::run(&arguments),
            Self::Crds(arguments) => crds::run(&arguments),
            Self::Operator(arguments) => operator::run(arguments),
            Self::Router(arguments) => router::run(&arguments),
            Self::Sandboxd(arguments) => sandboxd::run(&arguments),
            Self::Completion(arguments) => completion::run(&arguments),
            Self::Version(arguments) => version::run(&arguments),
        };
        done.map(|()| ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As wide as a terminal that is not there.
    fn help(command: &mut clap::Command) -> String {
        command.clone().term_width(100).render_long_help().to_string()
    }

    #[test]
    fn the_whole_is_explained() {
        insta::assert_snapshot!("help", help(&mut definition()));
    }

    #[test]
    fn every_command_is_explained_with_examples() {
        let mut whole = definition();
        whole.build();
        let own = ["up", "operator", "help"];
        for command in whole.get_subcommands_mut().filter(|command| !own.contains(&command.get_name())) {
            explained(command, "");
        }
    }

    fn explained(command: &mut clap::Command, before: &str) {
        let name = format!("{before}{}", command.get_name());
        let text = help(command);
        insta::assert_snapshot!(format!("help_{name}"), text);
        let subcommands: Vec<_> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
        let is_about_sandboxes = command.get_arguments().any(|it| it.get_id() == "context");
        assert!(text.contains("Examples:") || !is_about_sandboxes, "{name} has no examples");
        for subcommand in subcommands.iter().filter(|it| *it != "help") {
            let inner = command.find_subcommand_mut(subcommand).expect("it was just named");
            explained(inner, &format!("{name}_"));
        }
    }

    #[test]
    fn the_command_line_makes_sense() {
        definition().debug_assert();
    }
}
