//! What can be asked for, and the answers. The fields are in the words of `xtask/src/bench/dataplane/load.rs`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use asb_types::runtime::RuntimeAccess;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::calls::{self, Calls};
use crate::sandboxes::Home;

#[derive(Deserialize)]
#[serde(tag = "order", rename_all = "camelCase")]
enum Order {
    /// Makes calls and says how long they took.
    Calls(Calls),
    /// Something about Sandboxes at an API server.
    Sandboxes(Sandboxes),
}

#[derive(Deserialize)]
struct Sandboxes {
    kubeconfig: PathBuf,
    #[serde(flatten)]
    work: Work,
}

#[derive(Deserialize)]
#[serde(tag = "work", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Work {
    /// One that nobody runs, whose status says that it is here. Says which public key a token is for, and the token.
    Pretend { name: String, address: String },
    /// So many that do nothing, with or without a runtime, all Ready. Says where each is.
    Make { names: Vec<String>, image: String, access: Option<RuntimeAccess> },
    /// `echo` in one, so often, through the API.
    Exec { name: String, times: usize },
    /// A file of so many mebibytes into one and out again, through the API.
    Copy { name: String, mebibytes: u32 },
    /// Deletes them, and waits until they are gone.
    Remove { names: Vec<String> },
}

/// What became of the order on this line.
pub(crate) async fn answer(line: &str) -> Value {
    match obey(line).await {
        Ok(value) => json!({ "done": value }),
        Err(error) => json!({ "failed": format!("{error:#}") }),
    }
}

async fn obey(line: &str) -> Result<Value> {
    match serde_json::from_str(line).context("understanding the order")? {
        Order::Calls(wanted) => Ok(serde_json::to_value(calls::make(wanted).await?)?),
        Order::Sandboxes(Sandboxes { kubeconfig, work }) => {
            carry_out(&Home::at(kubeconfig).await?, work).await
        }
    }
}

async fn carry_out(home: &Home, work: Work) -> Result<Value> {
    match work {
        Work::Pretend { name, address } => home.pretend(&name, &address).await,
        Work::Make { names, image, access } => home.make(&names, &image, access).await,
        Work::Exec { name, times } => home.exec(&name, times).await,
        Work::Copy { name, mebibytes } => home.copy(&name, mebibytes).await,
        Work::Remove { names } => home.remove(&names).await,
    }
}
