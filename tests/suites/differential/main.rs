//! The same requests to a real kube-apiserver and to ours: cases are data, the goldens hold what the real one answered,
//! and whoever `ASB_TEST_KUBECONFIG` names must answer alike. CONTRIBUTING.md says how to run, filter and record.

mod area;
mod case;
mod deviation;
mod difference;
mod exchange;
mod golden;
mod normal;
mod order;
mod play;
mod report;
mod selection;
mod stream;
mod variables;

use anyhow::Result;
use asb_tests::Cluster;

use crate::deviation::Deviations;

macro_rules! areas {
    ($($name:ident),* $(,)?) => {
        const AREAS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[tokio::test]
            async fn $name() -> Result<()> {
                area::check(Cluster::connect_without_retries().await?, stringify!($name)).await
            }
        )*
    };
}

areas!(
    crud,
    patch,
    apply,
    watch,
    lists_and_selectors,
    validation,
    defaulting_and_admission,
    garbage,
    subresources,
    discovery,
    tables,
    authorization,
    versions,
);

#[test]
fn every_deviation_names_a_case_and_a_reason() -> Result<()> {
    let mut cases = Vec::new();
    for area in AREAS {
        cases.extend(case::read_area(area)?.iter().flat_map(case::File::ids));
    }
    Deviations::read()?.must_be_about(&cases)
}

#[test]
fn every_folder_of_cases_is_an_area() -> Result<()> {
    for entry in std::fs::read_dir(case::folder())? {
        let name = entry?.file_name();
        assert!(AREAS.iter().any(|area| name == **area), "nobody runs the cases in {}", name.display());
    }
    Ok(())
}
