//! Our definitions on a real API server: what it accepts, fills in, drops and refuses, through kube-rs and kubectl.
//! Every case goes both ways and both must end alike; the snapshots hold how.

mod cases;
mod outcome;
mod updates;

use asb_tests::Cluster;
use asb_tests::conversion::serve_conversion;

macro_rules! suite {
    ($($name:ident),* $(,)?) => {$(
        #[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            let transcript = transcript(include_str!(concat!("cases/", stringify!($name), ".yaml"))).await?;
            insta::assert_snapshot!(stringify!($name), transcript);
            Ok(())
        }
    )*};
}

suite!(
    sandbox_v1beta1,
    sandbox_v1alpha1,
    pod_template,
    sandbox_template_v1beta1,
    sandbox_template_v1alpha1,
    sandbox_claim_v1beta1,
    sandbox_claim_v1alpha1,
    sandbox_warm_pool_v1beta1,
    sandbox_warm_pool_v1alpha1,
);

/// Creates every object twice, through kube-rs in one namespace and through kubectl in another.
async fn transcript(cases: &str) -> anyhow::Result<String> {
    let cases = cases::read(cases)?;
    let cluster = Cluster::connect().await?;
    serve_conversion(&cluster).await?;
    let (ours, theirs) = (cluster.namespace().await?, cluster.namespace().await?);
    let mut lines = Vec::new();
    for case in &cases {
        let outcome = outcome::through_kube(&cluster, &ours, case).await?;
        outcome::through_kubectl(&cluster, &theirs, case).await?.must_agree_with(&outcome, case);
        lines.push(format!("{}\n{outcome}", case.name));
    }
    ours.finish().await;
    theirs.finish().await;
    Ok(lines.join("\n\n"))
}
