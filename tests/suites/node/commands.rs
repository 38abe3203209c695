//! The kubectl commands that reach into a Pod: run, logs, exec, port-forward.

use anyhow::{Context, Result, ensure};
use asb_tests::wait;
use k8s_openapi::api::core::v1::Pod;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::{BUSYBOX, phase, place, pod, start};

#[tokio::test]
async fn kubectl_run_and_logs() -> Result<()> {
    let (cluster, namespace) = place().await?;
    let image = format!("--image={BUSYBOX}");
    let arguments =
        ["run", "hello", &image, "--restart=Never", "-n", &namespace, "--", "echo", "hello from a node"];
    cluster.kubectl(&arguments, None).await?.success()?;
    let ended = |pod: &Pod| phase(pod) == "Succeeded";
    wait::for_object(&namespace.api::<Pod>(), "hello", "ended", ended).await?;
    let said = cluster.kubectl(&["logs", "hello", "-n", &namespace], None).await?.success()?;
    assert_eq!(said, "hello from a node\n");
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn kubectl_exec_carries_input_output_and_the_exit_code() -> Result<()> {
    let (cluster, namespace) = place().await?;
    start(&namespace, pod("box", BUSYBOX, "sleep 600")).await?;
    let echoed =
        cluster.kubectl(&["exec", "-i", "box", "-n", &namespace, "--", "cat"], Some("typed in")).await?;
    assert_eq!(echoed.success()?, "typed in");
    let failed =
        cluster.kubectl(&["exec", "box", "-n", &namespace, "--", "sh", "-c", "exit 7"], None).await?;
    assert_eq!(failed.status.code(), Some(7));
    namespace.finish().await;
    Ok(())
}

#[tokio::test]
async fn kubectl_port_forward_reaches_a_server_in_a_pod() -> Result<()> {
    let (cluster, namespace) = place().await?;
    let serve = "mkdir /www; echo it works > /www/index.html; httpd -f -p 8080 -h /www";
    start(&namespace, pod("web", BUSYBOX, serve)).await?;
    let mut forward = cluster.start_kubectl(&["port-forward", "pod/web", ":8080", "-n", &namespace])?;
    let output = forward.stdout.take().context("standard output is piped")?;
    let mut lines = BufReader::new(output).lines();
    let said = timeout(wait::DEADLINE, lines.next_line()).await??.context("kubectl port-forward ended")?;
    let port = said.strip_prefix("Forwarding from 127.0.0.1:").and_then(|rest| rest.split(' ').next());
    let port: u16 = port.with_context(|| said.clone())?.parse()?;
    let page = wait::until(wait::DEADLINE, "an answer through the forwarded port", || async {
        get(port).await.ok()
    })
    .await?;
    assert!(page.ends_with("it works\n"), "{page}");
    namespace.finish().await;
    Ok(())
}

async fn get(port: u16) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    Ok(answer)
}
