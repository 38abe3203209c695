//! `asb claim`: takes a Sandbox from a pool.

use anyhow::Result;
use asb_client::NewClaim;
use kube::ResourceExt;

use crate::environment::Variable;
use crate::output::objects::{View, shown};
use crate::output::progress::Progress;
use crate::session;
use crate::target::Target;
use crate::{age, local, output};

/// Claim a Sandbox from a pool, wait until it is ready, and print the name of the claim.
///
/// A warm Sandbox is there at once; where the pool has none, one is started from its template.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  asb claim python
  asb claim python --name mine --ttl 1h
  asb shell \"$(asb claim python)\"

`asb release` gives it back.")]
pub(crate) struct Arguments {
    /// The pool
    pool: String,

    /// The name of the claim [default: one is made up]
    #[arg(long)]
    name: Option<String>,

    /// A variable for the Sandbox, if the template allows it: NAME=VALUE, or NAME for the one of this environment
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    env: Vec<Variable>,

    /// After how long the claim ends, and its Sandbox with it
    #[arg(long, value_name = "TIME", value_parser = age::duration)]
    ttl: Option<std::time::Duration>,

    /// Do not wait until it is ready
    #[arg(long)]
    no_wait: bool,

    /// How long to wait at most [default: as long as it may still succeed]
    #[arg(long, value_name = "TIME", value_parser = age::duration, conflicts_with = "no_wait")]
    timeout: Option<std::time::Duration>,

    /// The form of the answer [default: the name]
    #[arg(short, long, value_enum, default_value_t, hide_default_value = true)]
    output: View,

    #[command(flatten)]
    pub(crate) target: Target,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    session::block_on(async {
        let client = local::connect(&arguments.target).await?;
        let wanted = NewClaim {
            name: arguments.name.clone(),
            pool: arguments.pool.clone(),
            env: Variable::all(&arguments.env)?,
            lifetime: arguments.ttl,
        };
        let mut claim = client.create_claim(&wanted).await?;
        let name = claim.name_any();
        if !arguments.no_wait {
            let mut progress = Progress::of(&name);
            let ready = client.wait_until_claimed(&claim, |outlook| progress.tell(outlook));
            session::within(arguments.timeout, ready).await?;
            claim = client.claim(client.namespace(), &name).await?;
        }
        output::print(&shown(&claim, arguments.output)?.unwrap_or_else(|| format!("{name}\n")))
    })
}
