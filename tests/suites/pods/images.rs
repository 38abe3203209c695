//! Where images come from, and what is said where they do not.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use crate::spec::{IMAGE, With, once, sh};
use crate::stage::{Stage, waiting};

fn of(image: &str, policy: &str) -> Value {
    once(sh("true").with(json!({"image": image, "imagePullPolicy": policy})))
}

#[tokio::test]
async fn what_must_not_be_pulled_has_to_be_here() -> Result<()> {
    let stage = Stage::set().await?;
    stage.create("absent", of("asb.test/absent:1", "Never")).await?;
    stage.until("absent", "refused", |pod| waiting(pod) == "ErrImageNeverPull").await?;
    assert!(stage.event("absent", "ErrImageNeverPull").await?.contains("asb.test/absent:1"));
    for policy in ["Never", "IfNotPresent", "Always"] {
        let name = policy.to_lowercase();
        stage.run(&name, of(IMAGE, policy)).await?;
    }
    stage.finish().await
}

#[tokio::test]
async fn what_cannot_be_pulled_is_said_and_tried_again() -> Result<()> {
    let stage = Stage::set().await?;
    stage.create("broken", of("127.0.0.1:1/absent:1", "IfNotPresent")).await?;
    stage.until("broken", "failed", |pod| waiting(pod) == "ErrImagePull").await?;
    stage.until("broken", "backing off", |pod| waiting(pod) == "ImagePullBackOff").await?;
    stage.create("odd", of("asb.test/UPPER:1", "IfNotPresent")).await?;
    stage.until("odd", "refused", |pod| waiting(pod) == "InvalidImageName").await?;
    stage.finish().await
}

/// A registry that asks who is there, and passes on what it is told.
fn doorkeeper() -> Result<(u16, mpsc::Receiver<String>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let (told, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { return };
            let mut request = vec![0; 8192];
            let length = connection.read(&mut request).unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let line = request.lines().find(|line| line.to_lowercase().starts_with("authorization:"));
            if let Some(line) = line {
                let _ = told.send(line.split_once(':').map_or("", |it| it.1).trim().to_owned());
            }
            let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"door\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    Ok((port, heard))
}

#[tokio::test]
async fn registries_are_told_who_asks() -> Result<()> {
    let stage = Stage::set().await?;
    let (port, heard) = doorkeeper()?;
    let credentials = STANDARD.encode("ann:mellon");
    let config = json!({"auths": {format!("127.0.0.1:{port}"): {"auth": credentials}}}).to_string();
    let secret =
        json!({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": config}});
    stage.put::<Secret>("door", secret).await?;
    let spec = of(&format!("127.0.0.1:{port}/inner/image:1"), "Always");
    stage.create("guest", spec.with(json!({"imagePullSecrets": [{"name": "door"}]}))).await?;
    stage
        .until("guest", "turned away", |pod| matches!(waiting(pod), "ErrImagePull" | "ImagePullBackOff"))
        .await?;
    assert_eq!(heard.try_recv()?, format!("Basic {credentials}"));
    stage.finish().await
}
