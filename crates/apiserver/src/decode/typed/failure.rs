//! What stops an object from being decoded, and where it stands. Paths are links from a value to what holds it, so that
//! they cost nothing until something is wrong.

use std::fmt::{self, Write as _};

use super::super::structs::{Field, Struct};

/// Why an object cannot be decoded, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    message: String,
}

impl Failure {
    pub(super) fn new(message: String) -> Self {
        Self { message }
    }
}

pub(super) enum Path<'a> {
    Root,
    Field { parent: &'a Path<'a>, structure: &'static Struct, field: &'static Field },
    Index(&'a Path<'a>, usize),
    Key(&'a Path<'a>, &'a str),
}

impl Path<'_> {
    /// The path of a field under this value.
    pub(super) fn to(&self, name: &str) -> String {
        let mut path = String::new();
        self.write(&mut path);
        join(&mut path, name);
        path
    }

    fn write(&self, path: &mut String) {
        match self {
            Path::Root => {}
            Path::Field { parent, field, .. } => {
                parent.write(path);
                join(path, field.name);
            }
            Path::Key(parent, key) => {
                parent.write(path);
                join(path, key);
            }
            Path::Index(parent, index) => {
                parent.write(path);
                write!(path, "[{index}]").expect("text can always be added to");
            }
        }
    }

    /// Go names the struct that the value is in and the fields on the way, but neither items nor keys.
    pub(super) fn mismatch(&self, found: &str, kind: &dyn fmt::Display) -> Failure {
        let mut fields = String::new();
        self.write_fields(&mut fields);
        Failure::new(match self.structure() {
            Some(structure) => format!(
                "json: cannot unmarshal {found} into Go struct field {}.{fields} of type {kind}",
                structure.short_name()
            ),
            None => format!("json: cannot unmarshal {found} into Go value of type {kind}"),
        })
    }

    fn write_fields(&self, path: &mut String) {
        match self {
            Path::Root => {}
            Path::Index(parent, _) | Path::Key(parent, _) => parent.write_fields(path),
            Path::Field { parent, field, .. } => {
                parent.write_fields(path);
                field.through.into_iter().for_each(|through| join(path, through));
                join(path, field.name);
            }
        }
    }

    fn structure(&self) -> Option<&'static Struct> {
        match self {
            Path::Root => None,
            Path::Index(parent, _) | Path::Key(parent, _) => parent.structure(),
            Path::Field { structure, .. } => Some(structure),
        }
    }
}

fn join(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}
