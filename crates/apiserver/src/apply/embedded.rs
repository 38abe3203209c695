//! The metadata that every object has, put where the schema of a custom resource leaves it to the server.

use std::sync::Arc;

use crate::schema::{Fields, Schema, Shape};

/// The schema of a custom resource with the metadata of any object, which its definition does not spell out: at the root
/// and wherever it embeds whole objects.
#[must_use]
pub fn with_metadata(schema: &Schema, metadata: &Arc<Schema>) -> Schema {
    let root = Schema { is_embedded_resource: true, ..schema.clone() };
    with_embedded_metadata(&root, metadata)
}

fn with_embedded_metadata(schema: &Schema, metadata: &Arc<Schema>) -> Schema {
    let within = |schema: &Arc<Schema>| Arc::new(with_embedded_metadata(schema, metadata));
    let shape = match &schema.shape {
        Shape::Array(items) => Shape::Array(within(items)),
        Shape::Object(fields) => Shape::Object(Fields {
            known: fields.known.iter().map(|(name, field)| (name.clone(), within(field))).collect(),
            others: fields.others.as_ref().map(within),
        }),
        Shape::Any if schema.is_embedded_resource => Shape::Object(Fields::default()),
        other => other.clone(),
    };
    let mut schema = Schema { shape, ..schema.clone() };
    if let (true, Shape::Object(fields)) = (schema.is_embedded_resource, &mut schema.shape) {
        let text = Arc::new(Schema { shape: Shape::String, ..Schema::default() });
        fields.known.insert("apiVersion".into(), Arc::clone(&text));
        fields.known.insert("kind".into(), text);
        fields.known.insert("metadata".into(), Arc::clone(metadata));
    }
    schema
}
