//! Objects of Kubernetes in the form that somebody asked for.

use anyhow::{Context, Result};
use k8s_openapi::NamespaceResourceScope;
use kube::Resource;
use serde::Serialize;
use serde_json::{Value, json};

/// The form of a list, or of one object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum View {
    #[default]
    #[value(hide = true)]
    Text,
    /// More columns
    Wide,
    Json,
    Yaml,
    /// Only names, as KIND/NAME
    Name,
}

/// What a list looks like where it is not a table.
pub(crate) fn listed<K>(objects: &[K], view: View) -> Result<Option<String>>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Serialize,
{
    Ok(match view {
        View::Text | View::Wide => None,
        View::Name => Some(objects.iter().map(|object| reference(object) + "\n").collect()),
        View::Json | View::Yaml => {
            let items = objects.iter().map(whole).collect::<Result<Vec<_>>>()?;
            Some(written(&json!({"apiVersion": "v1", "kind": "List", "items": items}), view)?)
        }
    })
}

/// The same for one.
pub(crate) fn shown<K>(object: &K, view: View) -> Result<Option<String>>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Serialize,
{
    match view {
        View::Text | View::Wide | View::Name => listed(std::slice::from_ref(object), view),
        View::Json | View::Yaml => Ok(Some(written(&whole(object)?, view)?)),
    }
}

/// `sandbox/box`, as kubectl takes it too.
pub(crate) fn reference<K>(object: &K) -> String
where
    K: Resource<DynamicType = ()>,
{
    let name = object.meta().name.as_deref().unwrap_or_default();
    format!("{}/{name}", K::kind(&()).to_lowercase())
}

/// With the kind that objects in a list do not bear, and without what only servers read.
fn whole<K>(object: &K) -> Result<Value>
where
    K: Resource<DynamicType = ()> + Serialize,
{
    let mut value = serde_json::to_value(object).context("cannot write an object as JSON")?;
    value["apiVersion"] = K::api_version(&()).into();
    value["kind"] = K::kind(&()).into();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    Ok(value)
}

fn written(value: &Value, view: View) -> Result<String> {
    if view == View::Yaml {
        return serde_saphyr::to_string(value).context("cannot write an object as YAML");
    }
    Ok(format!("{value:#}\n"))
}

#[cfg(test)]
mod tests {
    use asb_types::v1beta1::Sandbox;

    use super::*;

    fn sandbox() -> Sandbox {
        let mut sandbox = Sandbox::default();
        sandbox.metadata.name = Some("box".to_owned());
        sandbox.metadata.managed_fields = Some(Vec::new());
        sandbox
    }

    #[test]
    fn an_object_is_shown_with_its_kind() {
        insta::assert_snapshot!(shown(&sandbox(), View::Yaml).unwrap().unwrap());
        assert_eq!(shown(&sandbox(), View::Name).unwrap().unwrap(), "sandbox/box\n");
        assert_eq!(shown(&sandbox(), View::Wide).unwrap(), None);
    }

    #[test]
    fn a_list_is_one_that_kubectl_takes() {
        let list: Value = serde_json::from_str(&listed(&[sandbox()], View::Json).unwrap().unwrap()).unwrap();
        assert_eq!((&list["kind"], &list["items"][0]["kind"]), (&"List".into(), &"Sandbox".into()));
    }
}
