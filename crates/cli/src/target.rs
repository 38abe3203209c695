//! Whom a command is for: the arguments that all commands about sandboxes take, and the client that follows from them.

use std::path::PathBuf;

use anyhow::{Result, bail};
use asb_client::{Address, Asked, Client, Destination, Surroundings};

use crate::place::Place;
use crate::plugin;

/// Where sandboxes are: `--context`, else `KUBECONFIG`, else this machine.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Where")]
pub(crate) struct Target {
    /// The namespace [default: that of the context, or "default"]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// A context of the kubeconfig [default: the current one of KUBECONFIG; without KUBECONFIG, this machine]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// The data directory of the Agent Sandbox on this machine, whatever KUBECONFIG says
    #[arg(long, value_name = "DIR", conflicts_with = "context")]
    data_dir: Option<PathBuf>,
}

impl Target {
    /// What was said before the command, where nothing was said after it.
    pub(crate) fn complete(&mut self, before: Self) {
        self.namespace = self.namespace.take().or(before.namespace);
        if self.context.is_none() && self.data_dir.is_none() {
            (self.context, self.data_dir) = (before.context, before.data_dir);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn destination(&self) -> Result<Destination> {
        let asked = Asked {
            context: self.context.clone(),
            data_dir: self.data_dir.clone(),
            as_kubectl: plugin::is_this(),
        };
        let local = Place::named(self.data_dir.clone()).kubeconfig()?;
        Ok(Destination::choose(&asked, &Surroundings::of_this_process(local)))
    }

    pub(crate) async fn connect(&self) -> Result<Client> {
        let client = Client::connect(&self.destination()?).await?;
        Ok(match &self.namespace {
            Some(namespace) => client.in_namespace(namespace),
            None => client,
        })
    }

    /// An address, whose namespace may not be another than the one that was named.
    pub(crate) fn check(&self, address: &Address) -> Result<()> {
        match (&self.namespace, &address.namespace) {
            (Some(named), Some(own)) if named != own => {
                bail!(
                    "{address} is in namespace {own:?}, and --namespace says {named:?}; leave one of them out"
                )
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(namespace: Option<&str>, context: Option<&str>) -> Target {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Target { namespace: owned(namespace), context: owned(context), data_dir: None }
    }

    #[test]
    fn what_was_said_after_the_command_counts_first() {
        let mut after = target(Some("a"), None);
        after.complete(target(Some("b"), Some("prod")));
        assert_eq!(after, target(Some("a"), Some("prod")));
    }

    #[test]
    fn a_context_before_does_not_join_a_data_directory_after() {
        let mut after = Target { data_dir: Some("/data".into()), ..Target::default() };
        after.complete(target(None, Some("prod")));
        assert_eq!(after.context, None);
    }

    #[test]
    fn two_namespaces_are_a_contradiction() {
        let refused = target(Some("a"), None).check(&"b/box".parse().unwrap()).unwrap_err();
        insta::assert_snapshot!(refused, @r#"b/box is in namespace "b", and --namespace says "a"; leave one of them out"#);
        assert!(target(Some("a"), None).check(&"a/box".parse().unwrap()).is_ok());
        assert!(target(None, None).check(&"a/box".parse().unwrap()).is_ok());
    }
}
