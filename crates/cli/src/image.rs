//! `asb image`: the images of this machine's node.

mod access;
mod text;
pub(crate) mod work;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use asb_node::images::store::{Freed, Summary};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::output::{self, Form, tone};
use crate::place::Place;
use crate::session;
use work::Task;

/// Look after the images on this machine: fetch, load, list and remove them.
///
/// They are those of the local node. A daemon that runs does the work; where none does, root can.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Ls(List),
    Pull(Pull),
    Load(Load),
    Rm(Remove),
    Prune(Prune),
}

#[derive(clap::Args)]
struct Common {
    #[command(flatten)]
    place: Place,

    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// List images.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb image ls
  asb image ls -o json | jq '.[].references'")]
struct List {
    #[command(flatten)]
    common: Common,
}

/// Fetch an image from its registry, or what has changed of it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb image pull python:3.14
  asb image pull registry.example:5000/team/agent@sha256:…")]
struct Pull {
    /// The image
    image: String,

    /// A file with credentials for registries [default: ~/.docker/config.json, if it is there]
    #[arg(long, value_name = "FILE", env = "REGISTRY_AUTH_FILE", hide_env_values = true)]
    auth_file: Option<PathBuf>,

    #[command(flatten)]
    common: Common,
}

/// Bring in images that are on this machine: what `docker save` writes, or an OCI layout as an archive or a directory.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb image load agent.tar
  docker save agent | asb image load -")]
struct Load {
    /// Where they are; - for standard input
    path: PathBuf,

    #[command(flatten)]
    common: Common,
}

/// Remove images.
///
/// One that a container uses is refused; with --force it loses its name, and goes with the first `asb image prune` after
/// its last use.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb image rm python:3.14
  asb image rm --force 3f2c8e1a9b04")]
struct Remove {
    /// Names, or ids as lists show them
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<String>,

    /// Also the name of one in use
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    common: Common,
}

/// Remove images that have lost their names and that no container uses, and downloads that were broken off.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb image prune
  asb image prune --all")]
struct Prune {
    /// Those with names too
    #[arg(short, long)]
    all: bool,

    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    session::block_on(async {
        match &arguments.command {
            Command::Ls(it) => it.run().await,
            Command::Pull(it) => it.run().await,
            Command::Load(it) => it.run().await,
            Command::Rm(it) => it.run().await,
            Command::Prune(it) => it.run().await,
        }
    })
}

impl Common {
    async fn ask(&self, doing: &str, task: Task) -> Result<Value> {
        access::ask(&self.place.directory()?, doing, task).await
    }

    /// Prints an answer as it is, or as people want it.
    fn show<T: DeserializeOwned>(&self, answer: &Value, text: impl FnOnce(&T) -> String) -> Result<()> {
        match self.output {
            Form::Json => output::print(&format!("{answer:#}\n")),
            Form::Text => output::print(&text(&serde_json::from_value(answer.clone())?)),
        }
    }
}

impl List {
    async fn run(&self) -> Result<()> {
        let answer = self.common.ask("looking", Task::List).await?;
        if self.common.output == Form::Text && answer.as_array().is_some_and(Vec::is_empty) {
            output::note("there are no images; `asb image pull` and `asb image load` bring them in");
            return Ok(());
        }
        self.common.show(&answer, |images: &Vec<Summary>| {
            text::table_of(images, Timestamp::now(), tone::on_output())
        })
    }
}

impl Pull {
    async fn run(&self) -> Result<()> {
        let task = Task::Pull { reference: self.image.clone(), credentials: self.credentials()? };
        let answer = self.common.ask(&format!("pulling {}", self.image), task).await?;
        self.common.show(&answer, text::pulled)
    }

    fn credentials(&self) -> Result<Option<Value>> {
        let usual =
            || Some(PathBuf::from(env::var_os("HOME")?).join(".docker/config.json")).filter(|it| it.exists());
        let Some(path) = self.auth_file.clone().or_else(usual) else { return Ok(None) };
        let broken = || format!("cannot use the credentials in {}", path.display());
        let bytes = fs::read(&path).with_context(broken)?;
        serde_json::from_slice(&bytes).map(Some).with_context(broken)
    }
}

impl Load {
    async fn run(&self) -> Result<()> {
        let spooled = (self.path == Path::new("-")).then(|| access::spool(&self.common.place)).transpose()?;
        let path = spooled.as_ref().map_or(self.path.as_path(), access::Spooled::path);
        let path = std::path::absolute(path).context("cannot tell where that is")?;
        let answer = self.common.ask("loading", Task::Load { path }).await?;
        self.common.show(&answer, |images: &Vec<text::Loaded>| text::loaded(images))
    }
}

impl Remove {
    async fn run(&self) -> Result<()> {
        let mut all = Vec::new();
        for name in &self.images {
            let task = Task::Remove { name: name.clone(), force: self.force };
            let answer =
                self.common.ask("removing", task).await.with_context(|| format!("cannot remove {name}"))?;
            if self.common.output == Form::Text {
                self.common.show(&answer, |freed: &Freed| text::removed(name, freed))?;
            }
            all.push(answer);
        }
        if self.common.output == Form::Json {
            output::print(&format!("{:#}\n", Value::from(all)))
        } else {
            Ok(())
        }
    }
}

impl Prune {
    async fn run(&self) -> Result<()> {
        let answer = self.common.ask("removing", Task::Prune { all: self.all }).await?;
        self.common.show(&answer, text::pruned)
    }
}
