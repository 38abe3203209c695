//! The metadata that every object has, put where the schema of a custom resource leaves it to the server.

use std::sync::Arc;

use crate::schema::{Fields, Schema, Shape};

/// The schema of a custom resource with the metadata of any object, which its definition does not spell out: at the root
/// and wherever it embeds whole objects.
#[must_use]
pub fn with_metadata(schema: &Schema, metadata: &Arc<Schema>) -> Schema {
    let root = Schema { is_embedded_resource: true, ..schema.clone() };
    with_embedded_metadata(&root, metadata).unwrap_or(root)
}

/// Nothing where no object is embedded, so that such parts are shared with the schema and not copied.
fn with_embedded_metadata(schema: &Schema, metadata: &Arc<Schema>) -> Option<Schema> {
    let within = |schema: &Arc<Schema>| with_embedded_metadata(schema, metadata).map(Arc::new);
    let changed = match &schema.shape {
        Shape::Array(items) => within(items).map(Shape::Array),
        Shape::Object(fields) => with_changed(fields, within).map(Shape::Object),
        Shape::Any if schema.is_embedded_resource => Some(Shape::Object(Fields::default())),
        _ => None,
    };
    if changed.is_none() && !schema.is_embedded_resource {
        return None;
    }
    let mut schema = schema.clone();
    schema.shape = changed.unwrap_or(schema.shape);
    if let (true, Shape::Object(fields)) = (schema.is_embedded_resource, &mut schema.shape) {
        let text = Arc::new(Schema { shape: Shape::String, ..Schema::default() });
        fields.known.insert("apiVersion".into(), Arc::clone(&text));
        fields.known.insert("kind".into(), text);
        fields.known.insert("metadata".into(), Arc::clone(metadata));
    }
    Some(schema)
}

fn with_changed(fields: &Fields, change: impl Fn(&Arc<Schema>) -> Option<Arc<Schema>>) -> Option<Fields> {
    let known: Vec<_> =
        fields.known.iter().filter_map(|(name, field)| Some((name.clone(), change(field)?))).collect();
    let others = fields.others.as_ref().and_then(change);
    if known.is_empty() && others.is_none() {
        return None;
    }
    let mut fields = fields.clone();
    fields.known.extend(known);
    fields.others = others.or(fields.others);
    Some(fields)
}
