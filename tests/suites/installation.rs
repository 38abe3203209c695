//! `asb crds | kubectl apply -f -`, with the real program, as a person installs the definitions.
//! A program of its own: it takes away the conversion that other suites set up.

use anyhow::{Context, Result};
use asb_tests::{Cluster, asb, wait};
use asb_types::crd;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

/// Definitions without conversion, whatever was tried on this cluster before. Objects stay as they are.
async fn reset(definitions: &Api<CustomResourceDefinition>) -> Result<()> {
    let conversion = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    for (name, _) in crd::DOCUMENTS {
        definitions.patch(name, &PatchParams::default(), &Patch::Merge(&conversion)).await?;
    }
    Ok(())
}

async fn install(cluster: &Cluster) -> Result<String> {
    let printed = asb(&["crds"]).await?;
    Ok(cluster.kubectl(&["apply", "-f", "-"], Some(&printed)).await?.success()?)
}

#[tokio::test]
async fn the_definitions_install_with_one_line_and_again_without_change() -> Result<()> {
    let cluster = Cluster::connect().await?;
    let api = Api::<CustomResourceDefinition>::all(cluster.client());
    reset(&api).await?;
    install(&cluster).await?;
    let again = install(&cluster).await?;
    let unchanged: Vec<_> = crd::DOCUMENTS
        .iter()
        .map(|(name, _)| format!("customresourcedefinition.apiextensions.k8s.io/{name} unchanged"))
        .collect();
    assert_eq!(again.lines().collect::<Vec<_>>(), unchanged);

    for (name, _) in crd::DOCUMENTS {
        let definition = wait::for_object(&api, name, "established", is_established).await?;
        let served = definition.spec.versions.iter().filter(|version| version.served);
        assert_eq!(served.map(|version| version.name.as_str()).collect::<Vec<_>>(), ["v1beta1", "v1alpha1"]);
        assert_eq!(definition.status.context("a status")?.stored_versions, Some(vec!["v1beta1".to_owned()]));
    }
    Ok(())
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.filter(|it| it.status == "True").any(|it| it.type_ == "Established")
}

#[tokio::test]
async fn json_and_yaml_are_the_same_definitions() -> Result<()> {
    let list: Value = serde_json::from_str(&asb(&["crds", "-o", "json"]).await?)?;
    assert_eq!(list["items"].as_array(), Some(&crd::crds()));
    Ok(())
}
