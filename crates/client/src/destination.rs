//! Where a command goes. A pure decision from what was asked for and what is around; connecting is left to
//! [`Client::connect`](crate::Client::connect).

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// What somebody asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// A context of a kubeconfig. Asks for the default kubeconfig where `KUBECONFIG` is not set.
    pub context: Option<String>,
    /// The data directory of a local Agent Sandbox, named outright.
    pub data_dir: Option<PathBuf>,
    /// Whether kubectl's rules hold, by which the default kubeconfig is always meant.
    pub as_kubectl: bool,
}

/// What is around: the environment, and where a local Agent Sandbox would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// `KUBECONFIG`, a list of files.
    pub kubeconfig: Option<OsString>,
    /// The default kubeconfig, in the home directory.
    pub default_kubeconfig: Option<PathBuf>,
    /// The kubeconfig of the local Agent Sandbox.
    pub local: PathBuf,
}

/// Whom to talk to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The Agent Sandbox of this machine, by the kubeconfig that it wrote.
    Local(PathBuf),
    /// A cluster: the files of which the first has the last word, and a context of theirs if not the current one.
    Cluster { files: Vec<PathBuf>, context: Option<String> },
}

impl Surroundings {
    /// Those of this process.
    pub fn of_this_process(local: PathBuf) -> Self {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty());
        let home = set("HOME").map(PathBuf::from);
        Self {
            kubeconfig: set("KUBECONFIG"),
            default_kubeconfig: home.map(|home| home.join(".kube/config")),
            local,
        }
    }
}

impl Destination {
    /// A context that was named, else `KUBECONFIG`, else the local Agent Sandbox. The default kubeconfig counts only for
    /// who asks: it is likelier to be somebody's production than what was meant.
    ///
    /// ```
    /// use asb_client::{Asked, Destination, Surroundings};
    ///
    /// let around = Surroundings { local: "/var/lib/asb/kubeconfig".into(), ..Surroundings::default() };
    /// let chosen = Destination::choose(&Asked::default(), &around);
    /// assert_eq!(chosen, Destination::Local("/var/lib/asb/kubeconfig".into()));
    /// ```
    pub fn choose(asked: &Asked, around: &Surroundings) -> Self {
        if asked.data_dir.is_some() {
            return Self::Local(around.local.clone());
        }
        let context = asked.context.clone();
        match (&around.kubeconfig, &around.default_kubeconfig) {
            // Whoever exports the kubeconfig of this machine means this machine.
            (Some(list), _) if context.is_none() && *list == around.local => {
                Self::Local(around.local.clone())
            }
            (Some(list), _) => Self::Cluster { files: env::split_paths(list).collect(), context },
            (None, Some(file)) if context.is_some() || asked.as_kubectl => {
                Self::Cluster { files: vec![file.clone()], context }
            }
            _ => Self::Local(around.local.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(kubeconfig: Option<&str>) -> Surroundings {
        Surroundings {
            kubeconfig: kubeconfig.map(OsString::from),
            default_kubeconfig: Some("/home/user/.kube/config".into()),
            local: "/data/kubeconfig".into(),
        }
    }

    fn cluster(files: &[&str], context: Option<&str>) -> Destination {
        Destination::Cluster {
            files: files.iter().map(PathBuf::from).collect(),
            context: context.map(str::to_owned),
        }
    }

    fn context(name: &str) -> Asked {
        Asked { context: Some(name.to_owned()), ..Asked::default() }
    }

    #[test]
    fn without_a_word_it_is_the_local_one_and_never_the_default_kubeconfig() {
        let chosen = Destination::choose(&Asked::default(), &around(None));
        assert_eq!(chosen, Destination::Local("/data/kubeconfig".into()));
    }

    #[test]
    fn the_environment_names_a_cluster() {
        let chosen = Destination::choose(&Asked::default(), &around(Some("/a:/b")));
        assert_eq!(chosen, cluster(&["/a", "/b"], None));
    }

    #[test]
    fn the_environment_may_name_this_machine() {
        let chosen = Destination::choose(&Asked::default(), &around(Some("/data/kubeconfig")));
        assert_eq!(chosen, Destination::Local("/data/kubeconfig".into()));
    }

    #[test]
    fn a_context_is_one_of_the_environments_kubeconfig_or_of_the_default_one() {
        let chosen = |kubeconfig| Destination::choose(&context("prod"), &around(kubeconfig));
        assert_eq!(chosen(Some("/a")), cluster(&["/a"], Some("prod")));
        assert_eq!(chosen(None), cluster(&["/home/user/.kube/config"], Some("prod")));
    }

    #[test]
    fn a_data_directory_that_was_named_is_meant() {
        let asked = Asked { data_dir: Some("/data".into()), ..Asked::default() };
        let chosen = Destination::choose(&asked, &around(Some("/a")));
        assert_eq!(chosen, Destination::Local("/data/kubeconfig".into()));
    }

    #[test]
    fn as_a_plugin_of_kubectl_its_rules_hold() {
        let asked = Asked { as_kubectl: true, ..Asked::default() };
        assert_eq!(Destination::choose(&asked, &around(None)), cluster(&["/home/user/.kube/config"], None));
        assert_eq!(Destination::choose(&asked, &around(Some("/a"))), cluster(&["/a"], None));
    }
}
