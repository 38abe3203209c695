//! Names as people type them: of Sandboxes, of claims, with namespaces, and with two meanings.

use anyhow::Result;

use crate::stage::Stage;

#[tokio::test]
async fn a_namespace_is_named_before_the_name_or_by_its_flag() -> Result<()> {
    let stage = Stage::set().await?;
    stage.answer("run -d -n kube-public --name box --image busybox").await?;
    for line in [
        "describe kube-public/box -o name",
        "describe -n kube-public box -o name",
        "-n kube-public describe box -o name",
    ] {
        assert_eq!(stage.answer(line).await?, "sandbox/box\n", "{line}");
    }
    let missing = stage.asb("describe box").await?;
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.starts_with("error: there is no Sandbox or claim \"box\" in namespace \"default\"\n")
    );
    let twice = stage.asb("describe -n default kube-public/box").await?;
    assert!(twice.stderr.contains("leave one of them out"), "{twice:?}");
    assert!(stage.answer("ls -A").await?.contains("kube-public   box"));
    Ok(())
}

#[tokio::test]
async fn a_claims_name_is_its_sandboxes_and_two_meanings_are_listed() -> Result<()> {
    let stage = Stage::set().await?;
    stage.answer("pool create warm --image busybox --size 1").await?;
    assert_eq!(stage.answer("claim warm --name mine").await?, "mine\n");
    let sandbox = stage.answer("describe mine -o name").await?;
    assert!(sandbox.starts_with("sandbox/warm-"), "{sandbox}");
    stage.answer("run -d --name mine --image busybox").await?;
    let ambiguous = stage.asb("suspend mine").await?;
    let name = sandbox.trim().trim_start_matches("sandbox/");
    let expected = format!(
        "error: \"mine\" may be sandbox/mine or claim/mine (Sandbox {name})\n  say which with sandbox/NAME or claim/NAME\n"
    );
    assert_eq!((ambiguous.code, ambiguous.stderr), (Some(1), expected));
    assert_eq!(stage.answer("describe sandbox/mine -o name").await?, "sandbox/mine\n");
    assert_eq!(stage.answer("describe claim/mine -o name").await?, sandbox);
    Ok(())
}
