//! What a container runs, where, and what its last words are.

use anyhow::Result;
use serde_json::json;

use crate::spec::{IMAGE, With, once, sh};
use crate::stage::{Stage, exit, has_ended, status};

#[tokio::test]
async fn commands_arguments_and_directories_are_those_of_the_container() -> Result<()> {
    let stage = Stage::set().await?;
    let container = json!({
        "name": "main", "image": IMAGE, "workingDir": "/usr/share",
        "env": [{"name": "WORD", "value": "two words"}],
        "command": ["python3", "-c", "import os, sys; print(os.getcwd(), sys.argv[1:])"],
        "args": ["$(WORD)", "$$(WORD)", "$(NOBODY)"],
    });
    let said = stage.run("command", once(container)).await?;
    assert_eq!(said, "/usr/share ['two words', '$(WORD)', '$(NOBODY)']");
    stage.finish().await
}

/// The image says to run a shell, to which a container may give arguments of its own.
#[tokio::test]
async fn what_the_container_leaves_out_the_image_says() -> Result<()> {
    let stage = Stage::set().await?;
    let said =
        stage.run("args", once(json!({"name": "main", "image": IMAGE, "args": ["echo", "hi"]}))).await?;
    assert_eq!(said, "hi");
    stage.finish().await
}

#[tokio::test]
async fn last_words_are_read_from_their_file() -> Result<()> {
    let stage = Stage::set().await?;
    let container = sh("echo said; printf 'good bye' > /tmp/words; exit 3");
    let container = container.with(json!({"terminationMessagePath": "/tmp/words"}));
    stage.create("words", once(container)).await?;
    let pod = stage.until("words", "ended", has_ended).await?;
    assert_eq!(exit(&pod), Some((3, "Error", "good bye")));
    stage.finish().await
}

#[tokio::test]
async fn last_words_are_the_end_of_the_log_where_asked_for() -> Result<()> {
    let stage = Stage::set().await?;
    let fallback = json!({"terminationMessagePolicy": "FallbackToLogsOnError"});
    stage.create("fallback", once(sh("echo it broke; exit 1").with(fallback.clone()))).await?;
    stage.create("well", once(sh("echo all well").with(fallback))).await?;
    stage
        .create("file", once(sh("echo it broke; exit 1").with(json!({"terminationMessagePolicy": "File"}))))
        .await?;
    for (name, expected) in [("fallback", "it broke\n"), ("well", ""), ("file", "")] {
        let pod = stage.until(name, "ended", has_ended).await?;
        assert_eq!(exit(&pod).map(|exit| exit.2.trim_end()), Some(expected.trim_end()), "{name}");
    }
    stage.finish().await
}

#[tokio::test]
async fn containers_of_a_pod_are_told_apart_by_their_names_and_share_its_network() -> Result<()> {
    let stage = Stage::set().await?;
    let server = "import socket; s = socket.create_server(('127.0.0.1', 7000)); s.accept()";
    let client = "import socket, time\nwhile True:\n  try: socket.create_connection(('127.0.0.1', 7000)); break\n  except OSError: time.sleep(.05)";
    let other = json!({"name": "other", "image": IMAGE, "command": ["python3", "-c", client]});
    let mut spec = once(crate::spec::python(server));
    spec["containers"].as_array_mut().expect("a list").push(other);
    stage.create("pair", spec).await?;
    let pod = stage.until("pair", "ended", has_ended).await?;
    assert_eq!(crate::stage::phase(&pod), "Succeeded");
    assert!(status(&pod, "main").is_some() && status(&pod, "other").is_some());
    stage.finish().await
}
