//! The resources that a CustomResourceDefinition defines, one for each version that it serves or stores.

use std::sync::Arc;

use crate::apply::with_metadata;
use crate::definition::{Definition, Scope, Version};
use crate::resource::{Defined, Edition, Established, Origin, Resource, Subresource, Verb};
use crate::schema::Schema;
use crate::selector::SelectableFields;
use crate::table::Columns;

const READ_WRITE: &[Verb] = &[Verb::Get, Verb::Patch, Verb::Update];

pub(crate) fn resources(
    definition: Definition,
    edition: &Edition,
    metadata: &Arc<Schema>,
) -> Vec<Arc<Resource>> {
    let definition = Arc::new(definition);
    let is_needed = |version: &Version| version.is_served || version.is_stored;
    let needed = (0..definition.versions.len()).filter(|index| is_needed(&definition.versions[*index]));
    let defined = |index| Defined {
        definition: Arc::clone(&definition),
        index,
        edition: edition.clone(),
        established: Established::default(),
    };
    needed.map(|index| Arc::new(resource(defined(index), metadata))).collect()
}

fn resource(defined: Defined, metadata: &Arc<Schema>) -> Resource {
    let (definition, version) = (&defined.definition, defined.version());
    let names = &definition.names;
    Resource {
        group: definition.group.clone(),
        version: version.name.clone(),
        kind: names.kind.clone(),
        plural: names.plural.clone(),
        singular: names.singular.clone(),
        list_kind: names.list_kind.clone(),
        short_names: names.short_names.clone(),
        categories: names.categories.clone(),
        is_namespaced: definition.scope == Scope::Namespaced,
        verbs: Verb::ALL,
        subresources: subresources(version),
        selectable: SelectableFields::of(&version.selectable_fields),
        columns: Columns::from_definition(&version.printer_columns),
        schema: Arc::clone(version.schema.schema()),
        managed_schema: Arc::new(with_metadata(version.schema.schema(), metadata)),
        deprecation: version.deprecation_warning.clone(),
        origin: Origin::Defined(defined),
    }
}

fn subresources(version: &Version) -> Vec<Subresource> {
    let status = Subresource { name: "status", kind: None, verbs: READ_WRITE };
    let scale = Subresource { name: "scale", kind: Some(("autoscaling", "v1", "Scale")), verbs: READ_WRITE };
    let parts = [(version.has_status, status), (version.scale.is_some(), scale)];
    parts.into_iter().filter(|(has, _)| *has).map(|(_, part)| part).collect()
}
