//! Prints one of the operator's or the router's roles as YAML: `cargo run -p asb-types --example roles -- sandboxes`.
//! `cargo xtask generate` writes the committed files with it.

use std::env;
use std::io::{Result, Write, stdout};

use asb_types::rights::{DOCUMENTS, EXTENSIONS, OWN_NAMESPACE, ROUTES, SANDBOXES, TUNNELS};

const HEADER: &str =
    "# Written by `cargo xtask generate` from crates/types/src/rights.rs. Change that, not this file.\n";

fn main() -> Result<()> {
    let role = match env::args().nth(1).as_deref() {
        Some("sandboxes") => SANDBOXES,
        Some("extensions") => EXTENSIONS,
        Some("documents") => DOCUMENTS,
        Some("own-namespace") => OWN_NAMESPACE,
        Some("routes") => ROUTES,
        Some("tunnels") => TUNNELS,
        _ => panic!("usage: roles sandboxes|extensions|documents|own-namespace|routes|tunnels"),
    };
    stdout().write_all([HEADER, &role.manifest()].concat().as_bytes())
}
