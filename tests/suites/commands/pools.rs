//! Pools and claims.

use anyhow::Result;
use asb_tests::wait;

use crate::stage::Stage;

#[tokio::test]
async fn a_pool_is_made_filled_scaled_and_removed() -> Result<()> {
    let stage = Stage::set().await?;
    let made = stage.answer("pool create warm --image busybox --size 1 -- sleep infinity").await?;
    assert_eq!(made, "sandboxtemplate/warm created\nsandboxwarmpool/warm created\n");
    holds(&stage, "1/1").await?;
    assert_eq!(stage.answer("pool scale warm --size 2").await?, "sandboxwarmpool/warm scaled\n");
    holds(&stage, "2/2").await?;
    assert!(stage.answer("ls").await?.contains("pool/warm"));
    assert_eq!(stage.answer("pool rm warm").await?, "sandboxwarmpool/warm removed\n");
    let gone = || async { stage.answer("ls").await.is_ok_and(|said| said.is_empty()).then_some(()) };
    wait::until(wait::DEADLINE, "the pool's sandboxes to go", gone).await?;
    Ok(())
}

#[tokio::test]
async fn a_claim_takes_a_sandbox_and_gives_it_back() -> Result<()> {
    let stage = Stage::set().await?;
    stage.answer("pool create warm --image busybox --size 1").await?;
    holds(&stage, "1/1").await?;
    let name = stage.answer("claim warm --ttl 1h").await?;
    assert!(name.starts_with("claim-"), "{name}");
    let table = stage.answer("ls claims -o wide").await?;
    assert!(table.contains("Warm") && table.contains("warm-"), "{table}");
    let owned = stage.answer("ls").await?;
    assert!(owned.contains(&format!("claim/{}", name.trim())), "{owned}");
    let sandbox = stage.answer(&format!("describe {} -o name", name.trim())).await?;
    let refused = stage.asb(&format!("rm {}", sandbox.trim())).await?;
    assert!(refused.stderr.contains("belongs to claim"), "{refused:?}");
    let released = stage.answer(&format!("release {}", name.trim())).await?;
    assert_eq!(released, format!("claim/{} released\n", name.trim()));
    assert_eq!(stage.answer("ls claims -o name").await?, "");
    Ok(())
}

#[tokio::test]
async fn a_claim_that_cannot_be_met_says_why() -> Result<()> {
    let stage = Stage::set().await?;
    let refused = stage.asb("claim none").await?;
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.starts_with("error: WarmPoolNotFound: "), "{refused:?}");
    let missing = stage.asb("pool create warm --template none").await?;
    assert!(missing.stderr.contains("there is no template \"none\""), "{missing:?}");
    Ok(())
}

async fn holds(stage: &Stage, count: &str) -> Result<()> {
    let full =
        || async { stage.answer("ls pools").await.is_ok_and(|said| said.contains(count)).then_some(()) };
    Ok(wait::until(wait::DEADLINE, count, full).await?)
}
