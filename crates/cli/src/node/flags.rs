//! What can be said about the node on the command line.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result};
use asb_core::network::cidr::Cidr;
use asb_core::pod::support::Allowance;
use asb_node::images;
use asb_node::settings::Settings;
use asb_node::shim::client::Program;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::{age, daemon, sandboxd};

#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "The node")]
pub(crate) struct Flags {
    /// Only serve the API: no Pods run on this machine
    #[arg(long)]
    pub(crate) no_node: bool,

    /// What Pods may do although it takes isolation away, separated by commas
    #[arg(long, value_name = "WORD", value_delimiter = ',', value_parser = allowances())]
    allow: Vec<Allowance>,

    /// The name of the Node [default: that of this machine]
    #[arg(long, value_name = "NAME", value_parser = name)]
    node_name: Option<String>,

    /// The addresses of Pods [default: a range that this machine does not use, kept from then on]
    #[arg(long, value_name = "CIDR")]
    pod_range: Option<Cidr>,

    /// An OCI runtime program for Pods of a RuntimeClass with this handler, such as gvisor=/usr/bin/runsc
    #[arg(long, value_name = "NAME=PATH")]
    runtime: Vec<Runtime>,

    /// How old a token of a ServiceAccount gets in a Pod before it is replaced, however long it holds
    #[arg(long, value_name = "TIME", value_parser = age::duration, default_value = "24h")]
    renew_tokens_after: Duration,

    /// A file with mirrors and trust of registries and limits of images, as YAML or JSON
    #[arg(long, value_name = "FILE")]
    image_config: Option<PathBuf>,
}

/// A handler and its program.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Runtime {
    handler: String,
    program: PathBuf,
}

impl FromStr for Runtime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (handler, program) =
            text.split_once('=').ok_or("it must be NAME=PATH, such as gvisor=/usr/bin/runsc")?;
        if program.is_empty() {
            return Err("it must name a program".to_owned());
        }
        let program = std::path::absolute(program).map_err(|error| error.to_string())?;
        Ok(Self { handler: name(handler)?, program })
    }
}

impl Flags {
    pub(crate) fn settings(&self, data_dir: &Path, api: SocketAddr) -> Result<Settings> {
        Ok(Settings {
            root: daemon::node_root(data_dir),
            name: self.node_name.clone().unwrap_or_else(machine),
            allow: self.allow.iter().copied().collect(),
            images: self.image_config.as_deref().map(read).transpose()?.unwrap_or_default(),
            pods: self.pod_range,
            api,
            shim: Program::default(),
            runtimes: self.runtimes(),
            carried: Some(sandboxd::PROGRAM),
            token_age: self.renew_tokens_after.max(Duration::from_secs(1)),
        })
    }

    /// The last word about a handler counts.
    fn runtimes(&self) -> BTreeMap<String, PathBuf> {
        self.runtime.iter().map(|it| (it.handler.clone(), it.program.clone())).collect()
    }
}

/// The settings for images, which `asb image` reads too.
pub(crate) fn read(path: &Path) -> Result<images::Settings> {
    let broken = || format!("cannot use the settings for images in {}", path.display());
    let text = fs::read_to_string(path).with_context(broken)?;
    serde_saphyr::from_str(&text).map_err(|error| anyhow::anyhow!("{error}")).with_context(broken)
}

/// Ports of the host are not among them: nothing opens those.
fn allowances() -> impl TypedValueParser<Value = Allowance> {
    let offered = Allowance::ALL.into_iter().filter(|allowance| *allowance != Allowance::HostPorts);
    PossibleValuesParser::new(offered.map(Allowance::as_str)).try_map(|word| word.parse::<Allowance>())
}

/// A DNS subdomain, as names of Nodes and handlers are.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |part: &str| {
        let inner = part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        inner && !part.is_empty() && !part.starts_with('-') && !part.ends_with('-')
    };
    if text.len() <= 253 && text.split('.').all(is_plain) {
        return Ok(text.to_owned());
    }
    Err("it must be small letters, digits, `-` and `.`, and begin and end with a letter or digit".to_owned())
}

/// This machine's name, if a Node can have it.
fn machine() -> String {
    let system = rustix::system::uname();
    let lower = system.nodename().to_string_lossy().to_ascii_lowercase();
    name(&lower).unwrap_or_else(|_| "localhost".to_owned())
}

#[cfg(test)]
mod tests {
    use asb_core::pod::support::Allowances;
    use asb_node::settings::TOKEN_AGE;
    use clap::{Args, FromArgMatches};

    use super::*;

    fn parsed(line: &str) -> Result<Flags, clap::Error> {
        let command = Flags::augment_args(clap::Command::new("up").no_binary_name(true));
        Flags::from_arg_matches(&command.try_get_matches_from(line.split_whitespace())?)
    }

    fn settings(line: &str) -> Settings {
        parsed(line).unwrap().settings(Path::new("/data"), ([127, 0, 0, 1], 6443).into()).unwrap()
    }

    #[test]
    fn everything_that_is_said_reaches_the_node() {
        let said = settings(
            "--allow host-path,privileged --allow host-ipc --node-name box-1 --pod-range 10.9.0.0/16 \
             --runtime gvisor=/usr/bin/runsc --renew-tokens-after 1h",
        );
        let allowed: Allowances =
            [Allowance::HostPath, Allowance::Privileged, Allowance::HostIpc].into_iter().collect();
        assert_eq!((said.root.to_str(), said.name.as_str()), (Some("/data/node"), "box-1"));
        assert_eq!((said.allow, said.pods), (allowed, Some("10.9.0.0/16".parse().unwrap())));
        assert_eq!(said.runtimes, [("gvisor".to_owned(), PathBuf::from("/usr/bin/runsc"))].into());
        assert_eq!(said.token_age, Duration::from_hours(1));
    }

    #[test]
    fn without_a_word_nothing_is_allowed() {
        let usual = settings("");
        assert_eq!((usual.allow, usual.pods, usual.runtimes), (Allowances::default(), None, BTreeMap::new()));
        assert_eq!((usual.images, usual.token_age), (images::Settings::default(), TOKEN_AGE));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in
            ["--allow host-ports", "--allow all", "--node-name Box", "--pod-range 10/8", "--runtime runsc"]
        {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn settings_for_images_are_read_from_yaml_and_mistakes_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("images.yaml");
        let mirrors = "registry: {registries: {docker.io: {mirrors: [{address: mirror.example:5000, security: plain}]}}}";
        fs::write(&path, mirrors).unwrap();
        assert_eq!(read(&path).unwrap().registry.registries["docker.io"].mirrors.len(), 1);
        fs::write(&path, "registry: {mirors: {}}").unwrap();
        let refused = format!("{:#}", read(&path).unwrap_err());
        assert!(refused.contains("images.yaml") && refused.contains("mirors"), "{refused}");
    }
}
