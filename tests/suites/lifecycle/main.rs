//! `asb up` as a program: how it starts, ends, is killed and refuses.

mod operator;
mod tour;
mod updates;

use anyhow::{Context, Result, ensure};
use asb_tests::embedded::{Server, up};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams};
use tokio::process::Command;

fn config_maps(server: &Server) -> Api<ConfigMap> {
    Api::namespaced(server.client.clone(), "default")
}

fn named(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

async fn refusal(mut command: Command) -> Result<String> {
    let output = command.output().await?;
    ensure!(!output.status.success(), "it was not refused");
    Ok(String::from_utf8(output.stderr)?)
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut server = Server::start(directory.path()).await?;
    let created = config_maps(&server).create(&PostParams::default(), &named("kept")).await?;
    server.process.kill().await?;
    let server = Server::start(directory.path()).await?;
    let found = config_maps(&server).get("kept").await?;
    assert_eq!(
        (found.metadata.uid, found.metadata.resource_version),
        (created.metadata.uid, created.metadata.resource_version)
    );
    Ok(())
}

#[tokio::test]
async fn a_directory_has_one_server() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let server = Server::start(directory.path()).await?;
    let said = refusal(up(directory.path(), "127.0.0.1:0")?).await?;
    let id = server.process.id().context("it runs")?;
    assert!(said.contains(&format!("process {id})")), "{said}");
    assert!(said.contains(&format!("serves {} already", directory.path().display())), "{said}");
    Ok(())
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() -> Result<()> {
    let (directory, taken) = (tempfile::tempdir()?, std::net::TcpListener::bind("127.0.0.1:0")?);
    let address = taken.local_addr()?.to_string();
    let said = refusal(up(directory.path(), &address)?).await?;
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_asked_to_end_ends_well() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut server = Server::start(directory.path()).await?;
    let id = server.process.id().context("it runs")?.to_string();
    Command::new("kill").arg(&id).status().await?;
    assert!(server.process.wait().await?.success());
    Ok(())
}

#[tokio::test]
async fn a_token_opens_the_door_and_no_other_does() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (token, file) = ("t".repeat(40), directory.path().join("token"));
    std::fs::write(&file, &token)?;
    let mut command = up(directory.path(), "127.0.0.1:0")?;
    command.arg("--token-file").arg(&file);
    let _server = Server::run(directory.path(), command).await?;
    let maps = async |token: &str| {
        anyhow::Ok(Api::<ConfigMap>::all(Server::with_token(directory.path(), token).await?))
    };
    maps(&token).await?.list(&ListParams::default()).await?;
    let refused = maps(&"x".repeat(40)).await?.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 401), "{refused}");
    Ok(())
}

#[tokio::test]
async fn a_token_that_could_be_guessed_is_refused() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("token");
    std::fs::write(&file, "short")?;
    let mut command = up(directory.path(), "127.0.0.1:0")?;
    command.arg("--token-file").arg(&file);
    let said = refusal(command).await?;
    assert!(said.contains("at least 32 visible characters"), "{said}");
    Ok(())
}

#[tokio::test]
async fn nobody_else_can_read_the_keys() -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir()?;
    let _server = Server::start(directory.path()).await?;
    for file in
        ["kubeconfig", "objects.redb", "pki/authority.pem", "pki/admin.pem", "pki/service-accounts.pem"]
    {
        let mode = std::fs::metadata(directory.path().join(file))?.permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    Ok(())
}
