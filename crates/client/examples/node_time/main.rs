//! Measures a node as users of the SDK meet it: `cargo xtask bench node`, or by hand
//! `cargo run --release -p asb-client --example node_time -- KUBECONFIG IMAGE SCENE...`.
//! Prints what and how long, separated by a tab.

mod crowd;
mod life;
mod report;
mod transfer;
mod warm;

use std::env;
use std::path::PathBuf;

use asb_client::{Client, Destination, NewSandbox};

/// Stays until it is told to end, and then ends at once.
const HOLD: &str = "trap 'exit 0' TERM INT; while :; do sleep 2147483647 & wait; done";

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Whom the scenes talk to, and what runs in their Sandboxes.
#[derive(Clone)]
struct Stage {
    client: Client,
    image: String,
}

impl Stage {
    fn running(&self, command: &[&str]) -> NewSandbox {
        let command = command.iter().map(ToString::to_string).collect();
        NewSandbox { image: self.image.clone(), command, ..NewSandbox::default() }
    }

    /// A Sandbox that does nothing, for as long as it is wanted.
    fn idle(&self) -> NewSandbox {
        self.running(&["/bin/sh", "-c", HOLD])
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let usage = "usage: node_time KUBECONFIG IMAGE life|exec|warm|nap|copy|burst|crowd=N|reach=N...";
    let mut arguments = env::args().skip(1);
    let (file, image) = arguments.next().zip(arguments.next()).ok_or(usage)?;
    let client = Client::connect(&Destination::Local(PathBuf::from(file))).await?;
    let stage = Stage { client, image };
    for scene in arguments {
        match scene.split_once('=').unwrap_or((scene.as_str(), "")) {
            ("life", _) => life::cold(&stage).await?,
            ("exec", _) => life::exec(&stage).await?,
            ("nap", _) => life::nap(&stage).await?,
            ("warm", _) => warm::claims(&stage).await?,
            ("copy", _) => transfer::copies(&stage).await?,
            ("burst", _) => crowd::burst(&stage).await?,
            ("crowd", size) => crowd::gather(&stage, size.parse()?).await?,
            ("reach", size) => crowd::reach(&stage, size.parse()?).await?,
            _ => return Err(usage.into()),
        }
    }
    Ok(())
}
