//! `metadata.managedFields`: who owns which fields, since when, and in which version of the kind they said so.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::encoding::Malformed;
use super::field_set::FieldSet;

/// How a manager came by its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// It said what it wants, and what it no longer says goes.
    Apply,
    /// It wrote, by any other verb.
    Update,
}

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who writes: the name that the client gave, and how and where it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    pub name: String,
    pub operation: Operation,
    /// The version in which the request is made.
    pub api_version: String,
    /// Empty for the resource itself.
    pub subresource: String,
}

/// What tells entries apart. An applier is the same in all versions; an updater is not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) name: String,
    pub(super) operation: Operation,
    pub(super) api_version: Option<String>,
    pub(super) subresource: String,
}

impl Identity {
    pub(super) fn new(name: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        Self {
            name: name.to_owned(),
            operation,
            api_version: (operation == Operation::Update).then(|| api_version.to_owned()),
            subresource: subresource.to_owned(),
        }
    }
}

impl From<&Manager> for Identity {
    fn from(manager: &Manager) -> Self {
        let name = if manager.name.is_empty() { "unknown" } else { &manager.name };
        Self::new(name, manager.operation, &manager.api_version, &manager.subresource)
    }
}

/// The fields of one manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) set: FieldSet,
    pub(super) api_version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Managed {
    pub(super) owners: BTreeMap<Identity, Owned>,
    /// Kept beside the owners: one that loses all and comes back in one write keeps its time.
    pub(super) times: BTreeMap<Identity, String>,
}

/// Why entries are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Invalid {
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    ApiVersion,
    #[error("missing fieldsType in managed fields entry {0}")]
    MissingFieldsType(usize),
    #[error("invalid fieldsType {0:?} in managed fields entry {1}")]
    FieldsType(String, usize),
    #[error("error decoding set: {0}")]
    Fields(#[from] Malformed),
    #[error("expected a list of entries")]
    NotEntries,
}

impl Managed {
    /// Absent entries are no entries.
    pub(super) fn decode(entries: Option<&Value>) -> Result<Self, Invalid> {
        let entries = match entries {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Array(entries)) => entries,
            Some(_) => return Err(Invalid::NotEntries),
        };
        let mut managed = Self::default();
        for (index, entry) in entries.iter().enumerate() {
            managed.decode_entry(index, entry.as_object().ok_or(Invalid::NotEntries)?)?;
        }
        Ok(managed)
    }

    fn decode_entry(&mut self, index: usize, entry: &Map<String, Value>) -> Result<(), Invalid> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(Invalid::Operation),
        };
        let api_version = match text("apiVersion") {
            "" => return Err(Invalid::ApiVersion),
            version => version,
        };
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(Invalid::MissingFieldsType(index)),
            other => return Err(Invalid::FieldsType(other.to_owned(), index)),
        }
        let set = entry.get("fieldsV1").map_or_else(|| Ok(FieldSet::default()), FieldSet::from_fields_v1)?;
        let identity = Identity::new(text("manager"), operation, api_version, text("subresource"));
        if seconds(text("time")).is_some() {
            self.times.insert(identity.clone(), text("time").to_owned());
        }
        self.owners.insert(identity, Owned { set, api_version: api_version.to_owned() });
        Ok(())
    }

    /// None where nobody owns anything.
    pub(super) fn encode(&self) -> Option<Value> {
        if self.owners.is_empty() {
            return None;
        }
        let mut owners: Vec<(&Identity, &Owned)> = self.owners.iter().collect();
        owners.sort_by_key(|(identity, owned)| self.place(identity, owned));
        Some(owners.into_iter().map(|(identity, owned)| self.encode_entry(identity, owned)).collect())
    }

    /// Appliers before updaters, then the oldest first.
    fn place<'a>(
        &self,
        identity: &'a Identity,
        owned: &'a Owned,
    ) -> (Operation, i64, &'a str, &'a str, &'a str) {
        let age = self.age(identity);
        (identity.operation, age, &identity.name, &owned.api_version, &identity.subresource)
    }

    /// Entries without a time are older than all others.
    pub(super) fn age(&self, identity: &Identity) -> i64 {
        self.times.get(identity).and_then(|time| seconds(time)).unwrap_or_default()
    }

    fn encode_entry(&self, identity: &Identity, owned: &Owned) -> Value {
        let mut entry = json!({
            "operation": identity.operation.name(),
            "apiVersion": owned.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": owned.set.to_fields_v1(),
        });
        let time = self.times.get(identity).map_or("", String::as_str);
        let texts =
            [("manager", identity.name.as_str()), ("subresource", &identity.subresource), ("time", time)];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            entry[name] = text.into();
        }
        entry
    }
}

fn seconds(time: &str) -> Option<i64> {
    time.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

/// The entries that a client sends to have all of them forgotten.
pub(super) fn is_reset(entries: Option<&Value>) -> bool {
    match entries.and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

/// The entries of an object.
pub(super) fn entries(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

pub(super) fn without_entries(mut object: Value) -> Value {
    set_entries(&mut object, None);
    object
}

pub(super) fn set_entries(object: &mut Value, entries: Option<Value>) {
    let Some(object) = object.as_object_mut() else { return };
    match (object.get_mut("metadata").and_then(Value::as_object_mut), entries) {
        (Some(metadata), None) => {
            metadata.remove("managedFields");
        }
        (Some(metadata), Some(entries)) => {
            metadata.insert("managedFields".into(), entries);
        }
        (None, Some(entries)) => {
            object.insert("metadata".into(), json!({"managedFields": entries}));
        }
        (None, None) => {}
    }
}
