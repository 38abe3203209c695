//! `asb port-forward`.

use anyhow::{Context, Result, ensure};
use asb_tests::wait;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::stage::{BUSYBOX, PATIENCE, Stage};

#[tokio::test]
async fn ports_of_a_sandbox_are_reached_from_here() -> Result<()> {
    let stage = Stage::set().await?;
    let serve = "mkdir /www; echo it works > /www/index.html; exec httpd -f -p 8080 -h /www";
    stage.answer(&["run", "-d", "--name", "web", "--image", BUSYBOX, "--", "sh", "-c", serve]).await?;
    let mut forward = stage.command(&["port-forward", "web", ":8080", ":9"])?.spawn()?;
    let mut lines = BufReader::new(forward.stdout.take().context("it is piped")?).lines();
    let mut complaints = BufReader::new(forward.stderr.take().context("it is piped")?).lines();
    let open = port(&lines.next_line().await?.context("a line")?)?;
    let closed = port(&lines.next_line().await?.context("a line")?)?;
    let page = wait::until(PATIENCE, "an answer", || async { get(open).await.ok() }).await?;
    assert!(page.ends_with("it works\n"), "{page}");
    assert!(get(open).await?.ends_with("it works\n"), "a second connection");
    assert!(get(closed).await.is_err());
    let complaint = tokio::time::timeout(PATIENCE, complaints.next_line()).await??.context("a line")?;
    assert!(complaint.contains("port 9") && complaint.contains("refused"), "{complaint}");
    assert!(get(open).await?.ends_with("it works\n"), "others go on");
    stage.finish().await
}

fn port(line: &str) -> Result<u16> {
    let port = line.strip_prefix("Forwarding from 127.0.0.1:").and_then(|rest| rest.split(' ').next());
    Ok(port.with_context(|| line.to_owned())?.parse()?)
}

async fn get(port: u16) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    Ok(answer)
}
