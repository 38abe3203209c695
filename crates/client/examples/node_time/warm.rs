//! Claims on a pool whose Sandboxes wait.

use std::time::Instant;

use asb_client::{Deletion, NewClaim, NewPool, NewSandbox, PoolSize};
use asb_types::v1beta1::SandboxWarmPool;
use futures::future::try_join_all;
use kube::runtime::wait::await_condition;

use crate::report::Times;
use crate::{Result, Stage, life};

const SIZE: u16 = 30;
const CLAIMS: usize = 25;
const NAME: &str = "bench";

pub(crate) async fn claims(stage: &Stage) -> Result<()> {
    let template = NewSandbox { name: Some(NAME.to_owned()), ..stage.idle() };
    let template = stage.client.create_template(&template).await?;
    let size = PoolSize::Fixed(SIZE.into());
    let pool = NewPool { name: NAME.to_owned(), template: NAME.to_owned(), size };
    let pool = stage.client.create_pool(&pool).await?;
    let pools = stage.client.api::<SandboxWarmPool>(stage.client.namespace());
    await_condition(pools, NAME, is_full).await?;
    let (mut readies, mut words, mut made) = (Times::default(), Times::default(), Vec::new());
    for _ in 0..CLAIMS {
        let start = Instant::now();
        let wanted = NewClaim { pool: NAME.to_owned(), ..NewClaim::default() };
        let claim = stage.client.create_claim(&wanted).await?;
        let sandbox = stage.client.wait_until_claimed(&claim, |_| {}).await?;
        readies.add(start.elapsed());
        life::command(stage, &sandbox).await?;
        words.add(start.elapsed());
        made.push(claim);
    }
    readies.say("warm claim → Ready, as its client sees it", 90);
    words.say("warm claim → answer of `echo` in it", 90);
    stage.client.delete_pool(&pool).await?;
    try_join_all(made.iter().map(|claim| stage.client.release(claim, Deletion::default()))).await?;
    Ok(stage.client.delete_template(&template).await?)
}

fn is_full(pool: Option<&SandboxWarmPool>) -> bool {
    pool.and_then(|pool| pool.status.as_ref()).is_some_and(|status| status.ready_replicas >= i32::from(SIZE))
}
