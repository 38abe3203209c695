//! Prints one CustomResourceDefinition as YAML: `cargo run -p asb-types --example crds -- sandboxes.agents.x-k8s.io`.
//! `cargo xtask generate` writes the committed files with it.
#![expect(clippy::print_stdout, reason = "printing is what this program is for")]

use std::env;

use asb_types::crd::crds;

fn main() {
    let name = env::args().nth(1).expect("usage: crds NAME");
    let found = crds().into_iter().find(|definition| definition["metadata"]["name"] == name);
    let definition = found.expect("no definition of that name");
    println!("# Written by `cargo xtask generate` from crates/types. Change the types, not this file.");
    print!("{}", serde_saphyr::to_string(&definition).expect("a definition is plain data"));
}
