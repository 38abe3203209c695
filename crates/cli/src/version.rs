//! `asb version`: what this program is.

use anyhow::Result;
use serde_json::json;

use crate::output::{self, Form};

/// Print the version of this program, and of the Kubernetes API that it serves.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (own, kubernetes) = (env!("CARGO_PKG_VERSION"), asb_apiserver::KUBERNETES_VERSION);
    let build = asb_operator::Build::of_this_program();
    output::print(&match arguments.output {
        Form::Text => format!("asb {own}, serving the API of Kubernetes {kubernetes}\n"),
        Form::Json => format!(
            "{:#}\n",
            json!({"asb": own, "kubernetes": kubernetes, "commit": build.commit, "date": build.date})
        ),
    })
}
