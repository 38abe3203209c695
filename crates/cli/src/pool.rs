//! `asb pool`: keeps sandboxes warm.

use anyhow::{Result, bail};
use asb_client::{Client, NewPool, NewSandbox, PoolSize};

use crate::target::Target;
use crate::{local, output, session};

/// Keep sandboxes running and unclaimed, so that claims need not wait.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Create(Create),
    Scale(Scale),
    Rm(Remove),
}

/// Create a pool.
///
/// Its sandboxes are made from a template that is there, or from an image: then a template of the pool's name is made
/// too. `asb ls pools` shows how full it is.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb pool create python --template python --size 3
  asb pool create python --template python --min 1 --max 10
  asb pool create shells --image busybox:1.37 --size 2 -- sleep infinity")]
struct Create {
    name: String,

    /// The template
    #[arg(long, required_unless_present = "image", conflicts_with_all = ["image", "command"])]
    template: Option<String>,

    /// An image, to make a template of
    #[arg(long)]
    image: Option<String>,

    /// What runs in the sandboxes [default: the image's own]
    #[arg(last = true)]
    command: Vec<String>,

    #[command(flatten)]
    size: Size,

    #[command(flatten)]
    target: Target,
}

/// Change how many sandboxes a pool keeps.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb pool scale python --size 5
  asb pool scale python --min 1 --max 10")]
struct Scale {
    name: String,

    #[command(flatten)]
    size: Size,

    #[command(flatten)]
    target: Target,
}

/// Remove pools, and the sandboxes in them that nobody has claimed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb pool rm python")]
struct Remove {
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    #[command(flatten)]
    target: Target,
}

#[derive(clap::Args)]
struct Size {
    /// How many
    #[arg(long = "size", value_name = "COUNT", value_parser = clap::value_parser!(i32).range(0..), conflicts_with_all = ["min", "max"])]
    fixed: Option<i32>,

    /// The fewest; the pool follows demand
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(0..))]
    min: Option<i32>,

    /// The most; the pool follows demand
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(0..))]
    max: Option<i32>,
}

impl Size {
    fn wanted(&self) -> Option<PoolSize> {
        match (self.fixed, self.min, self.max) {
            (Some(fixed), ..) => Some(PoolSize::Fixed(fixed)),
            (None, None, None) => None,
            (None, least, most) => Some(PoolSize::Between { least, most }),
        }
    }
}

impl Arguments {
    pub(crate) fn target(&mut self) -> &mut Target {
        match &mut self.command {
            Command::Create(create) => &mut create.target,
            Command::Scale(scale) => &mut scale.target,
            Command::Rm(remove) => &mut remove.target,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    session::block_on(async {
        match &arguments.command {
            Command::Create(create) => create.run(&local::connect(&create.target).await?).await,
            Command::Scale(scale) => scale.run(&scale.target.connect().await?).await,
            Command::Rm(remove) => remove.run(&remove.target.connect().await?).await,
        }
    })
}

impl Create {
    async fn run(&self, client: &Client) -> Result<()> {
        let template = match (&self.template, &self.image) {
            (Some(template), _) => {
                client.template(client.namespace(), template).await?;
                template.clone()
            }
            (None, Some(image)) => {
                client.create_template(&self.blueprint(image)).await?;
                output::print(&format!("sandboxtemplate/{} created\n", self.name))?;
                self.name.clone()
            }
            (None, None) => bail!("name a template with --template, or an image with --image"),
        };
        let size = self.size.wanted().unwrap_or(PoolSize::Fixed(1));
        client.create_pool(&NewPool { name: self.name.clone(), template, size }).await?;
        output::print(&format!("sandboxwarmpool/{} created\n", self.name))
    }

    fn blueprint(&self, image: &str) -> NewSandbox {
        NewSandbox {
            name: Some(self.name.clone()),
            image: image.to_owned(),
            command: self.command.clone(),
            restarts: true,
            ..NewSandbox::default()
        }
    }
}

impl Scale {
    async fn run(&self, client: &Client) -> Result<()> {
        let Some(size) = self.size.wanted() else {
            bail!("say how many with --size, or between with --min and --max")
        };
        client.scale_pool(client.namespace(), &self.name, size).await?;
        output::print(&format!("sandboxwarmpool/{} scaled\n", self.name))
    }
}

impl Remove {
    async fn run(&self, client: &Client) -> Result<()> {
        for name in &self.names {
            let pool = client.pool(client.namespace(), name).await?;
            client.delete_pool(&pool).await?;
            output::print(&format!("sandboxwarmpool/{name} removed\n"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_fixed_or_follows_demand() {
        let wanted = |fixed, min, max| Size { fixed, min, max }.wanted();
        assert_eq!(wanted(Some(3), None, None), Some(PoolSize::Fixed(3)));
        assert_eq!(wanted(None, Some(1), None), Some(PoolSize::Between { least: Some(1), most: None }));
        assert_eq!(wanted(None, None, None), None);
    }
}
