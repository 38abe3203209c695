//! The defaults in a schema are values of it themselves.

use std::sync::Arc;

use crate::field::Error;
use crate::schema::{Compiled, Schema, Shape};

/// The schema is structural; `path` is where it stands.
pub(super) fn validate(schema: &Arc<Schema>, path: &str, is_resource: bool) -> Vec<Error> {
    let mut errors = Vec::new();
    visit(schema, path, is_resource, &mut errors);
    errors
}

fn visit(schema: &Arc<Schema>, path: &str, is_resource: bool, errors: &mut Vec<Error>) {
    if let Some(default) = schema.default.as_ref().filter(|default| !default.is_null()) {
        let field = format!("{path}.default");
        match Compiled::of_value(Arc::clone(schema), is_resource) {
            Ok(compiled) => errors.extend(compiled.validate_default(default, &field)),
            Err(found) => errors.extend(found),
        }
    }
    match &schema.shape {
        Shape::Array(items) => visit(items, &format!("{path}.items"), items.is_embedded_resource, errors),
        Shape::Object(fields) => {
            for (name, field) in &fields.known {
                let path = format!("{path}.properties[{name}]");
                visit(field, &path, field.is_embedded_resource, errors);
            }
        }
        _ => {}
    }
}
