//! The resources that a CustomResourceDefinition defines, one for each version that it serves.

use std::sync::Arc;

use crate::definition::{DefinedVersion, Definition};
use crate::resource::{Origin, Resource, Subresource, Verb};
use crate::selector::SelectableFields;
use crate::table::Columns;

const READ_WRITE: &[Verb] = &[Verb::Get, Verb::Patch, Verb::Update];

pub(crate) fn resources(definition: &Definition) -> Vec<Arc<Resource>> {
    definition
        .versions()
        .iter()
        .filter(|version| version.is_served())
        .map(|it| Arc::new(resource(definition, it)))
        .collect()
}

fn resource(definition: &Definition, version: &Arc<DefinedVersion>) -> Resource {
    let names = definition.names();
    Resource {
        group: definition.group().to_owned(),
        version: version.name().to_owned(),
        kind: names.kind.clone(),
        plural: names.plural.clone(),
        singular: names.singular.clone(),
        list_kind: names.list_kind.clone(),
        short_names: names.short_names.clone(),
        categories: names.categories.clone(),
        is_namespaced: definition.is_namespaced(),
        verbs: Verb::ALL,
        subresources: subresources(version),
        selectable: SelectableFields::at(version.selectable_fields()),
        columns: Columns::from_definition(version.columns()),
        schema: Arc::clone(version.compiled().schema()),
        origin: Origin::Defined(Arc::clone(version)),
        deprecation: version.deprecation().map(str::to_owned),
    }
}

fn subresources(version: &DefinedVersion) -> Vec<Subresource> {
    let status = Subresource { name: "status", kind: None, verbs: READ_WRITE };
    let scale = Subresource { name: "scale", kind: Some(("autoscaling", "v1", "Scale")), verbs: READ_WRITE };
    let parts = [(version.has_status(), status), (version.scale().is_some(), scale)];
    parts.into_iter().filter(|(has, _)| *has).map(|(_, part)| part).collect()
}
