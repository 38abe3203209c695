//! One version of one resource: its names, where it is stored, and what can be done with it. Everything that differs
//! between kinds is in here as data, or behind the two kinds of origin.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::api::is_established;
use crate::definition::{self, Conversion, Definition};
use crate::identity::{GroupKind, GroupResource, api_version};
use crate::schema::Schema;
use crate::selector::SelectableFields;
use crate::store::{Entry, Key, Scope, Summary};
use crate::table::Columns;

pub struct Resource {
    pub group: String,
    pub version: String,
    pub kind: String,
    /// As it stands in paths.
    pub plural: String,
    pub singular: String,
    pub list_kind: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub is_namespaced: bool,
    pub verbs: &'static [Verb],
    pub subresources: Vec<Subresource>,
    pub selectable: SelectableFields,
    pub columns: Columns,
    pub schema: Arc<Schema>,
    /// The same with the metadata that every object has, by which the owners of fields are told.
    pub managed_schema: Arc<Schema>,
    pub origin: Origin,
    /// What clients of a version that will go away are told with each answer.
    pub deprecation: Option<String>,
}

/// Whose kind it is.
#[derive(Debug)]
pub enum Origin {
    /// Kubernetes' own, with the name of its published definition.
    BuiltIn(&'static str),
    /// Defined by somebody's CustomResourceDefinition.
    Defined(Defined),
}

/// One version of what a definition defines.
#[derive(Debug)]
pub struct Defined {
    pub definition: Arc<Definition>,
    /// Which of its versions
    pub index: usize,
    pub edition: Edition,
    pub established: Established,
}

/// The revision of the definition at which its status was last seen to say that it is served. Every request asks for this,
/// and definitions are long.
#[derive(Debug, Default)]
pub struct Established(AtomicU64);

impl Established {
    pub fn is_at(&self, definition: &Entry) -> bool {
        let is_known = self.0.load(Ordering::Relaxed) == definition.revision.0;
        let is_established = is_known || definition.text.at("/status").is_some_and(|it| is_established(&it));
        if is_established && !is_known {
            self.0.store(definition.revision.0, Ordering::Relaxed);
        }
        is_established
    }
}

/// Which state of a definition: what it wants changes with its generation, and with nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edition {
    pub uid: Box<str>,
    pub generation: i64,
    /// When this state of it was found. What was stored before may lack its latest defaults.
    pub since: u64,
}

impl Edition {
    pub fn of(definition: &Entry) -> Self {
        let Summary { uid, generation, .. } = &definition.summary;
        Self { uid: uid.clone(), generation: *generation, since: definition.revision.0 }
    }

    pub fn is_of(&self, definition: &Entry) -> bool {
        (&self.uid, self.generation) == (&definition.summary.uid, definition.summary.generation)
    }
}

impl Defined {
    pub fn version(&self) -> &definition::Version {
        &self.definition.versions[self.index]
    }

    pub fn storage_version(&self) -> &str {
        self.definition.stored().map_or("", |version| version.name.as_str())
    }

    pub fn converts_by_webhook(&self) -> bool {
        self.definition.conversion != Conversion::None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Create,
    Delete,
    DeleteCollection,
    Get,
    List,
    Patch,
    Update,
    Watch,
}

impl Verb {
    pub const ALL: &[Self] = &[
        Self::Create,
        Self::Delete,
        Self::DeleteCollection,
        Self::Get,
        Self::List,
        Self::Patch,
        Self::Update,
        Self::Watch,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }
}

/// A part of an object with a path of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    pub name: &'static str,
    /// Group, version and kind of what is sent and answered, where that is not the object itself.
    pub kind: Option<(&'static str, &'static str, &'static str)>,
    pub verbs: &'static [Verb],
}

impl fmt::Debug for Resource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} of {}", self.plural, self.api_version())
    }
}

impl Resource {
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.group, &self.kind)
    }

    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&self.group, &self.plural)
    }

    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    pub fn allows(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
    }

    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    pub fn is_built_in(&self) -> bool {
        matches!(self.origin, Origin::BuiltIn(_))
    }

    pub fn defined(&self) -> Option<&Defined> {
        match &self.origin {
            Origin::Defined(version) => Some(version),
            Origin::BuiltIn(_) => None,
        }
    }

    /// The first part of the keys of its objects. Events of both groups are the same objects.
    pub fn stored_as(&self) -> String {
        match (self.group.as_str(), self.plural.as_str()) {
            ("events.k8s.io", "events") => "events".to_owned(),
            _ => self.group_resource().to_string(),
        }
    }

    /// Whether clients can ask for this version. Objects may be stored in one that they cannot ask for.
    pub fn is_served(&self) -> bool {
        self.defined().is_none_or(|defined| defined.version().is_served)
    }

    pub fn is_storage_version(&self) -> bool {
        match &self.origin {
            Origin::BuiltIn(_) => self.group != "events.k8s.io",
            Origin::Defined(defined) => defined.version().is_stored,
        }
    }

    pub fn key(&self, namespace: Option<&str>, name: &str) -> Key {
        Key::new(&self.stored_as(), namespace, name)
    }

    /// All of it, or what is in one namespace.
    pub fn scope(&self, namespace: Option<&str>) -> Scope {
        match namespace {
            Some(namespace) => Scope::namespace(&self.stored_as(), namespace),
            None => Scope::resource(&self.stored_as()),
        }
    }
}
