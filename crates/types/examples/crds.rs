//! Prints one CustomResourceDefinition as YAML: `cargo run -p asb-types --example crds -- sandboxes.agents.x-k8s.io`.
//! `cargo xtask generate` writes the committed files with it.

use std::env;
use std::io::{Result, Write, stdout};

use asb_types::crd::{crds, shorthand};

const HEADER: &str =
    "# Written by `cargo xtask generate` from crates/types. Change the types, not this file.\n";

fn main() -> Result<()> {
    let name = env::args().nth(1).expect("usage: crds NAME");
    let found =
        crds().into_iter().chain(shorthand()).find(|definition| definition["metadata"]["name"] == name);
    let definition = found.expect("no definition of that name");
    let yaml = serde_saphyr::to_string(&definition).expect("a definition is plain data");
    stdout().write_all([HEADER, &yaml].concat().as_bytes())
}
